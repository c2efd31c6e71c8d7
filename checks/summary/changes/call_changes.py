"""What changed functions call now and did not call before, and the other way round."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.host_waits import WAITS_AND_REMEDIES
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.summary.changes.pairs import altered_functions, new_functions, paired_functions
from checks.summary.changes.sides import base_of

# A name before an opening parenthesis, with or without a list of template arguments between them.
_CALL = re.compile(r"\b(\w++)(?=\s*+(?:<[^;(){}]*>+)?\s*\()")
_CPP_OPERATORS = ("new", "delete")
_LIBRARIES = sys.stdlib_module_names | {"numpy", "paddle", "torch"}


@dataclass(frozen=True, slots=True)
class CallChange:
    """The names that a function calls now and did not, and those that it called and does not."""

    function: Function
    gained: tuple[str, ...]
    lost: tuple[str, ...]


def find_call_changes(change: ChangeSet, config: Config) -> Iterator[CallChange]:
    """Changed functions whose set of called names changed.

    A call that moved into a helper of the same file, which the function calls now, is not lost.
    """
    for delta, base, base_unit in altered_functions(change, config):
        before, now = _callees(base, base_unit), _callees(delta.head, delta.unit)
        gained = tuple(name for name in now if name not in before)
        called_by_helpers: set[str] = set()
        for helper in delta.unit.functions:
            if helper.name in gained:
                called_by_helpers.update(_callees(helper, delta.unit))
        lost = tuple(n for n in before if n not in now and n not in called_by_helpers)
        if gained or lost:
            yield CallChange(delta.head, gained, lost)


def find_first_calls(change: ChangeSet, config: Config) -> Iterator[CallChange]:
    """What new functions call that no function of their file called before.

    A function for one hardware is compared with the functions for that hardware alone.
    """
    for delta in new_functions(change, config):
        base_file = base_of(delta.head.path, change)
        if base_file is None:
            continue
        kind = hardware(delta.head, config)
        if kind:
            known = _called_before(base_file, kind, config)
        else:
            known = {name for f in base_file.functions for name in _called_in_text(base_file, f)}
        known.update(function.name for function in delta.unit.functions)
        gained = tuple(name for name in _plainly_called(delta.head) if name not in known)
        if gained:
            yield CallChange(delta.head, gained, ())


def find_newly_called(change: ChangeSet, config: Config) -> list[tuple[str, Function]]:
    """(name, caller) of everything that a changed or new function is the first to call.

    First means: no function of its file and its hardware called it before.
    """
    called_before: dict[tuple[str, str], set[str]] = {}
    callers: dict[tuple[str, str], Function] = {}
    for delta in paired_functions(change, config):
        path, kind = delta.head.path, hardware(delta.head, config)
        if (path, kind) not in called_before:
            base_file = base_of(path, change)
            known = _called_before(base_file, kind, config) if base_file else set()
            called_before[path, kind] = known
        for name in _callees(delta.head, delta.unit):
            if name not in called_before[path, kind]:
                callers.setdefault((name, kind), delta.head)
    return [(name, caller) for (name, _), caller in callers.items()]


def hardware(function: Function, config: Config) -> str:
    """The hardware that a function is for: by its file, else by its name (`forward_xpu`)."""
    by_file = config.hardware_of(function.path)
    if by_file:
        return by_file
    words = function.name.split("_")
    for known in config.hardware:
        if known.name in words:
            return known.name
    return ""


def _plainly_called(function: Function) -> list[str]:
    """What it calls by a plain name or as its own method.

    Not `np.empty`: the product may define an `empty` as well, which is another function.
    """
    names: dict[str, None] = {}
    for call, _ in calls_of(function.body):
        name = E.callee(call)
        if E.dotted(call.func) in (name, f"self.{name}"):
            names[name] = None
    return list(names)


def _callees(function: Function, unit: SourceFile) -> list[str]:
    """The names that it calls, but for what is a library's (`np.empty`), which the product may
    define as well; C++'s `new` and `delete` are no calls."""
    libraries = _names_of_libraries(unit)
    names: dict[str, None] = {}
    for call, _ in calls_of(function.body):
        name = E.callee(call)
        if not name or name in _CPP_OPERATORS:
            continue
        root, _, rest = (E.dotted(call.func) or "").partition(".")
        is_of_library = root in libraries and not rest.startswith("ops.")
        if not is_of_library or name in WAITS_AND_REMEDIES:
            names[name] = None
    return list(names)


def _names_of_libraries(unit: SourceFile) -> set[str]:
    """What a Python file calls the modules of which it is known that they are no product's."""
    names = set()
    for item in unit.imports:
        package = item.module.partition(".")[0]
        if package in _LIBRARIES:
            names.add(item.alias or item.name or package)
    return names


def _called_before(base_file: SourceFile, kind: str, config: Config) -> set[str]:
    """The names that the functions for one hardware called."""
    names: set[str] = set()
    for function in base_file.functions:
        if hardware(function, config) == kind:
            names.update(_called_in_text(base_file, function))
    return names


def _called_in_text(unit: SourceFile, function: Function) -> list[str]:
    """The names that a function calls, by its text.

    Lowering every function of every base file, only for the names of its calls, would take longer
    than the rest of the analysis.
    """
    return _CALL.findall(unit.text_of(function))
