"""Changed statements of the logprob path: what they decide, and whether only speculative decoding runs them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.hardware_reach import brought_by_change
from checks.domain.keys import asks_platform
from checks.domain.ops import expressions_of
from checks.domain.speculative_mode import SPECULATIVE, called_speculatively, mode_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, ExprStmt, GuardedStmt, If, Return, Stmt, guarded_statements
from checks.lang.source import language
from checks.rules.logprobs._column_count import changed_width, other_number

WIDTH, SEED, ORDER, VALUE = "width", "seed", "order", "value"
_RANKS = {WIDTH: 0, SEED: 1, ORDER: 2, VALUE: 3}

_ANY = ("logprob", "log_prob", "topk", "top_k", "seed")
# The prompt's own logprobs are no part of what the tests store.
_LOGPROB = re.compile(r"(?i)^(?!.*prompt_log_?prob).*log_?prob")
_WIDTH = re.compile(
    r"(?i)^(max|num|n|top)_?(num_?|top_?)?log_?probs?$|^(max|num|n|real|actual|ori)_?(num_?)?top_?k$|log_?prob_?k$"
)
_SEED = re.compile(r"(?i)(^|_)seeds?($|_)")
_ORDERS = frozenset({"topk", "top_k", "argmax", "argsort", "sort", "argmin", "stable_sort"})
_LOGS = re.compile(r"(?i)^(debug|info|warning|warn|error|print|printf|log|v?log)$|logger|cout|cerr")


@dataclass(frozen=True, slots=True)
class Altered:
    """A changed statement: `name` is what it sets or calls, `kind` what of a logprob that decides.

    `speculative` is True or False where only one mode runs it, None for both. `certain` means that the number of
    columns is another one now.
    """

    path: str
    line: int
    text: str
    function: str
    name: str
    kind: str
    speculative: bool | None
    certain: bool = False
    calls: bool = False
    guards: tuple[E.Expr, ...] = ()

    @property
    def order(self) -> tuple[int, int, str, int]:
        """What to name first: what is certain, then what decides most, then what speaks of logprobs itself or calls
        what fills them."""
        plain = 0 if _LOGPROB.search(self.name) else 1 if self.calls else 2
        return _RANKS[self.kind] + (0 if self.certain else 4), plain, self.path, self.line


def mentions(change: ChangeSet, config: Config) -> bool:
    """Whether any changed line of product code could be of the logprob path at all."""
    for file in change.files:
        if not language(file.path) or config.is_test(file.path):
            continue
        for path, side, lines in (
            (file.head_path, Side.HEAD, file.head_lines()),
            (file.base_path, Side.BASE, file.base_lines()),
        ):
            data = (change.tree(side).read(path) if path else None) or b""
            if lines and _any(data.decode("utf-8", "replace")):
                return True
    return False


def _any(text: str) -> bool:
    """Whether something that may have to do with logprobs is named, however it is written."""
    lower = text.lower()
    return any(word in lower for word in _ANY)


def altered(change: ChangeSet, config: Config) -> Iterator[Altered]:
    """The statements and constants of the head that do something else for logprobs than the base did."""
    for file in change.files:
        now = change.unit(file.head_path) if file.head_path else None
        was = change.unit(file.base_path, Side.BASE) if file.base_path else None
        if now is not None and was is not None and not config.is_test(now.path):
            yield from _constants(was, now, change)
    for base, head in change.changed_functions():
        if base is None or head is None or config.is_test(head.path):
            continue
        unit, old = change.unit(head.path), change.unit(base.path, Side.BASE)
        text = unit.text(head.start_line, head.end_line) if unit is not None else ""
        if unit is not None and old is not None and _any(text):
            yield from _in_function(base, head, unit, old, change, config)


def _constants(old: SourceFile, head: SourceFile, change: ChangeSet) -> Iterator[Altered]:
    before = {c.name: c.value for c in old.constants if c.params is None}
    for constant in head.constants:
        name, value = constant.name, constant.value
        if not change.touches(head.path, constant.line, constant.line):
            continue
        kind = SEED if _SEED.search(name) else WIDTH if _WIDTH.search(name) else ""
        was = before.get(name)
        if kind and value is not None and was is not None and was != value:
            mode = True if SPECULATIVE.search(name) or name.startswith("SPEC_") else None
            text = head.text(constant.line).strip()
            certain = kind == WIDTH and other_number(was, value)
            yield Altered(head.path, constant.line, text, "", name, kind, mode, certain)


def _in_function(
    base: Function,
    head: Function,
    unit: SourceFile,
    old: SourceFile,
    change: ChangeSet,
    config: Config,
) -> Iterator[Altered]:
    near = (
        g
        for g in guarded_statements(head.body)
        if _touched(g.stmt, unit, change) and not _logs(g.stmt)
    )
    touched = [(g, told) for g in near if (told := _kind(g.stmt, head)) is not None]
    if not touched:
        return
    now = [g for g in guarded_statements(head.body) if not _logs(g.stmt)]
    before = [g for g in guarded_statements(base.body) if not _logs(g.stmt)]
    local = _locals(before)
    known = {_key(g.stmt, local, change) for g in before}
    local = _locals(now)
    moved = _removed_lines(old, change)
    for guarded, (name, kind) in touched:
        stmt, key = guarded.stmt, _key(guarded.stmt, local, change)
        if key in known:
            continue
        if brought_by_change(guarded.guards, change):
            continue  # the tests that were there do not have it on
        if all(line.strip() in moved for line in unit.lines[stmt.line - 1 : _last(stmt)]):
            continue
        mode, certain = mode_of(guarded, head), False
        if mode is None and called_speculatively(head, change, config):
            mode = True
        if kind == WIDTH and isinstance(stmt, Assign):
            mode, certain = changed_width(guarded, before, mode)
        text = unit.text(stmt.line).strip()
        calls = isinstance(stmt, ExprStmt)
        where = unit.path, stmt.line, text, head.qualname
        yield Altered(*where, name, kind, mode, certain, calls, guarded.guards)


def _touched(stmt: Stmt, unit: SourceFile, change: ChangeSet) -> bool:
    return change.touches(unit.path, stmt.line, _last(stmt))


def _removed_lines(old: SourceFile, change: ChangeSet) -> set[str]:
    """What the change took out of the file: a line that is there again elsewhere was only moved."""
    file = next((f for f in change.files if f.base_path == old.path), None)
    return (
        {old.lines[n - 1].strip() for n in file.base_lines() if n <= len(old.lines)}
        if file is not None
        else set()
    )


def _last(stmt: Stmt) -> int:
    return stmt.line if isinstance(stmt, If) else stmt.end_line


def _logs(stmt: Stmt) -> bool:
    """A log line, or a statement that only holds others."""
    if isinstance(stmt, ExprStmt):
        names = {E.callee(e) for e in E.walk(stmt.value) if isinstance(e, E.Call)} | E.names(
            stmt.value
        )
        return any(_LOGS.search(n) for n in names)
    return not isinstance(stmt, Assign | Return | If)


def _locals(body: list[GuardedStmt]) -> set[str]:
    """The names that a function sets itself, `self.x` among them."""
    found = (E.dotted(g.stmt.target) for g in body if isinstance(g.stmt, Assign))
    return {name for name in found if name}


# What moves or reshapes a value and does not compute one.
_CARRIES = frozenset(
    {
        "cpu",
        "cuda",
        "tolist",
        "numpy",
        "item",
        "clone",
        "contiguous",
        "detach",
        "copy_to",
        "pin_memory",
        "reshape",
    }
)
_WHERE = frozenset({"device", "place", "blocking"})


def _key(stmt: Stmt, local: set[str], change: ChangeSet) -> tuple[object, ...]:
    """What a statement does, whatever its locals are called, however many it unpacks, and wherever its values lie."""

    def plain(expr: E.Expr) -> E.Expr | None:
        match expr:
            case E.Name() | E.Attr() if E.dotted(expr) in local:
                return E.Name("_")
            case E.Ternary(test=test, then=then, orelse=orelse) if brought_by_change(
                (test,), change
            ):
                absent = isinstance(test, E.Unary) or (
                    isinstance(test, E.Binary) and test.op == "is"
                )
                return E.substitute(then if absent else orelse, plain)
            case E.Call(
                func=E.Attr(base=E.Name(id="paddle" | "torch" | "np"), name="reshape"),
                args=(base, *_),
            ):
                return E.substitute(base, plain)
            case E.Call(func=E.Attr(base=base, name=name)) if name in _CARRIES:
                return E.substitute(base, plain)
            case E.Call(keywords=words) if any(k in _WHERE for k, _ in words):
                kept = tuple((k, v) for k, v in words if k not in _WHERE)
                return E.substitute(
                    E.Call(expr.func, expr.args, kept, expr.launch, expr.template), plain
                )
            case _:
                return None

    unpacks = isinstance(stmt, Assign) and isinstance(stmt.target, E.Sequence)
    parts = tuple(E.substitute(e, plain) for e in list(expressions_of(stmt))[unpacks:])
    return type(stmt).__name__, getattr(stmt, "op", ""), parts


def _kind(stmt: Stmt, function: Function) -> tuple[str, str] | None:
    """(name, kind) of what a statement decides for logprobs, None where it decides nothing."""
    if _only_carries(stmt) or (isinstance(stmt, If) and asks_platform((stmt.test,))):
        return None
    targets = _targets(stmt)
    calls = [
        E.callee(e) for top in expressions_of(stmt) for e in E.walk(top) if isinstance(e, E.Call)
    ]
    near = _of_logprobs(function)
    for name in targets:
        if _WIDTH.search(name) and (near or _LOGPROB.search(name)):
            return name, WIDTH
        if _SEED.search(name):
            return name, SEED
    for name in calls:
        if name in _ORDERS and near:
            return name, ORDER
    for name in [*targets, *calls]:
        if _LOGPROB.search(name):
            return name, VALUE
    if _LOGPROB.search(function.name) and (targets or calls):
        return (targets or calls)[0], VALUE
    return None


# What hands on the rows of a tensor in another order.
_ROWS = re.compile(
    r"^(?:index_select|gather|gather_nd|scatter|scatter_nd|take)$|(?:^|_)(?:reorder|recover|permute)(?:_|$)"
)


def _only_carries(stmt: Stmt) -> bool:
    """`x = empty_like(y)`, `x.copy_(y)`, `x = gather(y, order)`: room for a value, or the way of one."""
    value = stmt.value if isinstance(stmt, Assign | ExprStmt) else None
    while (
        isinstance(value, E.Call) and isinstance(value.func, E.Attr) and value.func.name in _CARRIES
    ):
        value = value.func.base
    if not isinstance(value, E.Call):
        return False
    return E.callee(value) in ("empty", "empty_like", "copy_") or bool(
        _ROWS.search(E.callee(value))
    )


def _targets(stmt: Stmt) -> list[str]:
    """The last names of what a statement sets."""
    if not isinstance(stmt, Assign):
        return []
    parts = stmt.target.items if isinstance(stmt.target, E.Sequence) else (stmt.target,)
    found = []
    for part in parts:
        while isinstance(part, E.Index):
            key = part.indices[0] if len(part.indices) == 1 else None
            if isinstance(key, E.Const) and isinstance(key.value, str):
                found.append(key.value)
            part = part.base
        whole = E.dotted(part)
        if whole:
            found.append(whole.rsplit(".", 1)[-1])
    return found


def _of_logprobs(function: Function) -> bool:
    return bool(_LOGPROB.search(function.qualname)) or any(
        _LOGPROB.search(p.name) for p in function.params
    )
