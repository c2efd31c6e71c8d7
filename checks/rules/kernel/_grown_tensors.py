"""Tensors that were made with as many rows as there are, and are now made for the largest case."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import (
    ChangedFunction,
    changed_functions,
    equal_code,
    local_assignments,
    names_in,
)
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.bitfields.ranges import source_of
from checks.domain.ops import expressions_of
from checks.domain.tensors import VOCABULARY, cut, key_of, largest, made
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, ExprStmt, Return
from checks.rules.kernel._row_consumers import CUT, KEPT, MOVED, PAST, readers, steps

_LOGITS = re.compile(r"(?i)logit|vocab")


def grown(
    delta: ChangedFunction, change: ChangeSet, config: Config, rule: str
) -> Iterator[Finding]:
    """Tensors that were exact and are now made for the largest case."""
    if delta.base is None:
        return
    local = dict(local_assignments(delta.statements))
    found: list[tuple[Assign, str, E.Expr]] = []
    for guarded in delta.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name):
            continue
        shape = made(stmt.value)
        if (
            shape is None
            or not delta.touched(stmt.line, stmt.end_line)
            or not largest(shape[0], local)
        ):
            continue
        if _was_exact(stmt.target.id, delta) and not _cut_somewhere(stmt.target.id, delta):
            found.append((stmt, shape[1], shape[0]))
    if found and "max" in delta.code:
        yield from _report(found, delta, change, config, rule)


def _was_exact(name: str, delta: ChangedFunction) -> bool:
    """Whether the base set the same name to something whose rows were counted."""
    local = dict(local_assignments(delta.base_statements))
    old = local.get(name)
    if old is None:
        return False
    shape = made(old)
    return not largest(shape[0], local) if shape is not None else isinstance(old, E.Call)


def _cut_somewhere(name: str, delta: ChangedFunction) -> bool:
    for guarded in delta.statements:
        for top in expressions_of(guarded.stmt):
            for e in E.walk(top):
                base = cut(e)
                if (
                    base is not None
                    and E.root(base) == name
                    and isinstance(guarded.stmt, Assign | Return | ExprStmt)
                ):
                    return True
    return False


def _report(
    found: list[tuple[Assign, str, E.Expr]],
    delta: ChangedFunction,
    change: ChangeSet,
    config: Config,
    rule: str,
) -> Iterator[Finding]:
    names = [stmt.target.id for stmt, _, _ in found if isinstance(stmt.target, E.Name)]
    filler, takers = _users(set(names), delta)
    if not filler or not takers:
        return
    stmt, _, rows = next((f for f in found if f[1] == "empty"), found[0])
    offsets = _offsets(delta)
    behind = readers(delta, set(names), offsets, filler, change, config) if offsets else ()
    args = {
        "names": names, "filler": filler, "takers": takers, "rows": source_of(rows), "offsets": offsets,
        "raw": [s.target.id for s, h, _ in found if h == "empty" and isinstance(s.target, E.Name)],
        "kept": [r.name for r in behind if r.kind in (KEPT, CUT)], "past": [r.name for r in behind if r.kind == PAST],
        "moved": [r.name for r in behind if r.kind == MOVED], "factors": _factors(rows),
        "vocabulary": VOCABULARY if any(_LOGITS.search(n) for n in names_in(stmt.value)) else 0,
    }  # fmt: skip
    yield Finding(
        rule=rule,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=Location(delta.unit.path, stmt.line, stmt.end_line),
        message=Message("uncut", args),
        symbol=delta.head.qualname,
        subject=" ".join(names),
        evidence=steps(behind, offsets, change),
        related=tuple(_no_longer_cut(change, config)),
    )


def _factors(rows: E.Expr) -> list[str]:
    """(how many, upper bound of each) of `real_bsz * max_draft_tokens`, empty for another form."""
    match rows:
        case E.Binary(op="*", left=left, right=right):
            return (
                [source_of(right), source_of(left)]
                if largest(left, {})
                else [source_of(left), source_of(right)]
            )
    return []


def _users(names: set[str], delta: ChangedFunction) -> tuple[str, list[str]]:
    """The first function that gets the tensors for what it does to them, and those that get them to read."""
    filler, takers = "", list[str]()
    for guarded in delta.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, ExprStmt | Assign | Return) or stmt.value is None:
            continue
        for e in E.walk(stmt.value):
            given = isinstance(e, E.Call) and any(
                isinstance(a, E.Name) and a.id in names
                for a in (*e.args, *(v for _, v in e.keywords))
            )
            if not given or not isinstance(e, E.Call):
                continue
            if isinstance(stmt, ExprStmt) and not filler:
                filler = E.callee(e)
            elif filler and E.callee(e) not in takers and E.callee(e) != "print":
                takers.append(E.callee(e))
    return filler, takers


def _offsets(delta: ChangedFunction) -> str:
    """What the function returns beside its result, by which a caller can know the valid rows."""
    for guarded in delta.statements:
        if isinstance(guarded.stmt, Return) and isinstance(guarded.stmt.value, E.Sequence):
            for item in guarded.stmt.value.items:
                name = key_of(item) or (item.id if isinstance(item, E.Name) else "")
                if any(word in name for word in ("offset", "cu_", "num", "len")):
                    return name
    return ""


def _no_longer_cut(change: ChangeSet, config: Config) -> Iterator[Related]:
    """Functions that cut what they return before this change, and return it whole now."""
    for delta in changed_functions(change, config):
        if not delta.python:
            continue
        old = [
            g.stmt
            for g in delta.base_statements
            if isinstance(g.stmt, Return) and g.stmt.value is not None
        ]
        for guarded in delta.statements:
            stmt = guarded.stmt
            if not isinstance(stmt, Return) or stmt.value is None or not delta.touched(stmt.line):
                continue
            if any(
                o.value is not None
                and (c := cut(o.value)) is not None
                and equal_code(c, stmt.value)
                for o in old
            ):
                yield Related(Location(delta.unit.path, stmt.line), Message("cut-removed", {}))
