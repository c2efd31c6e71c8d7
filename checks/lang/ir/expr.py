"""Expressions of C++ and Python in one form.

Operators have one spelling: `+ - * / // % << >> & | ^ **`, comparisons `== != < <= > >= in not-in
is is-not`, logic `and or`, unary `- + ~ not * &` (the last two are C++'s dereference and
address-of). C++'s integer `/` stays `/` (the type decides); `a->b` and `a.b` are both `Attr`;
`static_cast<T>(x)`, `(T)x`, `int(x)` in C++ are `Cast`. What has no form here is `Unknown` with its
source text, never a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Node:
    """`line` is where the expression starts in its file, from 1; equality does not look at it."""

    line: int = field(default=0, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Const(Node):
    """A literal: int, float, bool, str, or None (`None`, `nullptr`).

    `suffix` keeps C's `u`, `l`, `ull`, `f`.
    """

    value: int | float | bool | str | None
    suffix: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name; C++'s scopes stay in it: `std::min`."""

    id: str


@dataclass(frozen=True, slots=True)
class Attr(Node):
    """`base.name`, and C++'s `base->name`."""

    base: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`base[i]`, `base[i, j]`; C++'s `a[i][j]` is an Index of an Index."""

    base: Expr
    indices: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """`lower:upper:step` inside an `Index`."""

    lower: Expr | None = None
    upper: Expr | None = None
    step: Expr | None = None


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call; `keywords` are Python's.

    A method call has an `Attr` as `func`. `launch` holds the arguments of `<<<grid, block, shared,
    stream>>>`, and `template` the text of C++ template arguments.
    """

    func: Expr
    args: tuple[Expr, ...] = ()
    keywords: tuple[tuple[str, Expr], ...] = ()
    launch: tuple[Expr, ...] = ()
    template: str = ""


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`-x`, `not x`, `*x`, ...; in a Python call `*x` is an argument that is spread."""

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
    """`test ? then : orelse`."""

    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """A C++ cast in any spelling; `type` is source text."""

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
    """An expression that has no form here, as source text."""

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


def children(expr: Expr) -> list[Expr]:
    """The direct sub-expressions, in source order."""
    match expr:
        # First what is most frequent: every walk over an expression ends here for each leaf.
        case Name() | Const():
            return []
        case Attr():
            return [expr.base]
        case Call():
            return [expr.func, *expr.launch, *expr.args, *[value for _, value in expr.keywords]]
        case Binary():
            return [expr.left, expr.right]
        case Index():
            return [expr.base, *expr.indices]
        case Unary() | Cast():
            return [expr.operand]
        case Sequence():
            return list(expr.items)
        case Ternary():
            return [expr.test, expr.then, expr.orelse]
        case Slice():
            return [part for part in (expr.lower, expr.upper, expr.step) if part is not None]
        case Mapping():
            return _mapping_parts(expr)
        case Comprehension():
            return _comprehension_parts(expr)
        case _:
            return []


def _mapping_parts(mapping: Mapping) -> list[Expr]:
    parts: list[Expr] = []
    for key, value in mapping.items:
        if key is not None:
            parts.append(key)
        parts.append(value)
    return parts


def _comprehension_parts(comprehension: Comprehension) -> list[Expr]:
    parts = [comprehension.element]
    for target, iterable, conditions in comprehension.clauses:
        parts += (target, iterable, *conditions)
    return parts


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and every expression below it, outer first."""
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += reversed(children(part))


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
    """The last part of what is called: `f` for `f()`, `a.f()`, `ns::f()`; empty for any other."""
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
        if isinstance(argument, Unary) and argument.op in ("*", "**"):
            return True
    return any(name in ("", "**") for name, _ in call.keywords)


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
    """`expr` with every sub-expression for which `replace` gives something replaced by it.

    Outer expressions are asked for first. Dict displays and comprehensions stay as they are.
    """

    def sub(part: Expr) -> Expr:
        return substitute(part, replace)

    new = replace(expr)
    if new is not None:
        return new
    line = expr.line
    match expr:
        case Name() | Const():
            return expr
        case Attr(base=base, name=name):
            return Attr(sub(base), name, line=line)
        case Index(base=base, indices=indices):
            return Index(sub(base), tuple(map(sub, indices)), line=line)
        case Slice(lower=lower, upper=upper, step=step):
            bounds = [sub(bound) if bound is not None else None for bound in (lower, upper, step)]
            return Slice(*bounds, line=line)
        case Call():
            return Call(
                sub(expr.func),
                tuple(map(sub, expr.args)),
                tuple([(name, sub(value)) for name, value in expr.keywords]),
                tuple(map(sub, expr.launch)),
                expr.template,
                line=line,
            )
        case Unary(op=op, operand=operand):
            return Unary(op, sub(operand), line=line)
        case Cast(type=kind, operand=operand):
            return Cast(kind, sub(operand), line=line)
        case Binary(op=op, left=left, right=right):
            return Binary(op, sub(left), sub(right), line=line)
        case Ternary(test=test, then=then, orelse=orelse):
            return Ternary(sub(test), sub(then), sub(orelse), line=line)
        case Sequence(kind=kind, items=items):
            return Sequence(kind, tuple(map(sub, items)), line=line)
        case _:
            return expr
