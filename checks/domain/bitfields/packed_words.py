"""The packed words of a message, from the sender's expression to every place that reads one.

A word is followed through the message struct into the C++ receiver, from there through the op's
argument into the Python buffer, and to the functions of the class that owns the buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.words import may_contain
from checks.domain.bitfields.packing import PackExpr, pack_expressions
from checks.domain.bitfields.python_words import (
    WordReader,
    attribute_aliases,
    attribute_facts,
    python_readers,
)
from checks.domain.bitfields.reading import field_reads
from checks.domain.conditions import are_compatible
from checks.domain.cpp_places import CppPlace, place
from checks.domain.message_roles import RECEIVE, SEND
from checks.domain.messages import MessageEnd, Messages, op_argument
from checks.domain.ops import OpCall, OpInfo, Ops, calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile

# (member of the struct, index in it).
Slot = tuple[str, int]


@dataclass
class PackedWord:
    """One word of one message: the expressions that its senders pack, and its readers."""

    slot: Slot
    packs: list[tuple[SourceFile, PackExpr]] = field(default_factory=list)
    readers: list[WordReader] = field(default_factory=list)


def packed_words(change: ChangeSet, config: Config) -> tuple[PackedWord, ...]:
    """The packed words of every message that the change touches on one side or the other."""
    return change.memo(packed_words, lambda: tuple(_packed_words(change, config)))


def _packed_words(change: ChangeSet, config: Config) -> Iterator[PackedWord]:
    messages = Messages.of(change, config)
    ops = Ops.of(change)
    seen: set[tuple[str, str]] = set()
    for end in _touched_ends(change, config, messages, ops):
        ends = sorted((end, *messages.peers(end)), key=_source_order)
        key = (ends[0].unit.path, ends[0].function.name)
        if key not in seen:
            seen.add(key)
            yield from _words_of_message(ends, messages, ops)


def _source_order(end: MessageEnd) -> tuple[str, int]:
    return end.unit.path, end.function.start_line


def _touched_ends(
    change: ChangeSet, config: Config, messages: Messages, ops: Ops
) -> Iterator[MessageEnd]:
    """Ends that the change altered, and those behind the ops that feed altered Python code."""
    names: set[str] = set()
    for _, head in change.changed_functions():
        if head is None or config.is_test(head.path):
            continue
        unit = change.unit(head.path)
        if unit is None:
            continue
        if unit.language == "cpp":
            for end in messages.ends_in(unit):
                if end.function.qualname == head.qualname:
                    yield end
        else:
            names |= _feeding_ops(head, unit, change)
    for name in sorted(names):
        for op in ops.named(name):
            for end in messages.ends_in(op.unit):
                if end.role == RECEIVE:
                    yield end


def _feeding_ops(function: Function, unit: SourceFile, change: ChangeSet) -> set[str]:
    """The ops that fill a buffer out of which an altered line of `function` takes a field.

    They are called in the same class, on a branch that the altered line can be on too.
    """
    imported = {i.alias or i.name for i in unit.imports if i.name and ".ops" in i.module}
    text = unit.text_of(function)
    takes_field = may_contain(text, ">>") or may_contain(text, "&")
    if not imported or not takes_field:
        return set()
    reads = _altered_reads(function, unit, change)
    if not reads:
        return set()
    aliases = attribute_aliases(unit, function.owner)
    names: set[str] = set()
    for other in unit.functions:
        if other.owner != function.owner:
            continue
        for call, guards in calls_of(other.body):
            if E.callee(call) not in imported:
                continue
            facts = attribute_facts(guards, aliases)
            for buffer, read_guards in reads:
                is_passed = buffer in {E.dotted(argument) for argument in call.args}
                if is_passed and are_compatible(facts, attribute_facts(read_guards, aliases)):
                    names.add(E.callee(call))
    return names


def _altered_reads(
    function: Function, unit: SourceFile, change: ChangeSet
) -> list[tuple[str | None, tuple[E.Expr, ...]]]:
    """(buffer, conditions) of each altered line that takes a field out of an element."""
    reads = []
    for read in field_reads(function):
        if isinstance(read.word, E.Index) and change.touches(unit.path, read.line, read.line):
            reads.append((E.dotted(read.word.base), read.guarded.guards))
    return reads


def _words_of_message(ends: list[MessageEnd], messages: Messages, ops: Ops) -> Iterator[PackedWord]:
    words: dict[Slot, PackedWord] = {}
    for end in ends:
        if end.role == SEND:
            for slot, pack in _packs(end):
                words.setdefault(slot, PackedWord(slot)).packs.append((end.unit, pack))
    if not words:
        return
    for end in ends:
        if end.role == RECEIVE:
            for slot, reader in _readers(end, words, messages, ops):
                words[slot].readers.append(reader)
    yield from (words[slot] for slot in sorted(words))


def _packs(sender: MessageEnd) -> Iterator[tuple[Slot, PackExpr]]:
    """The packed words that a sender puts into its message."""
    for pack in pack_expressions(sender.function):
        target = place(pack.target) if pack.target is not None else None
        slot = _slot(target, sender.variable)
        if slot is not None:
            yield slot, pack


def _slot(at: CppPlace | None, variable: str) -> Slot | None:
    """The word of `variable` that a place with a constant index is."""
    if at is None or at.root != variable:
        return None
    index = _constant_index(at)
    return (at.member, index) if index is not None else None


def _constant_index(at: CppPlace) -> int | None:
    if isinstance(at.index, E.Const) and isinstance(at.index.value, int):
        return at.index.value
    return None


def _readers(
    receiver: MessageEnd, words: dict[Slot, PackedWord], messages: Messages, ops: Ops
) -> Iterator[tuple[Slot, WordReader]]:
    """The reads of `words` in a receiver, and in the Python code that it hands them to."""
    for read in field_reads(receiver.function):
        slot = _slot(place(read.word), receiver.variable)
        if slot is not None and slot in words:
            yield slot, WordReader(receiver.unit, receiver.function, read.line, read)
    for move in messages.forwards(receiver):
        slot = _slot(move.source, receiver.variable)
        index = _constant_index(move.target)
        if slot is None or slot not in words or index is None:
            continue
        for call, buffer in _filled_buffers(receiver, move.target.root, ops):
            for reader in python_readers(call, buffer, index):
                yield slot, reader


def _filled_buffers(receiver: MessageEnd, param: str, ops: Ops) -> Iterator[tuple[OpCall, str]]:
    """Calls of the receiver's ops, with the dotted name of what they pass for `param`."""
    for name in receiver.ops:
        op = _op_of(receiver, name, ops)
        if op is None:
            continue
        kernel = op.function or receiver.function
        argument = op_argument(param, receiver.function, kernel)
        kernel_params = [p.name for p in kernel.params]
        if argument is None or argument not in kernel_params:
            continue
        position = kernel_params.index(argument)
        if position >= len(op.params):
            continue
        for call in ops.calls(name):
            passed = call.args.get(op.params[position])
            buffer = E.dotted(passed) if passed is not None else None
            if buffer is not None and call.function is not None:
                yield call, buffer


def _op_of(receiver: MessageEnd, name: str, ops: Ops) -> OpInfo | None:
    """The op `name` that is registered beside the receiver, or whose C++ function is known."""
    for op in ops.named(name):
        if op.unit.path == receiver.unit.path or op.function is not None:
            return op
    return None
