"""Copies of one message's struct, and of the constants it is made of, that a change left behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.finding import Definition, Location, Side
from checks.domain.messages import Endpoint, Field, Messages
from checks.lang.ir.source_file import Constant, SourceFile
from checks.lang.source import language

_HEADERS = (".h", ".hpp", ".hxx", ".cuh")


@dataclass(frozen=True, slots=True)
class Change:
    """An end of a message before and after the change."""

    old: Endpoint
    new: Endpoint


@dataclass(frozen=True, slots=True)
class Stale:
    """A copy of a message's constant that keeps the value `old` while `changed` became `new`."""

    constant: Constant
    changed: Constant
    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Split:
    """Two copies of one struct that agreed before: `here` is on the changed side, `there` is not, as member `name`."""

    one: Endpoint
    other: Endpoint
    name: str
    here: Definition
    there: Definition


def ends(change: ChangeSet, head: Messages, base: Messages) -> Iterator[Change]:
    """The ends in changed C++ files, and those whose struct stands in a changed header."""
    seen: set[tuple[str, str, str]] = set()
    for file in change.files:
        path = file.head_path if file.head_path and language(file.head_path) == "cpp" else None
        if path is None or not (head.may_speak(path) or path.endswith(_HEADERS)):
            continue
        unit = change.unit(path)
        if unit is None:
            continue
        lines = file.head_lines()
        constants = any(c.line in lines for c in unit.constants)
        inside = [
            s
            for s in unit.structs
            if constants or any(s.start_line <= n <= s.end_line for n in lines)
        ]
        found = [
            *head.of_unit(unit),
            *(e for s in inside[:8] if s.members for e in head.speaking(s.name) if e.struct == s),
        ]
        for new in found:
            key = (new.unit.path, new.function.qualname, new.role)
            old = earlier(new, change, base) if key not in seen else None
            seen.add(key)
            if old is not None:
                yield Change(old, new)


def earlier(end: Endpoint, change: ChangeSet, base: Messages) -> Endpoint | None:
    """The same end in the base tree."""
    file = change.changed(end.unit.path)
    if file is None and change.changed(end.struct.path) is None:
        return end
    path = file.base_path if file is not None else end.unit.path
    unit = change.unit(path, Side.BASE) if path else None
    found = base.of_unit(unit) if unit is not None else ()
    name = end.function.qualname
    return next((e for e in found if (e.function.qualname, e.role) == (name, end.role)), None)


def splits(
    change: ChangeSet, changed: list[Change], head: Messages, base: Messages
) -> Iterator[Split]:
    """Pairs of struct copies that agreed in the base and do not in the head."""
    seen: set[frozenset[tuple[str, int]]] = set()
    for one in changed:
        now, before = (
            head.layout(one.new.struct, one.new.unit),
            base.layout(one.old.struct, one.old.unit),
        )
        if _sizes(now) == _sizes(before):
            continue
        for peer in head.peers(one.new):
            pair = frozenset({_place(one.new), _place(peer)})
            was = earlier(peer, change, base)
            if len(pair) < 2 or pair in seen or was is None:
                continue
            seen.add(pair)
            agreed = _sizes(base.layout(was.struct, was.unit)) == _sizes(before)
            found = (
                _first_difference(one.new, now, peer, head.layout(peer.struct, peer.unit))
                if agreed
                else None
            )
            if found is not None:
                yield found


def _place(end: Endpoint) -> tuple[str, int]:
    return end.struct.path, end.struct.start_line


# Names of one type on the machines that these engines run on.
_SAME_TYPE = {
    "int64_t": "long",
    "long long": "long",
    "int32_t": "int",
    "signed int": "int",
    "uint32_t": "unsigned int",
}


def _sizes(fields: tuple[Field, ...]) -> list[tuple[str, str, tuple[int | None, ...]]]:
    return [(f.name, _type(f), f.dims) for f in fields]


def _type(field: Field) -> str:
    return _SAME_TYPE.get(field.type, field.type)


def _first_difference(
    one: Endpoint, here: tuple[Field, ...], other: Endpoint, there: tuple[Field, ...]
) -> Split | None:
    for mine, yours in zip(here, there, strict=False):
        known = None not in (*mine.dims, *yours.dims)
        if (mine.name, _type(mine)) != (yours.name, _type(yours)) or (
            known and mine.dims != yours.dims
        ):
            return Split(one, other, mine.name, _definition(mine, one), _definition(yours, other))
    if len(here) != len(there):
        more, end = (here, one) if len(here) > len(there) else (there, other)
        extra = _definition(more[min(len(here), len(there))], end)
        end_of = other if end is one else one
        last = Definition(
            end_of.struct.name, Location(end_of.struct.path, end_of.struct.start_line), ""
        )
        return Split(
            one, other, extra.name, extra if end is one else last, last if end is one else extra
        )
    return None


