"""Expressions as source text for people: in a message, as evidence, as a finding's subject."""

from __future__ import annotations

import re
from collections.abc import Iterable

from checks.lang.ir.expr import (
    Attr,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Name,
    Sequence,
    Slice,
    Ternary,
    Unary,
    Unknown,
)

_CPP_SPELLING = {"and": "&&", "or": "||"}
# Masks are written in hexadecimal from here on, as people do: `x & 1`, but `x & 0xFF`.
_SMALLEST_HEX_MASK = 10


def source_of(expr: Expr) -> str:
    """A readable one-line form of an expression, in C++'s spelling where the languages differ.

    Keyword arguments and template arguments are left out. Of a form that has no short text only
    its kind is given (`comprehension`).
    """
    match expr:
        case Const(value=value):
            return str(value)
        case Name(id=name):
            return name
        case Attr(base=base, name=name):
            return f"{source_of(base)}.{name}"
        case Index(base=base, indices=indices):
            return f"{source_of(base)}[{_comma_separated(indices)}]"
        case Slice(lower=lower, upper=upper):
            start = source_of(lower) if lower else ""
            stop = source_of(upper) if upper else ""
            return f"{start}:{stop}"
        case Call(func=func, args=args):
            return f"{source_of(func)}({_comma_separated(args)})"
        case Unary(op=op, operand=operand):
            return f"{'!' if op == 'not' else op}{source_of(operand)}"
        case Binary(op="&", left=left, right=Const(value=int() as mask)) if (
            mask >= _SMALLEST_HEX_MASK
        ):
            return f"{_operand(left, '&')} & 0x{mask:X}"
        case Binary(op=op, left=left, right=right):
            return f"{_operand(left, op)} {_CPP_SPELLING.get(op, op)} {_operand(right, op)}"
        case Cast(type=kind, operand=operand):
            return f"({kind}){_operand(operand, '')}"
        case Ternary(test=test, then=then, orelse=orelse):
            return f"{source_of(test)} ? {source_of(then)} : {source_of(orelse)}"
        case Sequence(items=items):
            return f"[{_comma_separated(items)}]"
        case Unknown(text=text):
            return re.sub(r"\s+", " ", text)
        case _:
            return type(expr).__name__.lower()


def _comma_separated(items: Iterable[Expr]) -> str:
    return ", ".join(map(source_of, items))


def _operand(expr: Expr, op: str) -> str:
    """An operand of `op`, in brackets unless it is a chain of the same operator (`a + b + c`)."""
    needs_brackets = isinstance(expr, Ternary) or (isinstance(expr, Binary) and expr.op != op)
    return f"({source_of(expr)})" if needs_brackets else source_of(expr)
