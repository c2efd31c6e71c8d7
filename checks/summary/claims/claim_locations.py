"""Where claims point, and by which names they are found."""

from __future__ import annotations

import re

from checks.core.finding import Location
from checks.lang.ir.source_file import Function


def at(function: Function) -> Location:
    """Where a function is defined."""
    return Location(function.path, function.start_line)


def own_names(function: Function) -> tuple[str, ...]:
    """The names that stand for a function: qualified, and plain where the plain one says enough."""
    plain = (
        ()
        if function.owner and (len(function.name) < 10 or function.name.startswith("__"))
        else (function.name,)
    )
    return tuple(dict.fromkeys((function.qualname, *plain)))


def plain(name: str) -> str:
    """The last part of a dotted or qualified name."""
    return name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]


def declared_name(declared: str) -> str:
    """The name in `is_speculative: bool`, `const Tensor& x`, `flag=False`."""
    return re.split(r"(?<!:):(?!:)|=", declared, maxsplit=1)[0].split()[-1].lstrip("*&")
