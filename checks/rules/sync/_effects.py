"""What a Python function does, one effect at a time, and what a change altered in it."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.ops import statement_expressions
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, For, GuardedStmt, If, Stmt

_LOGS = frozenset({"logger", "logging", "log", "warnings", "console_logger", "llm_logger"})
_BUILTIN = frozenset(dir(builtins))
_METHODS = frozenset(name for kind in (dict, list, str, set) for name in dir(kind))


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that a function does: `assign` a value to a place, `call` something, decide a `branch`, or tell the
    members of an `enum` apart. `key` is what it is about and `form` how (of an enum: `in` or `not-in`, and members);
    `line` is its own, `start`..`end` are those of the statement without the statements inside it."""

    kind: str
    key: E.Expr | str
    form: E.Expr | tuple[str, frozenset[E.Expr]]
    guards: tuple[E.Expr, ...]
    line: int
    start: int
    end: int

    @property
    def identity(self) -> tuple[object, ...]:
        return self.kind, self.key, self.form


@dataclass(frozen=True, slots=True)
class Alteration:
    """What a change did to one effect of `function`: `old` became `new`. Of a call, keywords that came, went and have
    another value; of an enum, the members that came and went."""

    function: Function
    old: Effect
    new: Effect
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return self.old.kind


def effects(function: Function, unit: SourceFile) -> list[Effect]:
    """Every effect of `function`, in source order; logging and what stands in nested functions left out."""
    return function.body.memo(effects, lambda: _effects(function, unit))


def _effects(function: Function, unit: SourceFile) -> list[Effect]:
    foreign = {(i.alias or i.module).split(".")[0] for i in unit.imports if not i.name}
    return [
        e
        for guarded, inside in statement_expressions(function.body)
        for e in _of(guarded, inside, foreign)
    ]


def _of(guarded: GuardedStmt, inside: list[E.Expr], foreign: set[str]) -> Iterator[Effect]:
    stmt, guards = guarded.stmt, guarded.guards
    span = stmt.line, _header_end(stmt)
    match stmt:
        case Assign(target=target, op=op, value=value) if value is not None:
            form = value if op == "=" else E.Binary(op, target, value)
            yield Effect("assign", target, form, guards, stmt.line, *span)
        case If(test=test):
            yield Effect("branch", "", test, guards, test.line or stmt.line, *span)
        case _:
            pass
    for e in inside:
        if isinstance(e, E.Call) and _tells(e, foreign):
            yield Effect("call", e.func, e, guards, e.line or stmt.line, *span)
        elif isinstance(e, E.Binary) and (found := members(e)) is not None:
            yield Effect("enum", found[0], (found[1], found[2]), guards, e.line or stmt.line, *span)


def _header_end(stmt: Stmt) -> int:
    """The last line of a statement without the statements inside it."""
    inner = stmt.then if isinstance(stmt, If) else stmt.body if isinstance(stmt, For) else ()
    return max(stmt.line, inner[0].line - 1) if inner else stmt.end_line


def _tells(call: E.Call, foreign: set[str]) -> bool:
    """Whether a call says something of its own: not a log line, a builtin, a dict's method, or a library's function."""
    name = E.root(call.func)
    if isinstance(call.func, E.Name):
        return name not in _BUILTIN
    return (
        name is not None
        and name not in _LOGS
        and name not in foreign
        and E.callee(call) not in _METHODS
    )


def members(e: E.Binary) -> tuple[str, str, frozenset[E.Expr]] | None:
    """(what is told apart, `in` or `not-in`, members) of `x == E.A`, `x in [E.A, E.B]`, `x in ("a", "b")`."""
    if e.op in ("==", "!="):
        items: tuple[E.Expr, ...] = (e.right,)
    elif e.op in ("in", "not-in") and isinstance(e.right, E.Sequence):
        items = e.right.items
    else:
        return None
    kind = {_enum(i) for i in items}
    name = kind.pop() if len(kind) == 1 else None
    if name == "" and isinstance(e.left, E.Attr | E.Name):
        name = (E.dotted(e.left) or "").rsplit(".", 1)[-1]
    op = "in" if e.op in ("==", "in") else "not-in"
    return (name, op, frozenset(items)) if name else None


def _enum(item: E.Expr) -> str | None:
    """The enum that `item` is a member of, empty for a word, None for anything else."""
    match item:
        case E.Attr(base=E.Name(id=name)) if name[:1].isupper():
            return name
        case E.Const(value=str()):
            return ""
        case _:
            return None


