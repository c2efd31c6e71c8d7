"""Expressions of C++ and Python in one form.

Operators have one spelling: `+ - * / // % << >> & | ^ **`, comparisons `== != < <= > >= in not-in is is-not`,
logic `and or`, unary `- + ~ not * &` (the last two are C++'s dereference and address-of). C++'s integer `/` stays
`/` (the type decides); `a->b` and `a.b` are both `Attr`; `static_cast<T>(x)`, `(T)x`, `int(x)` in C++ are `Cast`.
What has no form here is `Unknown` with its source text, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from checks.ir.node import node


@node
class Node:
    """`line` is where the expression starts in its file, from 1; it does not take part in equality."""

    line: int = field(default=0, compare=False, kw_only=True)


@node
class Const(Node):
    """A literal: int, float, bool, str, or None (`None`, `nullptr`). `suffix` keeps C's `u`, `l`, `ull`, `f`."""

    value: int | float | bool | str | None
    suffix: str = field(default="", compare=False)


@node
class Name(Node):
    """A name; C++'s scopes stay in it: `std::min`."""

    id: str


@node
class Attr(Node):
    base: Expr
    name: str


@node
class Index(Node):
    """`base[i]`, `base[i, j]`; C++'s `a[i][j]` is an Index of an Index."""

    base: Expr
    indices: tuple[Expr, ...]


@node
class Slice(Node):
    lower: Expr | None = None
    upper: Expr | None = None
    step: Expr | None = None


@node
class Call(Node):
    """A call; `keywords` are Python's. A method call has an `Attr` as `func`. `launch` holds the arguments of
    `<<<grid, block, shared, stream>>>`, and `template` the text of C++ template arguments."""

    func: Expr
    args: tuple[Expr, ...] = ()
    keywords: tuple[tuple[str, Expr], ...] = ()
    launch: tuple[Expr, ...] = ()
    template: str = ""


@node
class Unary(Node):
    op: str
    operand: Expr


@node
class Binary(Node):
    """Arithmetic, comparison and logic. `a < b < c` of Python is `(a < b) and (b < c)`."""

    op: str
    left: Expr
    right: Expr


@node
class Ternary(Node):
    test: Expr
    then: Expr
    orelse: Expr


@node
class Cast(Node):
    type: str
    operand: Expr


@node
class Sequence(Node):
    """A tuple, list, set or C++ initialiser list; `kind` is one of `tuple list set init`."""

    kind: str
    items: tuple[Expr, ...]


@node
class Mapping(Node):
    """A dict display; a key of None is a `**` part."""

    items: tuple[tuple[Expr | None, Expr], ...]


@node
class Comprehension(Node):
    """`kind` is `list set dict generator`; each clause is (target, iterable, conditions)."""

    kind: str
    element: Expr
    clauses: tuple[tuple[Expr, Expr, tuple[Expr, ...]], ...]


@node
class Unknown(Node):
    text: str


Expr = (
    Const
    | Name
    | Attr
    | Index
    | Slice
    | Call
    | Unary
    | Binary
    | Ternary
    | Cast
    | Sequence
    | Mapping
    | Comprehension
    | Unknown
)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions, in source order."""
    below = _BELOW.get(type(expr))
    return below(expr) if below is not None else ()


def _of_slice(e: Slice) -> tuple[Expr, ...]:
    return tuple([part for part in (e.lower, e.upper, e.step) if part is not None])


def _of_call(e: Call) -> tuple[Expr, ...]:
    if e.keywords:
        return (e.func, *e.launch, *e.args, *[value for _, value in e.keywords])
    return (e.func, *e.launch, *e.args)


def _of_mapping(e: Mapping) -> tuple[Expr, ...]:
    return tuple([part for pair in e.items for part in pair if part is not None])


def _of_comprehension(e: Comprehension) -> tuple[Expr, ...]:
    parts = [e.element]
    for target, iterable, conditions in e.clauses:
        parts += (target, iterable, *conditions)
    return tuple(parts)


# Asked of every expression of every function: a `match` over the classes takes four times as long.
_BELOW: dict[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {
    Attr: lambda e: (e.base,),
    Index: lambda e: (e.base, *e.indices),
    Slice: _of_slice,
    Call: _of_call,
    Unary: lambda e: (e.operand,),
    Cast: lambda e: (e.operand,),
    Binary: lambda e: (e.left, e.right),
    Ternary: lambda e: (e.test, e.then, e.orelse),
    Sequence: lambda e: e.items,
    Mapping: _of_mapping,
    Comprehension: _of_comprehension,
}


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and every expression below it, outer first."""
    waiting = [expr]
    while waiting:
        e = waiting.pop()
        yield e
        below = _BELOW.get(type(e))
        if below is not None:
            waiting += below(e)[::-1]


