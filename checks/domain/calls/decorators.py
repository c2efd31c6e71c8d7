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
# What stands for a decorated function takes anything and passes it on as it came.
_STANDS_FOR_ANY = re.compile(r"def \w+\(\s*(?:self,\s*)?\*args\b[^,]*,\s*\*\*kwargs\b")
_PASSES_ON = re.compile(r"\(\s*(?:self,\s*)?(?:\w+,\s*)?\*args,\s*\*\*kwargs\s*\)")
_ALTERS = re.compile(r"\bkwargs\s*(?:=(?!=)|\[|\.)|\bargs\s*(?:=(?!=)|\[)|\bargs\s*,.*=(?!=)")


def opaque_marks(function: Function) -> list[str]:
    """The decorators of a function that may put something else in its place."""
    return [mark for mark in function.marks if not _TRANSPARENT.search(mark)]


def hands_on(decorator: str) -> bool:
    """Whether what a decorator, whose code is `decorator`, puts in a function's place takes any
    arguments and passes them on as they came."""
    if not _STANDS_FOR_ANY.search(decorator) or _ALTERS.search(decorator):
        return False
    return _PASSES_ON.search(decorator) is not None


def keeps_constructor(cls: Class) -> bool:
    """Whether callers of the class pass what its constructor's parameters say."""
    return all(_TRANSPARENT_ON_CLASS.search(mark) for mark in cls.decorators)
