"""A message's protocol changed on one side, and no test exercises it.

## What it does

Compares what each C++ sender and receiver of a message does before and after the change: which member gets which value
under which conditions, where it is handed on, and how large the members are, with locals put back in, so that
comments, log lines and moved code do not count. Where that changed and no test calls any of the ops that changed, it
says so once for the message. It also names an op whose source this change rewrites while the change deletes its tests.

## Why it matters

PaddlePaddle/FastDeploy#7884 packed a second field into a message word at two senders and a receiver. The tests near it
wrote the word by hand, in the old form: no test calls one of the three ops. #6493 rewrote two kernels and deleted both
operator tests.

## Example

```cpp
-  msg.meta[1] = message_flag;
+  msg.meta[1] = message_flag | (width << 8);    // and nothing under tests/ calls save_rows
```

## Known limits

A test exercises an op when it calls or imports it by name; one that reaches it through a Python wrapper is not seen. A
message sent without a struct (a byte buffer, a Python object) is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity, Side
from checks.domain.cpp_places import Move
from checks.domain.messages import Endpoint, Messages
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import (
    Assert,
    Assign,
    ExprStmt,
    GuardedStmt,
    If,
    Return,
    guarded_statements,
)
from checks.lang.source import language
from checks.rules.protocol._op_coverage import LostTests, exercised, lost_tests

ID = "protocol.untested-change"

_MOST_NAMES = 6
# A change of more messages than this is one change made everywhere, and said once.
_MOST_PROTOCOLS = 2


@dataclass(frozen=True, slots=True)
class _Altered:
    """An end of a message that does something else now; `place` is the first line that shows it."""

    end: Endpoint
    place: Location
    on_message: bool


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    files = [f for f in change.files if language(f.path) == "cpp" and not config.is_test(f.path)]
    if not files:
        return
    for gone in lost_tests(files, change, config):
        yield _lost(gone)
    head, base = Messages.of(change, config), Messages.of(change, config, Side.BASE)
    altered = [
        a for f in files if f.head_path and f.base_path for a in _altered(f, head, base, change)
    ]
    open_groups = [g for g in _protocols(altered, head) if _untested(g, change, config)]
    if len(open_groups) > _MOST_PROTOCOLS:
        open_groups = [[a for g in open_groups for a in g]]
    for group in open_groups:
        yield _finding(group)


def _altered(
    file: FileChange, head: Messages, base: Messages, change: ChangeSet
) -> Iterator[_Altered]:
    if file.head_path is None or not head.may_speak(file.head_path):
        return
    unit = change.unit(file.head_path) if file.head_path else None
    old = change.unit(file.base_path, Side.BASE) if file.base_path else None
    if unit is None or old is None:
        return
    before = {(e.function.qualname, e.role): e for e in base.of_unit(old)}
    for end in head.of_unit(unit):
        earlier = before.get((end.function.qualname, end.role))
        if earlier is None:
            continue
        place, on_message = _difference(earlier, end, base, head)
        if place is None and head.layout(end.struct, unit) != base.layout(earlier.struct, old):
            place, on_message = _first_touched(unit, change, end), False
        if place is not None:
            yield _Altered(end, place, on_message)


def _difference(
    old: Endpoint, new: Endpoint, base: Messages, head: Messages
) -> tuple[Location | None, bool]:
    """The first line of the change that makes `new` treat the message otherwise than `old`, and whether it writes or
    reads the message itself."""
    change, unit, old_unit = head.change, new.unit, old.unit
    gone = _gone_line(old, change)
    if (
        not change.touches(unit.path, new.function.start_line, new.function.end_line)
        and gone is None
    ):
        return None, False
    before = {_key(m, old, base): m for m in _on_message(old, base)}
    now = {_key(m, new, head): m for m in _on_message(new, head)}
    fresh = [m for k, m in now.items() if k not in before]
    if not fresh and all(k in now for k in before):
        return None, False
    lines = [
        m.guarded.stmt for m in fresh if change.touches(unit.path, m.line, m.guarded.stmt.end_line)
    ]
    if lines:
        return Location(unit.path, lines[0].line, lines[0].end_line), True
    touched = _touched_statement(new.function, unit, change)
    if touched is not None:
        return Location(unit.path, touched.stmt.line), False
    return (Location(old_unit.path, gone, side=Side.BASE) if gone else None), False


def _gone_line(end: Endpoint, change: ChangeSet) -> int | None:
    """The first line of the end's function, in the base, that the change removed."""
    lines = {n for f in change.files if f.base_path == end.unit.path for n in f.base_lines()}
    return min((n for n in lines if end.function.covers(n)), default=None)


