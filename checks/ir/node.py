"""The decorator of the small classes that a review makes by the hundred thousand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def node(cls: type[T]) -> type[T]:
    """A dataclass with slots that the type checker holds to be frozen.

    At run time nothing guards it: a frozen dataclass sets each field by a call, which makes a new object cost three
    times as much.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
