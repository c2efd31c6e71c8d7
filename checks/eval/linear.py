"""Integer expressions in a canonical linear form, so that `i + 1 - n` and `1 + i - n` are one
thing.

The arithmetic is that of mathematical integers: no type is asked, nothing overflows. A symbol is
whatever stands for a number without being a sum: a name, a place (`a[i + 1]`), a product of those,
a quotient, a pure call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

from checks.eval.integers import LONG, integer_type
from checks.lang.ir import expr as ir

# Calls that give the same number for the same arguments, wherever they stand.
_PURE = frozenset({"abs", "cdiv", "dims", "len", "max", "min", "numel", "size", "sizeof"})
# An integer cast to this holds whatever an index is.
_WIDENS = frozenset({"int64", "long long", "long long int"})
_SUMS = frozenset({"+", "-", "*", "<<"})
_SAME_IN_BOTH: dict[str, Callable[[int, int], int]] = {
    "/": operator.floordiv, "//": operator.floordiv, "%": operator.mod, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
_MOST_TERMS = 64
_MOST_SHIFT = 64

Monomial = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Form:
    """`terms` maps a sorted product of symbols (the empty one is the constant) to its factor, never
    0. `atoms` says what each symbol is."""

    terms: dict[Monomial, int]
    atoms: dict[str, ir.Expr]

    def plus(self, other: Form, factor: int = 1) -> Form:
        terms = dict(self.terms)
        for key, value in other.terms.items():
            terms[key] = terms.get(key, 0) + factor * value
        return Form({k: v for k, v in terms.items() if v}, {**self.atoms, **other.atoms})

    def times(self, other: Form) -> Form:
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                key = tuple(sorted((*left, *right)))
                terms[key] = terms.get(key, 0) + a * b
        return Form({k: v for k, v in terms.items() if v}, {**self.atoms, **other.atoms})

    @property
    def constant(self) -> int | None:
        """The value, where it hangs on no symbol."""
        return self.terms.get((), 0) if all(key == () for key in self.terms) else None


def linear(expr: ir.Expr) -> dict[str, int] | None:
    """`{"cur_step_idx": 1, "n": -1, "": 1}` for `cur_step_idx + 1 - n`; the constant is under the
    empty key, factors of 0 are left out. A product of symbols is a symbol (`a*b`). None for what is
    not an integer expression."""
    form = form_of(expr)
    if form is None:
        return None
    return {"*".join(key): value for key, value in sorted(form.terms.items())}


def difference(left: ir.Expr, right: ir.Expr) -> int | None:
    """`left - right`, where it is one number whatever the symbols are."""
    a, b = form_of(left), form_of(right)
    return None if a is None or b is None else a.plus(b, -1).constant


def fold(expr: ir.Expr) -> ir.Expr:
    """`expr` in canonical form: sums put in order, constants added up; what is no sum is folded inside."""

    def inside(part: ir.Expr) -> ir.Expr | None:
        form = form_of(part) if _is_sum(part) else None
        return None if form is None else _build(form, part.line)

    return ir.substitute(expr, inside)


def form_of(expr: ir.Expr) -> Form | None:
    """The form of `expr` with what its symbols stand for, or None where it is not an integer expression."""
    match expr:
        case ir.Const(value=bool() | None | str() | float()):
            return None
        case ir.Const(value=int(value)):
            return Form({(): value} if value else {}, {})
        case ir.Unary(op="+" | "-" as op, operand=operand):
            form = form_of(operand)
            return None if form is None else _ZERO.plus(form, -1 if op == "-" else 1)
        case ir.Binary(op=op, left=left, right=right) if op in _SUMS:
            return _sum(op, left, right)
        case ir.Binary(op=op, left=left, right=right) if op in _SAME_IN_BOTH:
            return _quotient(expr, op, left, right)
        case ir.Cast(type=kind, operand=operand) if kind in _WIDENS or integer_type(kind) == LONG:
            return form_of(operand)
        case _:
            text = _symbol(expr)
            return None if text is None else Form({(text,): 1}, {text: expr})


_ZERO = Form({}, {})


def _quotient(expr: ir.Expr, op: str, left: ir.Expr, right: ir.Expr) -> Form | None:
    """A number where both sides are, else a symbol. Of numbers below zero the languages think differently."""
    a, b = form_of(left), form_of(right)
    if a is None or b is None:
        return None
    x, y = a.constant, b.constant
    if x is not None and y is not None and x >= 0 and y >= 0 and (y or op not in ("/", "//", "%")):
        value = _SAME_IN_BOTH[op](x, y)
        # `7 / 2` is 3 in C and 3.5 in Python.
        if op != "/" or value * y == x:
            return Form({(): value} if value else {}, {})
    text = f"({_text(a)} {op} {_text(b)})"
    return Form({(text,): 1}, {text: expr})


def _sum(op: str, left: ir.Expr, right: ir.Expr) -> Form | None:
    a, b = form_of(left), form_of(right)
    if a is None or b is None:
        return None
    match op:
        case "+":
            return a.plus(b)
        case "-":
            return a.plus(b, -1)
        case "*" if len(a.terms) * len(b.terms) <= _MOST_TERMS:
            return a.times(b)
        case "<<" if b.constant is not None and 0 <= b.constant <= _MOST_SHIFT:
            return _ZERO.plus(a, 1 << b.constant)
    text = f"({_text(a)} {op} {_text(b)})"
    return Form({(text,): 1}, {text: ir.Binary(op, left, right)})


def _symbol(expr: ir.Expr) -> str | None:
    """The canonical text of what stands for a number, None for what may not, or may change between two looks."""
    match expr:
        case ir.Name(id=name):
            return name
        case ir.Attr(base=base, name=name):
            inner = _symbol(base)
            return None if inner is None else f"{inner}.{name}"
        case ir.Index(base=base, indices=indices):
            parts = [_symbol(base), *map(_number, indices)]
            texts = [p for p in parts if p is not None]
            whole = len(texts) == len(parts)
            return f"{texts[0]}[{', '.join(texts[1:])}]" if whole else None
        case ir.Call(args=args, keywords=(), launch=()):
            return _call(expr, args)
        case ir.Unary(op="~" | "*" as op, operand=operand):
            inner = _number(operand)
            return None if inner is None else f"{op}({inner})"
        case ir.Cast(type=kind, operand=operand) if integer_type(kind) is not None:
            inner = _number(operand)
            return None if inner is None else f"({kind})({inner})"
        case _:
            return None


def _call(call: ir.Call, args: tuple[ir.Expr, ...]) -> str | None:
    func = _symbol(call.func)
    texts = [_number(a) for a in args]
    if func is None or ir.callee(call) not in _PURE or None in texts:
        return None
    return f"{func}({', '.join(t for t in texts if t is not None)})"


def _number(expr: ir.Expr) -> str | None:
    form = form_of(expr)
    return None if form is None else _text(form)


def _text(form: Form) -> str:
    """`form` in one spelling: the constant last."""
    parts = [_term("*".join(key), value) for key, value in sorted(form.terms.items()) if key]
    constant = form.terms.get((), 0)
    if constant or not parts:
        parts.append(str(constant))
    return " + ".join(parts)


def _term(symbol: str, factor: int) -> str:
    return symbol if factor == 1 else f"{factor}*{symbol}"


def _is_sum(expr: ir.Expr) -> bool:
    match expr:
        case ir.Binary(op=op):
            return op in _SUMS
        case ir.Unary(op="+" | "-") | ir.Cast():
            return True
        case _:
            return False


def _build(form: Form, line: int) -> ir.Expr:
    """The expression of `form`: positive terms first, the constant last."""
    result: ir.Expr | None = None
    ordered = sorted((key for key in form.terms if key), key=lambda k: (form.terms[k] < 0, k))
    for key in [*ordered, *([()] if () in form.terms else [])]:
        factor = form.terms[key]
        part = _product([fold(form.atoms[name]) for name in key], abs(factor), line)
        if result is None:
            result = ir.Unary("-", part, line=line) if factor < 0 else part
        else:
            result = ir.Binary("-" if factor < 0 else "+", result, part, line=line)
    return ir.Const(0, line=line) if result is None else result


def _product(atoms: list[ir.Expr], factor: int, line: int) -> ir.Expr:
    number: ir.Expr = ir.Const(factor, line=line)
    if not atoms:
        return number
    result = number if factor != 1 else atoms.pop(0)
    for atom in atoms:
        result = ir.Binary("*", result, atom, line=line)
    return result
