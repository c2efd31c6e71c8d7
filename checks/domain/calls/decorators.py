"""Decorators that leave the arguments of a function or the constructor of a class as written."""

from __future__ import annotations

import re

from checks.lang.ir.source_file import Class, Function

_TRANSPARENT = re.compile(
    r"^(async|staticmethod|classmethod|(abc\.)?abstractmethod|override|final)$"
    r"|inference_mode|no_grad|lru_cache|functools\.cache|^cache$|contextmanager|wraps\("
    r"|^torch\.compile|^register_\w+|\.register\w*\(|deprecated\(|^ray\.(remote|method)\b"
)
_TRANSPARENT_ON_CLASS = re.compile(
    r"dataclass|^final$|\.register\w*\(|^register_\w+|runtime_checkable|total_ordering|^config$"
    r"|^ray\.remote\b"
)


def keeps_arguments(function: Function) -> bool:
    """Whether callers pass what the function's parameters say."""
    return all(_TRANSPARENT.search(mark) for mark in function.marks)


def keeps_constructor(cls: Class) -> bool:
    """Whether callers of the class pass what its constructor's parameters say."""
    return all(_TRANSPARENT_ON_CLASS.search(mark) for mark in cls.decorators)
