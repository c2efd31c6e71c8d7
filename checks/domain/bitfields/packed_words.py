"""The packed words of a message, from the sender's expression to every place that takes a field out of it.

A word is followed through the message struct into the C++ receiver, from there through the op's argument into the
Python buffer, and to the functions of the class that owns the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.bitfields.expressions import (
    Pack,
    Unpack,
    packs,
    resolve,
    single_assignments,
    unpacks,
)
from checks.domain.cpp_places import Place, place
from checks.domain.messages import RECEIVE, SEND, Endpoint, Messages, op_argument
from checks.domain.ops import OpCall, Ops, calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt, guarded_statements

Slot = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Reader:
    """A place that reads a packed word: with shift and mask, or (`unpack` None) as a whole."""

    unit: SourceFile
    function: Function
    line: int
    unpack: Unpack | None = None
    text: str = ""


@dataclass
class Wire:
    """One word of one message: its senders' packs and its readers."""

    slot: Slot
    packs: list[tuple[SourceFile, Pack]] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)


def wires(change: ChangeSet, config: Config) -> Iterator[Wire]:
    """The packed words of every message that the change touches on one side or the other."""
    messages = Messages.of(change, config)
    ops = Ops.of(change)
    seen: set[tuple[str, str]] = set()
    for end in _touched(change, config, messages, ops):
        group = sorted(
            (end, *messages.peers(end)), key=lambda e: (e.unit.path, e.function.start_line)
        )
        key = (group[0].unit.path, group[0].function.name)
        if key not in seen:
            seen.add(key)
            yield from _of_group(group, messages, ops)


def _touched(change: ChangeSet, config: Config, messages: Messages, ops: Ops) -> Iterator[Endpoint]:
    """Message ends that the change altered, and those behind the ops that an altered Python function calls."""
    names: set[str] = set()
    for _, head in change.changed_functions():
        if head is None or config.is_test(head.path):
            continue
        unit = change.unit(head.path)
        if unit is not None and unit.language == "cpp":
            yield from (e for e in messages.of_unit(unit) if e.function.qualname == head.qualname)
        elif unit is not None:
            names |= _feeding(head, unit, change)
    for name in sorted(names):
        for info in ops.named(name):
            yield from (e for e in messages.of_unit(info.unit) if e.role == RECEIVE)


def _feeding(function: Function, unit: SourceFile, change: ChangeSet) -> set[str]:
    """Ops called in this file, on the same branch, with a buffer out of which an altered line takes a field."""
    imported = {i.alias or i.name for i in unit.imports if i.name and ".ops" in i.module}
    text = unit.text(function.start_line, function.end_line)
    if not imported or not (">>" in text or "&" in text):  # what a field is taken out by
        return set()
    altered = [u for u in unpacks(function) if change.touches(unit.path, u.line, u.line)]
    read = [
        (E.dotted(u.word.base), u.guarded.guards) for u in altered if isinstance(u.word, E.Index)
    ]
    if not read:
        return set()
    aliases = _attribute_aliases(unit, function.owner)
    names: set[str] = set()
    for other in unit.functions:
        for call, guards in calls_of(other.body):
            if E.callee(call) in imported and other.owner == function.owner:
                passed = {E.dotted(a) for a in call.args}
                facts = _facts(guards, aliases)
                if any(b in passed and _agree(facts, _facts(g, aliases)) for b, g in read):
                    names.add(E.callee(call))
    return names


def _of_group(group: list[Endpoint], messages: Messages, ops: Ops) -> Iterator[Wire]:
    made: dict[Slot, Wire] = {}
    for end in group:
        if end.role == SEND:
            for pack in packs(end.function):
                slot = _slot(place(pack.target) if pack.target is not None else None, end.variable)
                if slot is not None:
                    made.setdefault(slot, Wire(slot)).packs.append((end.unit, pack))
    for end in group if made else ():
        if end.role == RECEIVE:
            _read(end, made, messages, ops)
    yield from (w for _, w in sorted(made.items()))


def _slot(at: Place | None, variable: str) -> Slot | None:
    if (
        at is None
        or at.root != variable
        or not isinstance(at.index, E.Const)
        or not isinstance(at.index.value, int)
    ):
        return None
    return at.member, at.index.value


def _read(end: Endpoint, made: dict[Slot, Wire], messages: Messages, ops: Ops) -> None:
    """Add the readers behind one receiver: its own unpacks, and those of the Python code it hands the word to."""
    for unpack in unpacks(end.function):
        slot = _slot(place(unpack.word), end.variable)
        if slot in made:
            made[slot].readers.append(Reader(end.unit, end.function, unpack.line, unpack))
    for move in messages.forwards(end):
        slot = _slot(move.source, end.variable)
        index = move.target.index
        if slot not in made or not isinstance(index, E.Const) or not isinstance(index.value, int):
            continue
        for call, buffer in _buffers(end, move.target.root, ops):
            made[slot].readers += _python(call, buffer, index.value)


