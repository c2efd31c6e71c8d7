"""Keys that one hardware allocates and passes on, and never updates, where the others do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Step
from checks.domain.keys import Use, product_files, uses
from checks.domain.ops import OpInfo, Ops, calls_of
from checks.domain.siblings import Names, base_unit
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.rules.sync._key_writers import MAKES

_REFERENCE = ("", "gpu")


def never_updated(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """A key that one hardware's runner allocates since this change. Its code only hands it to calls that leave it as it
    is; an op that updates it is called for other hardware alone."""
    names = Names.of(config)
    for _, head in change.changed_functions():
        if (
            head is None
            or not head.path.endswith(".py")
            or config.hardware_of(head.path) in _REFERENCE
        ):
            continue
        unit = change.unit(head.path)
        for use in uses(head) if unit is not None and not config.is_test(head.path) else ():
            made = (
                use.sets
                and use.holder != "self"
                and isinstance(use.value, E.Call)
                and E.callee(use.value) in MAKES
            )
            if (
                made
                and change.touches(head.path, use.line, use.line)
                and not _known(use.key, head.path, change)
            ):
                found = _idle(use, config.hardware_of(head.path), names, change, config)
                if found is not None and unit is not None:
                    yield _finding(use, *found, head, unit, config, rule)


def _known(key: str, path: str, change: ChangeSet) -> bool:
    """Whether the file had the key before."""
    before = base_unit(path, change)
    return before is not None and any(
        f'"{key}"' in line or f"'{key}'" in line for line in before.lines
    )


def _idle(
    use: Use, hardware: str, names: Names, change: ChangeSet, config: Config
) -> tuple[list[str], str, Location] | None:
    """(calls that get the key here, the op that updates it elsewhere, where that is called)."""
    here: set[str] = set()
    elsewhere: dict[str, Location] = {}
    for path in product_files(use.key, change, config):
        unit = change.unit(path)
        for function in unit.functions if unit is not None else ():
            if unit is None or f'"{use.key}"' not in unit.text(
                function.start_line, function.end_line
            ):
                continue
            side = _side(function, unit, hardware, names, config)
            if side and _updated(use, function):
                return None
            for name, line in _passed_to(use.key, function):
                if side:
                    here.add(name)
                else:
                    elsewhere.setdefault(name, Location(path, line))
    if not here or any(name[:1].isupper() for name in here):
        return None  # what a record holds is updated through the record
    ops = Ops.of(change)
    if any(
        _writes(use.key, o)
        for n in here
        for o in ops.named(n)
        if config.hardware_of(o.unit.path) == hardware
    ):
        return None
    for name, place in sorted(elsewhere.items()):
        if name not in here and any(
            use.key in dict(o.registration.inplace) for o in ops.named(name) if o.registration
        ):
            return sorted(here), name, place
    return None


def _writes(key: str, op: OpInfo) -> bool:
    """Whether the op's function takes the constness off the argument: it writes what it was given."""
    function = op.function
    unit = op.unit if function is not None and op.unit.path == function.path else None
    text = (
        unit.text(function.start_line, function.end_line)
        if unit is not None and function is not None
        else ""
    )
    return re.search(rf"const_cast<[^;]*?>\(\s*{re.escape(op.cpp_name(key))}\b", text) is not None


def _side(
    function: Function, unit: SourceFile, hardware: str, names: Names, config: Config
) -> bool:
    """Whether this hardware runs `function`: by its file, by its name, or as nothing says that another one does."""
    owner = config.hardware_of(unit.path)
    marks = set(function.name.split("_")) & names.hardware
    if owner or marks:
        return hardware in (owner, *marks)
    key = names.plain(function.name)
    twins = [f for f in unit.functions if f.owner == function.owner and f.name != function.name]
    return not any(names.plain(f.name) == key and hardware in f.name.split("_") for f in twins)


def _passed_to(key: str, function: Function) -> Iterator[tuple[str, int]]:
    for call, _ in calls_of(function.body):
        values = (*call.args, *(v for _, v in call.keywords))
        if E.callee(call).endswith("_like"):
            continue  # its shape alone is asked for
        if any(isinstance(v, E.Index) and v.indices == (E.Const(key),) for v in values):
            yield E.callee(call), call.line


def _updated(use: Use, function: Function) -> bool:
    """Whether `function` writes elements of the key, copies into it, or sets it to anything but a fresh array."""
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and isinstance(stmt.target, E.Index):
            if any(e == E.Const(use.key) for e in E.walk(stmt.target.base)):
                return True
            fresh = isinstance(stmt.value, E.Call) and E.callee(stmt.value) in MAKES
            if stmt.target.indices == (E.Const(use.key),) and not fresh:
                return True
    return any(
        E.callee(call).endswith("_")
        and isinstance(call.func, E.Attr)
        and any(e == E.Const(use.key) for e in E.walk(call.func))
        for call, _ in calls_of(function.body)
    )


def _finding(
    use: Use,
    here: list[str],
    op: str,
    place: Location,
    function: Function,
    unit: SourceFile,
    config: Config,
    rule: str,
) -> Finding:
    hardware = config.hardware_of(unit.path)
    args = {"key": use.key, "hardware": hardware, "calls": here, "op": op, "place": place}
    at = Location(unit.path, use.line)
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=at,
        message=Message("never-updated", args),
        symbol=function.qualname,
        subject=use.key,
        evidence=(
            Step(
                at,
                unit.lines[use.line - 1].strip(),
                Message("allocated-here", {"hardware": hardware}),
            ),
            Step(place, op, Message("updated-there", {"op": op})),
        ),
    )
