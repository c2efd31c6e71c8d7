"""Complete objects from the part of them that matters.

GitHub's objects have a hundred required fields; the fake knows a dozen of them. The others get the
smallest value that the description allows.
"""

from __future__ import annotations

import datetime
import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from githubkit.utils import Unset
from pydantic import BaseModel

EPOCH = "2026-01-01T00:00:00Z"


def fill(model: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """`known`, with every required field of `model` that it lacks, also inside of it."""
    made = dict(known)
    for name, field in model.model_fields.items():
        key = field.alias or name
        if key in made:
            made[key] = _completed(field.annotation, made[key])
        elif field.is_required():
            made[key] = _smallest(field.annotation)
    return made


def _completed(type_: Any, value: Any) -> Any:
    """`value`, where it is an object or a list of objects, filled as the first model that `type_`
    names."""
    model = _model(type_)
    if model is None:
        return value
    if isinstance(value, Mapping):
        return fill(model, value)
    if isinstance(value, list):
        return [fill(model, item) if isinstance(item, Mapping) else item for item in value]
    return value


def _model(type_: Any) -> Any:
    if isinstance(type_, type) and issubclass(type_, BaseModel):
        return type_
    if get_origin(type_) is Literal:
        return None
    return next((m for m in map(_model, get_args(type_)) if m is not None), None)


def _smallest(type_: Any) -> Any:
    origin = get_origin(type_)
    if origin is Annotated:
        return _smallest(get_args(type_)[0])
    if origin in (Union, types.UnionType):
        members = [m for m in get_args(type_) if m is not Unset and m is not Literal[Unset._UNSET]]
        return None if type(None) in members else _smallest(members[0])
    if origin is Literal:
        return get_args(type_)[0]
    if origin in (list, set, tuple):
        return []
    if isinstance(type_, type) and issubclass(type_, BaseModel):
        return fill(type_, {})
    plain: dict[Any, Any] = {bool: False, int: 0, float: 0.0, str: "", type(None): None}
    plain |= {datetime.datetime: EPOCH, datetime.date: EPOCH[:10]}
    return plain.get(type_, {})