def _buffers(end: Endpoint, param: str, ops: Ops) -> Iterator[tuple[OpCall, str]]:
    """Calls of the receiver's op, with the dotted name of what they pass for `param`."""
    for name in end.ops:
        infos = [
            i for i in ops.named(name) if i.unit.path == end.unit.path or i.function is not None
        ]
        for info in infos[:1]:
            kernel = info.function or end.function
            argument = op_argument(param, end.function, kernel)
            index = next((n for n, p in enumerate(kernel.params) if p.name == argument), None)
            if index is None or index >= len(info.params):
                continue
            for call in ops.calls(name):
                passed = call.args.get(info.params[index])
                buffer = E.dotted(passed) if passed is not None else None
                if buffer is not None and call.function is not None:
                    yield call, buffer


def _python(call: OpCall, buffer: str, index: int) -> Iterator[Reader]:
    """Reads of `buffer[index]` in the class (or file) that makes the call, on branches that agree with the call's."""
    assert call.function is not None
    aliases = _attribute_aliases(call.unit, call.function.owner)
    wanted = _facts(call.guards, aliases)
    attribute = buffer.rsplit(".", 1)[-1]
    for function in call.unit.functions:
        if function.owner != call.function.owner or attribute not in call.unit.text(
            function.start_line, function.end_line
        ):
            continue
        found = list(_reads(function, call.unit, buffer, index))
        yield from (r for r, guards in found if _agree(wanted, _facts(guards, aliases)))


def _reads(
    function: Function, unit: SourceFile, buffer: str, index: int
) -> Iterator[tuple[Reader, tuple[E.Expr, ...]]]:
    flat = list(guarded_statements(function.body))
    local = single_assignments(flat)
    taken: set[str] = set()
    for unpack in unpacks(function):
        if _is_word(unpack.word, buffer, index, local):
            taken.update(E.names(unpack.expr))
            yield Reader(unit, function, unpack.line, unpack), unpack.guarded.guards
    for guarded in flat:
        yield from _whole(guarded, unit, function, buffer, index, local, taken)


def _whole(
    guarded: GuardedStmt,
    unit: SourceFile,
    function: Function,
    buffer: str,
    index: int,
    local: dict[str, E.Expr],
    taken: set[str],
) -> Iterator[tuple[Reader, tuple[E.Expr, ...]]]:
    """`x = int(buffer[index])`, where nothing takes a field out of `x`."""
    stmt = guarded.stmt
    if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name) or stmt.value is None:
        return
    if stmt.target.id not in taken and _is_word(resolve(stmt.value, {}), buffer, index, local):
        yield Reader(unit, function, stmt.line, None, stmt.target.id), guarded.guards


def _is_word(expr: E.Expr, buffer: str, index: int, local: dict[str, E.Expr]) -> bool:
    """Whether `expr` is `buffer[index]` or `buffer[index, 0]`, also through a local that holds the buffer."""
    if (
        not isinstance(expr, E.Index)
        or not isinstance(expr.indices[0], E.Const)
        or expr.indices[0].value != index
    ):
        return False
    if any(not isinstance(i, E.Const) for i in expr.indices):
        return False
    return E.dotted(resolve(expr.base, local)) == buffer


def _attribute_aliases(unit: SourceFile, owner: str) -> dict[str, E.Expr]:
    """`self.x` -> what the class's `__init__` sets it to, where that is another attribute."""
    init = next((f for f in unit.functions if f.owner == owner and f.name == "__init__"), None)
    found: dict[str, E.Expr] = {}
    for guarded in guarded_statements(init.body) if init is not None else ():
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and stmt.value is not None:
            name, value = E.dotted(stmt.target), stmt.value
            if (
                isinstance(value, E.Binary)
                and value.op == "is-not"
                and value.right == E.Const(None)
            ):
                value = value.left
            if name and E.dotted(value):
                found[name] = value
    return found


def _facts(guards: tuple[E.Expr, ...], aliases: dict[str, E.Expr]) -> dict[str, bool]:
    """What the conditions say of single attributes: dotted name -> whether it is true."""
    facts: dict[str, bool] = {}
    for guard in guards:
        for name, value in _atoms(guard, True):
            target = aliases.get(name)
            facts[(E.dotted(target) if target is not None else None) or name] = value
    return facts


def _atoms(e: E.Expr, value: bool) -> Iterator[tuple[str, bool]]:
    match e:
        case E.Unary(op="not", operand=operand):
            yield from _atoms(operand, not value)
        case E.Binary(op="and", left=left, right=right) if value:
            yield from _atoms(left, True)
            yield from _atoms(right, True)
        case E.Binary(op="or", left=left, right=right) if not value:
            yield from _atoms(left, False)
            yield from _atoms(right, False)
        case _:
            name = E.dotted(e)
            if name is not None:
                yield name, value


def _agree(one: dict[str, bool], other: dict[str, bool]) -> bool:
    """Whether both sets of facts can hold at once."""
    return all(other.get(name, value) == value for name, value in one.items())
