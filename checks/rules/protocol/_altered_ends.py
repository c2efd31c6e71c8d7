"""Ends of messages that treat their message otherwise than before the change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Location, Side
from checks.domain.cpp_places import Move
from checks.domain.messages import MessageEnd, Messages
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assert, Assign, ExprStmt, If, Return, Stmt, guarded_statements
from checks.lang.source import language

_LOG_CALL = re.compile(r"(?i)log|print|cout|cerr")
# Methods that give the same elements elsewhere.
_COPIES = frozenset({"copy_to", "clone", "cpu", "contiguous"})


@dataclass(frozen=True, slots=True)
class AlteredEnd:
    """An end that does something else now; `place` is the first line that shows it.

    `on_message` says that this line writes or reads the message itself.
    """

    end: MessageEnd
    place: Location
    on_message: bool


def altered_ends(change: ChangeSet, config: Config) -> Iterator[AlteredEnd]:
    """The altered ends in the changed C++ files of the product."""
    head = Messages.of(change, config)
    base = Messages.of(change, config, Side.BASE)
    for file in change.files:
        if language(file.path) == "cpp" and not config.is_test(file.path):
            yield from _altered_in(file, head, base)


def _altered_in(file: FileChange, head: Messages, base: Messages) -> Iterator[AlteredEnd]:
    change = head.change
    if not file.head_path or not file.base_path or not head.may_hold_ends(file.head_path):
        return
    new_unit = change.unit(file.head_path)
    old_unit = change.unit(file.base_path, Side.BASE)
    if new_unit is None or old_unit is None:
        return
    old_ends = {(end.function.qualname, end.role): end for end in base.ends_in(old_unit)}
    for new in head.ends_in(new_unit):
        old = old_ends.get((new.function.qualname, new.role))
        if old is None:
            continue
        altered = _altered_code(old, new, base, head)
        if altered is None and _has_other_layout(old, new, base, head):
            altered = _altered_layout(new, change)
        if altered is not None:
            yield altered


def _has_other_layout(old: MessageEnd, new: MessageEnd, base: Messages, head: Messages) -> bool:
    return head.structs.layout(new.struct, new.unit) != base.structs.layout(old.struct, old.unit)


def _altered_layout(end: MessageEnd, change: ChangeSet) -> AlteredEnd | None:
    """The changed line that the layout comes from: in the struct, or a constant of this file.

    None where it comes from another file, which is reported with the ends there.
    """
    file = change.changed(end.unit.path)
    lines = sorted(file.head_lines()) if file is not None else []
    struct = end.struct
    constants = {constant.line for constant in end.unit.constants}
    in_struct: list[int] = []
    if struct.path == end.unit.path:
        in_struct = [n for n in lines if struct.start_line <= n <= struct.end_line]
    of_constants = [n for n in lines if n in constants]
    for line in in_struct + of_constants:
        return AlteredEnd(end, Location(end.unit.path, line), on_message=False)
    return None


def _altered_code(
    old: MessageEnd, new: MessageEnd, base: Messages, head: Messages
) -> AlteredEnd | None:
    """Where the function of `new` treats the message otherwise than `old` did."""
    change, unit = head.change, new.unit
    removed = _first_removed_line(old, change)
    function = new.function
    if removed is None and not change.touches(unit.path, function.start_line, function.end_line):
        return None
    before = {_effect(move, old, base) for move in _moves_on_message(old, base)}
    after = {_effect(move, new, head): move for move in _moves_on_message(new, head)}
    if before == set(after):
        return None
    for effect, move in after.items():
        stmt = move.guarded.stmt
        if effect not in before and change.touches(unit.path, move.line, stmt.end_line):
            place = Location(unit.path, stmt.line, stmt.end_line)
            return AlteredEnd(new, place, on_message=True)
    # The moves are written as before, and something around them changed.
    touched = _first_touched_line(new, change)
    if touched is not None:
        return AlteredEnd(new, Location(unit.path, touched), on_message=False)
    if removed is not None:
        place = Location(old.unit.path, removed, side=Side.BASE)
        return AlteredEnd(new, place, on_message=False)
    return None


def _first_removed_line(end: MessageEnd, change: ChangeSet) -> int | None:
    """The first line of the end's function, in the base, that the change removed."""
    removed: list[int] = []
    for file in change.files:
        if file.base_path == end.unit.path:
            removed += [line for line in file.base_lines() if end.function.covers(line)]
    return min(removed, default=None)


def _moves_on_message(end: MessageEnd, messages: Messages) -> Iterator[Move]:
    """The stores into the message, and out of it."""
    for move in messages.moves(end):
        source = move.source.root if move.source is not None else ""
        if end.variable in (move.target.root, source):
            yield move


def _effect(move: Move, end: MessageEnd, messages: Messages) -> tuple[object, ...]:
    """What a store does, whatever its place in the file, what its constants are called and what
    copies it.

    The message's own variable has no name in it, so that a renamed one is no change.
    """

    def normal(expr: E.Expr) -> E.Expr | None:
        match expr:
            case E.Call(func=E.Attr(base=base, name=name)) if name in _COPIES:
                return E.substitute(base, normal)
            case E.Cast(operand=operand):
                return E.substitute(operand, normal)
            case E.Name(id=name) if name.isupper():
                number = messages.structs.number(expr, end.unit, end.function)
                return None if number is None else E.Const(number)
            case _:
                return None

    def without_variable(expr: E.Expr) -> E.Expr | None:
        return E.Name("") if expr == E.Name(end.variable) else normal(expr)

    def normalised(expr: E.Expr | None) -> E.Expr | None:
        return None if expr is None else E.substitute(expr, normal)

    target = move.target
    root = "" if target.root == end.variable else target.root
    indices = tuple(normalised(index) for index in target.indices)
    value = E.substitute(move.value, without_variable)
    guards = tuple(normalised(guard) for guard in move.guarded.guards)
    loops = []
    for loop in move.guarded.loops:
        loops.append((loop.target, normalised(loop.start), normalised(loop.stop)))
    return root, (target.path, indices, target.element), value, guards, tuple(loops)


def _first_touched_line(end: MessageEnd, change: ChangeSet) -> int | None:
    """The first statement of the end's function on a line of the change, log lines left out."""
    for guarded in guarded_statements(end.function.body):
        stmt = guarded.stmt
        # Of a branch only its condition counts: what is in it comes by itself.
        last = stmt.line if isinstance(stmt, If) else stmt.end_line
        if _has_effect(stmt) and change.touches(end.unit.path, stmt.line, last):
            return stmt.line
    return None


def _has_effect(stmt: Stmt) -> bool:
    if isinstance(stmt, ExprStmt):
        call = stmt.value
        return isinstance(call, E.Call) and _LOG_CALL.search(E.callee(call)) is None
    return isinstance(stmt, Assign | If | Return | Assert)