def _definition(field: Field, end: Endpoint) -> Definition:
    path = end.struct.path
    value = field.type + "".join(f"[{d}]" for d in field.dims)
    inner = "." in field.name
    place = Location(path, end.struct.start_line if inner else field.line)
    return Definition(f"{end.struct.name}.{field.name}", place, value)


def stale_copies(
    change: ChangeSet,
    behind: list[tuple[Location, Endpoint]],
    changed: list[Change],
    head: Messages,
    base: Messages,
) -> Iterator[Stale]:
    """Other C++ copies of a message that keep the old value of a constant which the change altered: of those at
    `behind`, each with the end of the message it counts for, and of those that a changed end's struct is made of."""
    wanted = [*behind, *((at, c.new) for c in changed for at in _constants_of(c.new, change, head))]
    seen: set[tuple[str, int]] = set()
    ends_of: dict[Location, Endpoint] = {}
    for at, end in wanted:
        ends_of.setdefault(at, end)
    for at, end in ends_of.items():
        told = (
            _altered(at, change, head, base)
            if change.touches(at.path, at.start_line, at.end_line)
            else None
        )
        old_end = earlier(end, change, base)
        if told is None or old_end is None:
            continue
        constant, old, new = told
        like, hardware = (
            base.layout(old_end.struct, old_end.unit),
            head.config.hardware_of(end.unit.path),
        )
        for copy in _left_behind(constant.name, old, like, hardware, head):
            place = (copy.path, copy.line)
            if place not in seen and copy.path not in (at.path, end.struct.path):
                seen.add(place)
                yield Stale(copy, constant, old, new)


def _altered(
    at: Location, change: ChangeSet, head: Messages, base: Messages
) -> tuple[Constant, int, int] | None:
    """The constant at a changed line with its old and its new value, None where those are not two numbers."""
    file, unit = change.changed(at.path), change.unit(at.path)
    old_unit = (
        change.unit(file.base_path, Side.BASE) if file is not None and file.base_path else None
    )
    now = constant_at(unit, at.start_line) if unit is not None else None
    if now is None or old_unit is None:
        return None
    was = next((c for c in old_unit.constants if c.name == now.name), None)
    before = base.constants.value_of(was) if was is not None else None
    after = head.constants.value_of(now)
    if before is None or after is None or before.value == after.value:
        return None
    whole = isinstance(before.value, int) and isinstance(after.value, int)
    return (now, int(str(before.value)), int(str(after.value))) if whole else None


def _constants_of(end: Endpoint, change: ChangeSet, head: Messages) -> Iterator[Location]:
    """The definitions that the sizes of an end's struct rest on."""
    home = change.unit(end.struct.path) or end.unit
    for member in end.struct.members:
        for dim in member.dims:
            value = head.constants.resolve(dim, home)
            yield from value.locations if value is not None else ()


def constant_at(unit: SourceFile, line: int) -> Constant | None:
    """The constant that is defined on a line."""
    return next((c for c in unit.constants if c.line == line), None)


def _left_behind(
    name: str, value: int, like: tuple[Field, ...], hardware: str, head: Messages
) -> Iterator[Constant]:
    """Definitions of the constant `name` that still are `value`, in C++ files with an end of a message that has the
    layout `like`: copies of the same message, whatever its struct is called there."""
    for constant in head.constants.definitions(name):
        unit = (
            head.change.unit(constant.path, head.side) if language(constant.path) == "cpp" else None
        )
        if unit is None or head.config.hardware_of(constant.path) != hardware:
            continue
        found = head.constants.value_of(constant)
        if found is None or found.value != value:
            continue
        layouts = [_sizes(head.layout(e.struct, unit)) for e in head.of_unit(unit)]
        if any(_plain(sizes) == _plain(_sizes(like)) for sizes in layouts):
            yield constant


def _plain(
    sizes: list[tuple[str, str, tuple[int | None, ...]]],
) -> list[tuple[str, tuple[int | None, ...]]]:
    return [(kind, dims) for _, kind, dims in sizes]