def _on_message(end: Endpoint, messages: Messages) -> Iterator[Move]:
    for move in messages.moves(end):
        if end.variable in (move.target.root, move.source.root if move.source is not None else ""):
            yield move


def _key(move: Move, end: Endpoint, messages: Messages) -> tuple[object, ...]:
    """What a store does, whatever its place in the file, what its constants are called and what copies it."""

    def plain(expr: E.Expr) -> E.Expr | None:
        match expr:
            case E.Call(func=E.Attr(base=base, name="copy_to" | "clone" | "cpu" | "contiguous")):
                return E.substitute(base, plain)
            case E.Cast(operand=operand):
                return E.substitute(operand, plain)
            case E.Name(id=name) if name.isupper():
                number = messages.number(expr, end.unit, end.function)
                return E.Const(number) if number is not None else None
            case _:
                return None

    def bare(expr: E.Expr | None) -> E.Expr | None:
        return E.substitute(expr, plain) if expr is not None else None

    loops = tuple((loop.target, bare(loop.start), bare(loop.stop)) for loop in move.guarded.loops)
    target = (move.target.path, tuple(map(bare, move.target.indices)), move.target.element)
    root = "" if move.target.root == end.variable else move.target.root
    value = E.substitute(
        move.value, lambda e: E.Name("") if e == E.Name(end.variable) else plain(e)
    )
    return root, target, value, tuple(map(bare, move.guarded.guards)), loops


def _touched_statement(
    function: Function, unit: SourceFile, change: ChangeSet
) -> GuardedStmt | None:
    """The first statement on a line of the change that is more than a log line."""
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        last = stmt.line if isinstance(stmt, If) else stmt.end_line
        plain = isinstance(stmt, Assign | If | Return | Assert) or (
            isinstance(stmt, ExprStmt) and isinstance(stmt.value, E.Call) and not _logs(stmt.value)
        )
        if plain and change.touches(unit.path, stmt.line, last):
            return guarded
    return None


def _logs(call: E.Call) -> bool:
    return re.search(r"(?i)log|print|cout|cerr", E.callee(call)) is not None


def _first_touched(unit: SourceFile, change: ChangeSet, end: Endpoint) -> Location | None:
    """The changed line that the layout comes from: in the struct, else a constant of this file, else nowhere here."""
    file = change.changed(unit.path)
    lines = sorted(file.head_lines()) if file is not None else []
    struct = end.struct
    inside = [
        n for n in lines if struct.path == unit.path and struct.start_line <= n <= struct.end_line
    ]
    constants = {c.line for c in unit.constants}
    line = next(iter(inside), next((n for n in lines if n in constants), None))
    return Location(unit.path, line) if line is not None else None


def _protocols(altered: list[_Altered], messages: Messages) -> list[list[_Altered]]:
    """The altered ends, grouped by message."""
    groups: list[list[_Altered]] = []
    for one in altered:
        home = next(
            (g for g in groups if any(_one_message(one.end, o.end, messages) for o in g)), None
        )
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    return [
        sorted(g, key=lambda a: (not a.on_message, a.place.path, a.place.start_line))
        for g in groups
    ]


def _one_message(one: Endpoint, other: Endpoint, messages: Messages) -> bool:
    """The same message, or the same op's message on other hardware."""
    return bool(set(one.ops) & set(other.ops)) or (
        one.struct.name == other.struct.name and messages.same(one, other)
    )


def _untested(group: list[_Altered], change: ChangeSet, config: Config) -> bool:
    ops = {op for a in group for op in a.end.ops}
    return bool(ops) and not any(exercised(op, change, config) for op in sorted(ops))


def _finding(group: list[_Altered]) -> Finding:
    first, *others = group
    ops = list(dict.fromkeys(op for a in group for op in a.end.ops))
    args = {
        "struct": first.end.struct.name, "ops": ops[:_MOST_NAMES], "role": first.end.role,
        "function": first.end.function.name, "count": len(group),
    }  # fmt: skip
    related = tuple(
        Related(a.place, Message("also", {"function": a.end.function.name, "role": a.end.role}))
        for a in others
    )
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=first.place,
        message=Message("untested", args),
        symbol=first.end.function.qualname,
        subject=first.end.struct.name,
        related=related[:_MOST_NAMES],
    )


def _lost(gone: LostTests) -> Finding:
    related = (
        Related(Location(p, 0, side=Side.BASE), Message("was-tested", {"op": gone.op}))
        for p in gone.tests
    )
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(gone.path, gone.line),
        message=Message("deleted", {"op": gone.op, "tests": list(gone.tests[:_MOST_NAMES])}),
        symbol=gone.op,
        subject=" ".join(gone.tests),
        related=tuple(related),
    )