def alterations(
    old: Function, new: Function, old_unit: SourceFile, new_unit: SourceFile
) -> list[Alteration]:
    """What the change altered: effects of the base that are gone, each with the effect of the head in its place.

    An effect of which the old form still stands somewhere in the function is left out: which one a copy follows is
    not known. Kept with the new function, as the rule runs again for each of its fixes.
    """
    return new.body.memo(
        (alterations, old.path, old.start_line), lambda: _alterations(old, new, old_unit, new_unit)
    )


def _alterations(
    old: Function, new: Function, old_unit: SourceFile, new_unit: SourceFile
) -> list[Alteration]:
    before, after = effects(old, old_unit), effects(new, new_unit)
    # An identity is a whole expression: hashed once, and then a number.
    numbers: dict[tuple[object, ...], int] = {}
    was, now = (
        [numbers.setdefault(e.identity, len(numbers)) for e in side] for side in (before, after)
    )
    gone, come = _leftover(before, was, now), _leftover(after, now, was)
    standing = set(now)
    found: list[Alteration] = []
    for number, effect in gone:
        if number in standing:
            continue
        others = [e for _, e in come if e.kind == effect.kind and e.key == effect.key]
        best = max(
            others,
            key=lambda e: (_likeness(effect, e), e.guards == effect.guards, -e.line),
            default=None,
        )
        if best is not None and _likeness(effect, best) >= (
            0.5 if effect.kind != "assign" else 0.0
        ):
            come.remove((numbers[best.identity], best))
            found.append(_altered(new, effect, best))
    return found


def _leftover(items: list[Effect], own: list[int], other: list[int]) -> list[tuple[int, Effect]]:
    """The effects, with their numbers, of which the other side has less."""
    counts = Counter(other)
    left: list[tuple[int, Effect]] = []
    for number, effect in zip(own, items, strict=True):
        if counts[number]:
            counts[number] -= 1
        else:
            left.append((number, effect))
    return left


def _likeness(old: Effect, new: Effect) -> float:
    """How much of the old form the new one keeps, from 0 to 1."""
    if isinstance(old.form, tuple) or isinstance(new.form, tuple):
        return float(
            isinstance(old.form, tuple)
            and isinstance(new.form, tuple)
            and bool(old.form[1] & new.form[1])
        )
    if isinstance(old.form, E.Call) and isinstance(new.form, E.Call) and old.kind == "call":
        return alike(old.form, new.form)
    left, right = Counter(symbols(old.form)), Counter(symbols(new.form))
    return sum((left & right).values()) / max(1, sum(left.values()))


def alike(left: E.Call, right: E.Call) -> float:
    """The share of `left`'s arguments that `right` passes too: by position, or by keyword with the same value."""
    total = len(left.args) + len(left.keywords)
    if not total:
        return 1.0
    same = sum(a == b for a, b in zip(left.args, right.args, strict=False))
    words = dict(right.keywords)
    return (same + sum(words.get(k) == v for k, v in left.keywords)) / total


def symbols(e: E.Expr) -> Iterator[object]:
    """The names and constants in an expression."""
    for part in E.walk(e):
        match part:
            case E.Name(id=name) | E.Attr(name=name):
                yield name
            case E.Const(value=value):
                yield value
            case _:
                pass


def weight(e: E.Expr) -> int:
    """The number of names and constants in an expression: how much it takes for two to be the same by chance."""
    return sum(1 for _ in symbols(e))


def _altered(function: Function, old: Effect, new: Effect) -> Alteration:
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    if isinstance(old.form, tuple) and isinstance(new.form, tuple):
        gained = tuple(sorted(member_name(m) for m in new.form[1] - old.form[1]))
        lost = tuple(sorted(member_name(m) for m in old.form[1] - new.form[1]))
    elif old.kind == "call" and isinstance(old.form, E.Call) and isinstance(new.form, E.Call):
        was, now = dict(old.form.keywords), dict(new.form.keywords)
        gained, lost = tuple(k for k in now if k not in was), tuple(k for k in was if k not in now)
        altered = tuple(k for k in was if k in now and was[k] != now[k])
    return Alteration(function, old, new, gained, lost, altered)


def member_name(e: E.Expr) -> str:
    """`NGRAM` for `SpecMethod.NGRAM`, `mtp` for `"mtp"`."""
    return e.name if isinstance(e, E.Attr) else str(e.value) if isinstance(e, E.Const) else ""
