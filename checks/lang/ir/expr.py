"""Expressions of C++ and Python in one form.

Operators have one spelling: `+ - * / // % << >> & | ^ **`, comparisons `== != < <= > >= in not-in is is-not`,
logic `and or`, unary `- + ~ not * &` (the last two are C++'s dereference and address-of). C++'s integer `/` stays
`/` (the type decides); `a->b` and `a.b` are both `Attr`; `static_cast<T>(x)`, `(T)x`, `int(x)` in C++ are `Cast`.
What has no form here is `Unknown` with its source text, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    """`line` is where the expression starts in its file, from 1; it does not take part in equality."""

    line: int = field(default=0, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Const(Node):
    """A literal: int, float, bool, str, or None (`None`, `nullptr`). `suffix` keeps C's `u`, `l`, `ull`, `f`."""

    value: int | float | bool | str | None
    suffix: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name; C++'s scopes stay in it: `std::min`."""

    id: str


@dataclass(frozen=True, slots=True)
class Attr(Node):
    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`base[i]`, `base[i, j]`; C++'s `a[i][j]` is an Index of an Index."""

    base: Expr
    indices: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Slice(Node):
    lower: Expr | None = None
    upper: Expr | None = None
    step: Expr | None = None


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call; `keywords` are Python's. A method call has an `Attr` as `func`. `launch` holds the arguments of
    `<<<grid, block, shared, stream>>>`, and `template` the text of C++ template arguments."""

    func: Expr
    args: tuple[Expr, ...] = ()
    keywords: tuple[tuple[str, Expr], ...] = ()
    launch: tuple[Expr, ...] = ()
    template: str = ""


@dataclass(frozen=True, slots=True)
class Unary(Node):
    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic, comparison and logic. `a < b < c` of Python is `(a < b) and (b < c)`."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Ternary(Node):
    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Cast(Node):
    type: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """A tuple, list, set or C++ initialiser list; `kind` is one of `tuple list set init`."""

    kind: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Mapping(Node):
    """A dict display; a key of None is a `**` part."""

    items: tuple[tuple[Expr | None, Expr], ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """`kind` is `list set dict generator`; each clause is (target, iterable, conditions)."""

    kind: str
    element: Expr
    clauses: tuple[tuple[Expr, Expr, tuple[Expr, ...]], ...]


@dataclass(frozen=True, slots=True)
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
    """`expr` with every sub-expression for which `replace` gives something replaced by it, outer first. Dict displays
    and comprehensions stay as they are."""

    def sub(e: Expr) -> Expr:
        new = replace(e)
        if new is not None:
            return new
        rebuild = _REBUILD.get(type(e))
        return e if rebuild is None else rebuild(e, sub)

    return sub(expr)


_Sub = Callable[[Expr], Expr]


def _call(e: Call, sub: _Sub) -> Expr:
    words = tuple([(k, sub(v)) for k, v in e.keywords])
    launch = tuple([sub(a) for a in e.launch])
    return Call(
        sub(e.func), tuple([sub(a) for a in e.args]), words, launch, e.template, line=e.line
    )


def _slice(e: Slice, sub: _Sub) -> Expr:
    return Slice(
        *[None if part is None else sub(part) for part in (e.lower, e.upper, e.step)], line=e.line
    )


_REBUILD: dict[type[Expr], Callable[[Any, _Sub], Expr]] = {
    Attr: lambda e, sub: Attr(sub(e.base), e.name, line=e.line),
    Index: lambda e, sub: Index(sub(e.base), tuple([sub(i) for i in e.indices]), line=e.line),
    Slice: _slice,
    Call: _call,
    Unary: lambda e, sub: Unary(e.op, sub(e.operand), line=e.line),
    Cast: lambda e, sub: Cast(e.type, sub(e.operand), line=e.line),
    Binary: lambda e, sub: Binary(e.op, sub(e.left), sub(e.right), line=e.line),
    Ternary: lambda e, sub: Ternary(sub(e.test), sub(e.then), sub(e.orelse), line=e.line),
    Sequence: lambda e, sub: Sequence(e.kind, tuple([sub(i) for i in e.items]), line=e.line),
}