def names(expr: Expr) -> set[str]:
    """Every plain name in `expr`."""
    return {e.id for e in walk(expr) if isinstance(e, Name)}


def dotted(expr: Expr) -> str | None:
    """`a.b.c` for names and attributes, None for anything else."""
    match expr:
        case Name(id=name):
            return name
        case Attr(base=base, name=name):
            left = dotted(base)
            return f"{left}.{name}" if left else None
        case _:
            return None


def callee(call: Call) -> str:
    """The last part of what is called: `f` for `f()`, `a.f()`, `ns::f()`; empty for anything else."""
    match call.func:
        case Name(id=name):
            return name.rsplit("::", 1)[-1]
        case Attr(name=name):
            return name
        case _:
            return ""


def starred(call: Call) -> bool:
    """Whether a call passes `*args` or `**kwargs`, so that its argument list is not known."""
    for argument in call.args:
        if argument.__class__ is Unary and argument.op in ("*", "**"):
            return True
    return bool(call.keywords) and any(name in ("", "**") for name, _ in call.keywords)


def root(expr: Expr) -> str | None:
    """The variable that a place belongs to: `x` for `x[i].f[j]`, `(*x)`, `&x[i]`."""
    match expr:
        case Name(id=name):
            return name
        case Attr(base=base) | Index(base=base):
            return root(base)
        case Unary(op="*" | "&", operand=operand) | Cast(operand=operand):
            return root(operand)
        case _:
            return None


def substitute(expr: Expr, replace: Callable[[Expr], Expr | None]) -> Expr:
    """`expr` with every sub-expression for which `replace` gives something replaced by it, outer first."""
    new = replace(expr)
    if new is not None:
        return new

    def sub(e: Expr) -> Expr:
        return substitute(e, replace)

    match expr:
        case Attr(base=base, name=name):
            return Attr(sub(base), name, line=expr.line)
        case Index(base=base, indices=indices):
            return Index(sub(base), tuple(map(sub, indices)), line=expr.line)
        case Slice(lower=lower, upper=upper, step=step):
            return Slice(*(sub(e) if e is not None else None for e in (lower, upper, step)), line=expr.line)
        case Call(func=func, args=args, keywords=keywords, launch=launch, template=template):
            words = tuple((k, sub(v)) for k, v in keywords)
            return Call(sub(func), tuple(map(sub, args)), words, tuple(map(sub, launch)), template, line=expr.line)
        case Unary(op=op, operand=operand):
            return Unary(op, sub(operand), line=expr.line)
        case Cast(type=type_, operand=operand):
            return Cast(type_, sub(operand), line=expr.line)
        case Binary(op=op, left=left, right=right):
            return Binary(op, sub(left), sub(right), line=expr.line)
        case Ternary(test=test, then=then, orelse=orelse):
            return Ternary(sub(test), sub(then), sub(orelse), line=expr.line)
        case Sequence(kind=kind, items=items):
            return Sequence(kind, tuple(map(sub, items)), line=expr.line)
        case _:
            return expr
