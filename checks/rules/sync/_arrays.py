"""Calls that make a new array."""

from __future__ import annotations

from checks.lang.ir import expr as E

_ALLOCATORS = frozenset({"full", "zeros", "ones", "empty"})
_COPIERS = frozenset({"full_like", "zeros_like", "ones_like", "empty_like", "clone"})


def is_new_array(value: E.Expr | None) -> bool:
    """Whether `value` is a call like `zeros([n])`, `full_like(x, 0)` or `x.clone()`."""
    return isinstance(value, E.Call) and E.callee(value) in _ALLOCATORS | _COPIERS
