"""What changed functions call now and did not, and what they called and do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.summary.pairs import paired

# A name with the list of what it is called with, and that of a template before it.
_CALL = re.compile(r"\b(\w++)(?=\s*+(?:<[^;(){}]*>+)?\s*\()")


@dataclass(frozen=True, slots=True)
class Calls:
    """What a function calls now and did not, and what it called and does not."""

    function: Function
    gained: tuple[str, ...]
    lost: tuple[str, ...]


def calls(change: ChangeSet, config: Config) -> Iterator[Calls]:
    """Changed functions whose set of called names changed. What a helper in its file now calls for it is not lost."""
    for delta in paired(change, config):
        if delta.base is None:
            continue
        before, now = _callees(delta.base), _callees(delta.head)
        gained = tuple(n for n in now if n not in before)
        handed = {n for f in delta.unit.functions if f.name in gained for n in _callees(f)}
        lost = tuple(n for n in before if n not in now and n not in handed)
        if gained or lost:
            yield Calls(delta.head, gained, lost)


def first_calls(change: ChangeSet, config: Config) -> Iterator[Calls]:
    """What new functions call and no function of their file did: where they are for a hardware, none for that one."""
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        base = change.unit(file.base_path, Side.BASE) if file and file.base_path else None
        if delta.base is None and base is not None:
            kind = hardware(delta.head, config)
            functions = (f for f in base.functions if not kind or hardware(f, config) == kind)
            before = {n for f in functions for n in _written(base, f)}
            own = {f.name for f in delta.unit.functions}
            gained = tuple(n for n in _by_name(delta.head) if n not in before and n not in own)
            if gained:
                yield Calls(delta.head, gained, ())


def _by_name(function: Function) -> tuple[str, ...]:
    """What it calls by its plain name, or as its own method: not `np.empty`, which the product may define as well."""
    calls = (
        c
        for c, _ in calls_of(function.body)
        if E.dotted(c.func) in (E.callee(c), f"self.{E.callee(c)}")
    )
    return tuple(dict.fromkeys(E.callee(c) for c in calls))


def _callees(function: Function) -> tuple[str, ...]:
    """The names that it calls; C++'s `new` and `delete` are operators."""
    named = (E.callee(c) for c, _ in calls_of(function.body))
    return tuple(dict.fromkeys(n for n in named if n and n not in ("new", "delete")))


def newly_called(change: ChangeSet, config: Config) -> tuple[tuple[str, Function], ...]:
    """(name, caller) of everything that a changed or new function calls, and that no function of its file and its
    hardware called before."""
    before: dict[tuple[str, str], set[str]] = {}
    found: dict[tuple[str, str], Function] = {}
    for delta in paired(change, config):
        path, kind = delta.head.path, hardware(delta.head, config)
        if (path, kind) not in before:
            file = change.changed(path)
            base = change.unit(file.base_path, Side.BASE) if file and file.base_path else None
            before[path, kind] = _called_in(base, kind, config) if base else set()
        for name in _callees(delta.head):
            if name not in before[path, kind]:
                found.setdefault((name, kind), delta.head)
    return tuple((name, caller) for (name, _), caller in found.items())


def _called_in(unit: SourceFile, kind: str, config: Config) -> set[str]:
    """The names that the functions for a hardware call."""
    return {
        name for f in unit.functions if hardware(f, config) == kind for name in _written(unit, f)
    }


def _written(unit: SourceFile, function: Function) -> list[str]:
    """The names that a function calls, by its text: it need not be read for that."""
    start, end = function.start_line, function.end_line
    return unit.memo((_CALL, start, end), lambda: _CALL.findall(unit.text(start, end)))


def hardware(function: Function, config: Config) -> str:
    """The hardware that a function is for: by its file, else by its name (`forward_xpu`)."""
    words = function.name.split("_")
    return config.hardware_of(function.path) or next(
        (h.name for h in config.hardware if h.name in words), ""
    )
