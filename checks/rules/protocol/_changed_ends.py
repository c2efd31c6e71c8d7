"""The ends of messages that a change may have altered, each with what it was before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange
from checks.core.finding import Side
from checks.domain.messages import MessageEnd, Messages
from checks.domain.struct_layouts import StructField
from checks.lang.ir.source_file import Constant, SourceFile, Struct
from checks.lang.source import language

_HEADERS = (".h", ".hpp", ".hxx", ".cuh")
_MOST_STRUCTS = 8

# Names of one type on the machines that these engines run on.
_SAME_TYPE = {
    "int64_t": "long",
    "long long": "long",
    "int32_t": "int",
    "signed int": "int",
    "uint32_t": "unsigned int",
}

# (name, type, dimensions) of each member of a struct.
Layout = list[tuple[str, str, tuple[int | None, ...]]]


@dataclass(frozen=True, slots=True)
class ChangedEnd:
    """An end of a message before and after the change."""

    old: MessageEnd
    new: MessageEnd


def changed_ends(change: ChangeSet, head: Messages, base: Messages) -> Iterator[ChangedEnd]:
    """The ends in changed C++ files, and those whose struct stands in a changed header."""
    seen: set[tuple[str, str, str]] = set()
    for file in change.files:
        for new in _ends_of_file(file, change, head):
            key = (new.unit.path, new.function.qualname, new.role)
            if key in seen:
                continue
            seen.add(key)
            old = end_before(new, change, base)
            if old is not None:
                yield ChangedEnd(old, new)


def _ends_of_file(file: FileChange, change: ChangeSet, head: Messages) -> Iterator[MessageEnd]:
    path = file.head_path
    if path is None or language(path) != "cpp":
        return
    if not head.may_hold_ends(path) and not path.endswith(_HEADERS):
        return
    unit = change.unit(path)
    if unit is None:
        return
    yield from head.ends_in(unit)
    for struct in _touched_structs(unit, file)[:_MOST_STRUCTS]:
        if not struct.members:
            continue
        for end in head.ends_of_struct(struct.name):
            if end.struct == struct:
                yield end


def _touched_structs(unit: SourceFile, file: FileChange) -> list[Struct]:
    """The structs in which a line changed; all of them where a constant changed, which may be a
    dimension of any."""
    lines = file.head_lines()
    if any(constant.line in lines for constant in unit.constants):
        return list(unit.structs)
    touched = []
    for struct in unit.structs:
        if any(struct.start_line <= line <= struct.end_line for line in lines):
            touched.append(struct)
    return touched


def end_before(end: MessageEnd, change: ChangeSet, base: Messages) -> MessageEnd | None:
    """The same end in the base tree."""
    file = change.changed(end.unit.path)
    if file is None and change.changed(end.struct.path) is None:
        return end
    path = file.base_path if file is not None else end.unit.path
    unit = change.unit(path, Side.BASE) if path else None
    if unit is None:
        return None
    for old in base.ends_in(unit):
        if (old.function.qualname, old.role) == (end.function.qualname, end.role):
            return old
    return None


def layout_of(end: MessageEnd, messages: Messages) -> Layout:
    """The members of the end's struct, with one name for each type."""
    fields = messages.structs.layout(end.struct, end.unit)
    return [(field.name, plain_type(field), field.dims) for field in fields]


def plain_type(field: StructField) -> str:
    """The type of a member, the same for `int64_t` and `long`."""
    return _SAME_TYPE.get(field.type, field.type)


def constant_at(unit: SourceFile, line: int) -> Constant | None:
    """The constant that is defined on a line."""
    for constant in unit.constants:
        if constant.line == line:
            return constant
    return None
