"""State that a function sets to something else in a special case: a case that came, or that went."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, equal_code
from checks.core.config import Config
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt, If
from checks.summary.conditions import condition
from checks.summary.layout import only_renamed
from checks.summary.pairs import paired
from checks.summary.state_changes import place
from checks.summary.statements import sides

Exchanged = Sequence[tuple[str, str]]
_Side = tuple[list[GuardedStmt], SourceFile]
_UNSUPPORTED = re.compile(
    r"\bnot\s+(?:yet\s+)?support|unsupported|n't\s+support|no\s+support|不支持", re.I
)


@dataclass(frozen=True, slots=True)
class Override:
    """`target` is set to `value` where `test` holds, since this change or (`gone`) until it."""

    function: Function
    target: str
    value: str
    test: str
    gone: bool
    line: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """A case that a function treated apart until this change, of which a `note` there says that it is not supported."""

    function: Function
    test: str
    note: str
    line: int


def dropped(change: ChangeSet, config: Config, exchanged: Exchanged) -> Iterator[Dropped]:
    """Cases that were refused, and that now go where the others go. `exchanged` are the names that only changed."""
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        if delta.base is None or delta.base_unit is None or file is None:
            continue
        for hunk in file.hunks:
            lines = range(hunk.base_start, hunk.base_start + hunk.base_len)
            gone = [
                g.stmt
                for g in delta.base_statements
                if isinstance(g.stmt, If) and g.stmt.line in lines
            ]
            for s in [s for s in gone if s.then]:
                test = condition(s.test, delta.base_unit)
                note = _note(delta.base_unit, s.line, s.then[-1].end_line)
                now = (g.stmt.test for g in delta.statements if isinstance(g.stmt, If))
                if (
                    note
                    and test
                    and not any(
                        only_renamed(test, condition(t, delta.unit), exchanged) for t in now
                    )
                ):
                    yield Dropped(delta.head, test, note, hunk.head_start)


def _note(unit: SourceFile, start: int, end: int) -> str:
    """The comment in these lines that says that something is not supported."""
    said = (re.match(r"\s*(?:#|//)\s*(.*)", line) for line in unit.lines[start - 1 : end])
    return next((m[1].strip() for m in said if m and _UNSUPPORTED.search(m[1])), "")


def overrides(change: ChangeSet, config: Config, exchanged: Exchanged) -> Iterator[Override]:
    """Assignments in branches that came or went whole, of state that the function sets before and now."""
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        if delta.base is None or delta.base_unit is None or file is None:
            continue
        head, base = (delta.statements, delta.unit), (delta.base_statements, delta.base_unit)
        back = [(new, old) for old, new in exchanged]
        yield from _apart(delta, head, base, file.head_lines(), back, gone=False)
        yield from _apart(delta, base, head, file.base_lines(), exchanged, gone=True)


def _apart(
    delta: ChangedFunction,
    here: _Side,
    there: _Side,
    lines: set[int],
    names: Exchanged,
    *,
    gone: bool,
) -> Iterator[Override]:
    """What `here` has and `there` has not, in a branch that stands on `lines`."""
    flat, unit = here
    tests = [g.stmt.test for g in flat if isinstance(g.stmt, If) and g.stmt.line in lines]
    if not tests:
        return
    known = {place(g.stmt.target) for g in there[0] if isinstance(g.stmt, Assign)}
    for guarded in flat:
        s = guarded.stmt
        if (
            not isinstance(s, Assign)
            or not isinstance(s.target, E.Attr | E.Index)
            or s.line not in lines
        ):
            continue
        test = next((t for t in tests if guarded.guards and guarded.guards[-1] is t), None)
        text = condition(test, unit) if test is not None and place(s.target) in known else ""
        target, value = sides(s, unit)
        if text and target and value and not _holds(there, guarded, text, names):
            yield Override(delta.head, target, value, text, gone, s.line)


def _holds(there: _Side, guarded: GuardedStmt, text: str, names: Exchanged) -> bool:
    """Whether the other side sets the same under the same condition, or under fewer."""
    flat, unit = there
    alike = [g.guards for g in flat if equal_code(g.stmt, guarded.stmt)]
    fewer = any(len(guards) < len(guarded.guards) for guards in alike)
    return fewer or any(
        only_renamed(text, condition(guards[-1], unit), names) for guards in alike if guards
    )
