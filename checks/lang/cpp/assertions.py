"""Macros that assert or throw, told by their names."""

from __future__ import annotations

import re

from checks.lang.ir.expr import Attr, Binary, Call, Const, Expr, Name

_ASSERTS = re.compile(
    r"assert|(?:[A-Z0-9]+_)*(?:D?CHECK|ENFORCE|[A-Z]*ASSERT|EXPECT)(?:_[A-Z0-9]+)*"
)
_THROWS = re.compile(r"(?:[A-Z]+_)+THROW(?:_[A-Z]+)*")
_COMPARISONS = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
# Macros whose first argument is what they assert.
_PLAIN = frozenset({"assert", "ASSERT", "CHECK", "DCHECK", "ENFORCE", "ASSERT_TRUE", "EXPECT_TRUE"})
_XPU_CONTEXTS = frozenset({"ctx", "context", "ctx_", "xpu_ctx"})


def assertion(expr: Expr) -> tuple[Expr, str] | None:
    """What holds after a macro such as `PD_CHECK(x, ...)`, and its name; None for any other call.

    A comparison is built from the macro's last word (`_EQ` and its like). Where the macro's
    meaning is its own (`WRAPPER_CHECK_PTR`), the call itself is the test. A stream behind it
    (`CHECK(x) << "why"`) says nothing.
    """
    while isinstance(expr, Binary) and expr.op == "<<":
        expr = expr.left
    if not isinstance(expr, Call) or not isinstance(expr.func, Name):
        return None
    macro = expr.func.id
    if not _ASSERTS.fullmatch(macro):
        return None
    return _asserted(expr, macro), macro


def _asserted(call: Call, macro: str) -> Expr:
    args = call.args
    # XPU's wrappers take the device context first: `WRAPPER_ASSERT_GT(ctx, n, 0)`.
    if macro.startswith("WRAPPER") and len(args) > 2 and _is_xpu_context(args[0]):
        args = args[1:]
    words = macro.split("_")
    if words[-1] in _COMPARISONS and len(args) >= 2:
        return Binary(_COMPARISONS[words[-1]], args[0], args[1], line=call.line)
    if words[-2:] == ["NOT", "NULL"] and args:
        return Binary("!=", args[0], Const(None), line=call.line)
    # `PD_CHECK`, `PADDLE_ENFORCE`: a prefix and the word itself.
    prefixed = len(words) < 3 and words[-1].endswith(("CHECK", "ENFORCE", "ASSERT"))
    if args and (macro in _PLAIN or prefixed):
        return args[0]
    return call


def _is_xpu_context(expr: Expr) -> bool:
    match expr:
        case Name(id=name) | Attr(name=name):
            return name in _XPU_CONTEXTS
        case _:
            return False


def throws(expr: Expr) -> bool:
    """`PD_THROW(...)` and its like."""
    if not isinstance(expr, Call) or not isinstance(expr.func, Name):
        return False
    return _THROWS.fullmatch(expr.func.id) is not None
