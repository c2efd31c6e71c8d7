"""Integer expressions in a canonical linear form: `i + 1 - n` and `1 + i - n` are the same.

The arithmetic is that of mathematical integers: no type is asked, nothing overflows. A symbol is
whatever stands for a number without being a sum: a name, a place (`a[i + 1]`), a quotient, a pure
call. It is known by its text alone.

`checks.eval.symbolic.affine` adds up terms too, but does not compare written expressions: its
unknowns are values met during a run, each of a kind that decides what may be done with it, and it
has no products of unknowns.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

from checks.eval.integers import LONG, integer_type
from checks.lang.ir import expr as ir

# Calls that give the same number for the same arguments, wherever they stand.
_PURE_CALLS = frozenset({"abs", "cdiv", "dims", "len", "max", "min", "numel", "size", "sizeof"})
# An integer cast to one of these holds whatever an index is.
_WIDE_TYPES = frozenset({"int64", "long long", "long long int"})
_SUMS = frozenset({"+", "-", "*", "<<"})
# Operators that give the same number in C and Python, where neither side is negative.
_SAME_IN_BOTH: dict[str, Callable[[int, int], int]] = {
    "/": operator.floordiv,
    "//": operator.floordiv,
    "%": operator.mod,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_DIVISIONS = frozenset({"/", "//", "%"})
# Products of longer sums, and larger shifts, stay as they are written.
_MOST_TERMS = 64
_MOST_SHIFT = 64

# A product of symbols, by their texts in order; the empty one is the constant.
Monomial = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinearForm:
    """`terms` maps each product of symbols to its factor, which is never 0."""

    terms: dict[Monomial, int]

    def plus(self, other: LinearForm, factor: int = 1) -> LinearForm:
        """`self + factor * other`."""
        terms = dict(self.terms)
        for monomial, value in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor * value
        return _without_zeros(terms)

    def times(self, other: LinearForm) -> LinearForm:
        """`self * other`."""
        terms: dict[Monomial, int] = {}
        for left, left_factor in self.terms.items():
            for right, right_factor in other.terms.items():
                monomial = tuple(sorted([*left, *right]))
                terms[monomial] = terms.get(monomial, 0) + left_factor * right_factor
        return _without_zeros(terms)

    @property
    def constant(self) -> int | None:
        """The value, where it depends on no symbol."""
        if any(monomial != () for monomial in self.terms):
            return None
        return self.terms.get((), 0)

    def __str__(self) -> str:
        """The form in one spelling: the constant last."""
        parts: list[str] = []
        for monomial, factor in sorted(self.terms.items()):
            text = "*".join(monomial)
            if monomial:
                parts.append(text if factor == 1 else f"{factor}*{text}")
        constant = self.terms.get((), 0)
        if constant or not parts:
            parts.append(str(constant))
        return " + ".join(parts)


def _without_zeros(terms: dict[Monomial, int]) -> LinearForm:
    return LinearForm({monomial: factor for monomial, factor in terms.items() if factor})


def _constant_form(value: int) -> LinearForm:
    return _without_zeros({(): value})


def _symbol_form(text: str) -> LinearForm:
    return LinearForm({(text,): 1})


def difference(left: ir.Expr, right: ir.Expr) -> int | None:
    """`left - right`, where it is one number whatever the symbols are."""
    left_form = form_of(left)
    right_form = form_of(right)
    if left_form is None or right_form is None:
        return None
    return left_form.plus(right_form, -1).constant


def form_of(expr: ir.Expr) -> LinearForm | None:
    """The linear form of `expr`, or None where it is not an integer expression."""
    match expr:
        case ir.Const(value=bool()):
            return None
        case ir.Const(value=int(value)):
            return _constant_form(value)
        case ir.Const():
            return None
        case ir.Unary(op="+", operand=operand):
            return form_of(operand)
        case ir.Unary(op="-", operand=operand):
            form = form_of(operand)
            return None if form is None else LinearForm({}).plus(form, -1)
        case ir.Binary(op=op, left=left, right=right) if op in _SUMS:
            return _form_of_binary(op, left, right, _add_up)
        case ir.Binary(op=op, left=left, right=right) if op in _SAME_IN_BOTH:
            return _form_of_binary(op, left, right, _compute)
        case ir.Cast(type=kind, operand=operand) if _is_wide(kind):
            return form_of(operand)
        case _:
            text = _text_of_symbol(expr)
            return None if text is None else _symbol_form(text)


def _is_wide(kind: str) -> bool:
    return kind in _WIDE_TYPES or integer_type(kind) == LONG


def _form_of_binary(
    op: str,
    left: ir.Expr,
    right: ir.Expr,
    solve: Callable[[str, LinearForm, LinearForm], LinearForm | None],
) -> LinearForm | None:
    """What `solve` makes of both sides, else one symbol for the whole operation."""
    left_form = form_of(left)
    right_form = form_of(right)
    if left_form is None or right_form is None:
        return None
    solved = solve(op, left_form, right_form)
    if solved is not None:
        return solved
    return _symbol_form(f"({left_form} {op} {right_form})")


def _add_up(op: str, left: LinearForm, right: LinearForm) -> LinearForm | None:
    """`left op right` for an operator that keeps sums sums."""
    match op:
        case "+":
            return left.plus(right)
        case "-":
            return left.plus(right, -1)
        case "*" if len(left.terms) * len(right.terms) <= _MOST_TERMS:
            return left.times(right)
        case "<<" if right.constant is not None and 0 <= right.constant <= _MOST_SHIFT:
            return LinearForm({}).plus(left, 1 << right.constant)
        case _:
            return None


def _compute(op: str, left: LinearForm, right: LinearForm) -> LinearForm | None:
    """The number, where both sides are numbers. Below zero the languages divide differently."""
    a, b = left.constant, right.constant
    if a is None or b is None or a < 0 or b < 0:
        return None
    if b == 0 and op in _DIVISIONS:
        return None
    value = _SAME_IN_BOTH[op](a, b)
    # `7 / 2` is 3 in C and 3.5 in Python.
    if op == "/" and value * b != a:
        return None
    return _constant_form(value)


def _text_of_symbol(expr: ir.Expr) -> str | None:
    """The canonical text of what stands for a number.

    None for what does not, or may change between two looks.
    """
    match expr:
        case ir.Name(id=name):
            return name
        case ir.Attr(base=base, name=name):
            owner = _text_of_symbol(base)
            return None if owner is None else f"{owner}.{name}"
        case ir.Index(base=base, indices=indices):
            array = _text_of_symbol(base)
            positions = _texts_of_numbers(indices)
            if array is None or positions is None:
                return None
            return f"{array}[{', '.join(positions)}]"
        case ir.Call(func=func, args=args, keywords=(), launch=()):
            function = _text_of_symbol(func)
            arguments = _texts_of_numbers(args)
            if function is None or arguments is None or ir.callee(expr) not in _PURE_CALLS:
                return None
            return f"{function}({', '.join(arguments)})"
        case ir.Unary(op="~" | "*" as op, operand=operand):
            form = form_of(operand)
            return None if form is None else f"{op}({form})"
        case ir.Cast(type=kind, operand=operand) if integer_type(kind) is not None:
            form = form_of(operand)
            return None if form is None else f"({kind})({form})"
        case _:
            return None


def _texts_of_numbers(exprs: tuple[ir.Expr, ...]) -> list[str] | None:
    """The canonical text of each expression; None where one of them is no number."""
    texts: list[str] = []
    for expr in exprs:
        form = form_of(expr)
        if form is None:
            return None
        texts.append(str(form))
    return texts
