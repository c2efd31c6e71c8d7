"""The decorator of the small classes: those made by the hundred thousand, and those that every start has to define."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def node(cls: type[T]) -> type[T]:
    """A dataclass with slots that the type checker holds to be frozen.

    At run time nothing guards it: a frozen dataclass sets each field by a call, which makes a new object cost three
    times as much. `dataclass` itself compiles six functions for a class, which for all of ours takes longer than
    reading their modules; only the constructor is worth it.
    """
    cls.__doc__ = cls.__doc__ or cls.__name__  # else `dataclass` works a signature out
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    all_fields = fields(made)
    made.__init__ = _constructor(all_fields)
    made.__repr__ = _repr
    made.__eq__, made.__hash__ = _comparison(made, [f.name for f in all_fields if f.compare])
    result: type[T] = made
    return result


def _constructor(all_fields: tuple[Field[Any], ...]) -> Callable[..., None]:
    """`__init__`, with each field a parameter and its default one of the function's."""
    given: dict[str, Any] = {"MISSING": MISSING}
    plain: list[str] = ["self"]
    named: list[str] = []
    body: list[str] = []
    for one in all_fields:
        parameter, value = one.name, one.name
        if one.default is not MISSING:
            given[f"{one.name}__default"] = one.default
            parameter += f"={one.name}__default"
        elif one.default_factory is not MISSING:
            given[f"{one.name}__default"] = one.default_factory
            parameter += "=MISSING"
            value = f"{one.name}__default() if {one.name} is MISSING else {one.name}"
        (named if one.kw_only else plain).append(parameter)
        body.append(f" self.{one.name}={value}\n")
    head = ",".join([*plain, *(["*", *named] if named else [])])
    exec(f"def __init__({head}):\n{''.join(body) or ' pass'}", given)  # names and defaults of our own classes
    made: Callable[..., None] = given["__init__"]
    return made


def _comparison(cls: type, names: list[str]) -> tuple[Callable[[Any, object], Any], Callable[[Any], int]]:
    """`__eq__` and `__hash__` over the fields `names`."""
    key: Callable[[Any], Any] = attrgetter(*names) if names else lambda _: ()

    def equal(self: Any, other: Any) -> Any:
        return key(self) == key(other) if other.__class__ is cls else NotImplemented

    return equal, lambda self: hash(key(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"
