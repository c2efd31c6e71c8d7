"""The types of the values that options take, for argparse."""

from __future__ import annotations

from math import inf
from typing import TypeVar

N = TypeVar("N", int, float)


def integer(text: str) -> int:
    """A number of 64 bits, for argparse: JSON readers take no larger one."""
    value = int(text)
    return _require(value, abs(value) < 1 << 63)


def count(text: str) -> int:
    """A number from 0 on, for argparse."""
    value = integer(text)
    return _require(value, value >= 0)


def positive(text: str) -> int:
    """A number from 1 on, for argparse."""
    value = integer(text)
    return _require(value, value > 0)


def number(text: str) -> float:
    """A finite number from 0 on, for argparse."""
    value = float(text)
    return _require(value, 0 <= value < inf)


def duration(text: str) -> float:
    """A finite number above 0, for argparse."""
    value = float(text)
    return _require(value, 0 < value < inf)


def _require(value: N, fits: bool) -> N:
    """`value` where it fits; argparse turns the ValueError into its own sentence."""
    if not fits:
        raise ValueError(value)
    return value


def text(text: str) -> str:
    """What JSON can hold, for argparse: bytes of the command line that are not UTF-8 cannot."""
    text.encode("utf-8")
    return text
