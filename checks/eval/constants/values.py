"""The value that is not known, and the operations that evaluation asks of a language."""

from __future__ import annotations

from enum import Enum
from typing import Final, Protocol

from checks.lang.ir.expr import Const


class Unset(Enum):
    """The type of `UNKNOWN`, so that a type checker can tell it from a value."""

    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("unknown is neither true nor false")


UNKNOWN: Final = Unset.UNKNOWN

# The most elements that evaluation makes of one expression, and the most bits of one number.
MOST_ITEMS = 100_000
MOST_BITS = 4096


def known(value: object) -> bool:
    """Whether neither `value` nor anything inside it is unknown."""
    if isinstance(value, dict):
        return all(map(known, value)) and all(map(known, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(known, value))
    return value is not UNKNOWN


class LanguageRules(Protocol):
    """The operations of one language. Each gives `UNKNOWN` where it has no answer; none raises."""

    def constant(self, const: Const) -> object:
        """A literal."""

    def given(self, value: object, declared: str) -> object:
        """A value from outside, of the type `declared` (empty where it is not known)."""

    def plain(self, value: object) -> object:
        """The value as Python sees it: the opposite of `given`."""

    def truth(self, value: object) -> bool | Unset:
        """The value as a condition."""

    def unary(self, op: str, operand: object) -> object:
        """`op operand`."""

    def binary(self, op: str, left: object, right: object) -> object:
        """`left op right`, without `and` and `or`."""

    def cast(self, declared: str, operand: object) -> object:
        """`(declared)operand`."""

    def call(self, name: str, args: list[object]) -> object:
        """A function of the language itself."""

    def item(self, base: object, index: object) -> object:
        """`base[index]`; `index` may be a `slice`."""
