"""The parts of names as code spells them."""

from __future__ import annotations

import re

# A colon that is not half of C++'s `::`, or the sign before a default.
_END_OF_NAME = re.compile(r"(?<!:):(?!:)|=")


def last_part(name: str) -> str:
    """The last part of a dotted or qualified name: `f` of `a.f`, `ns::f`."""
    return name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]


def declared_name(declaration: str) -> str:
    """The name in `is_speculative: bool`, `const Tensor& x`, `flag=False`."""
    before_end = _END_OF_NAME.split(declaration, maxsplit=1)[0]
    return before_end.split()[-1].lstrip("*&")
