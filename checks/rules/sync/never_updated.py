"""One hardware allocates a key and passes it on, but never updates it as other hardware does.

## What it does

Finds keys that the runner of one hardware allocates since this change (`share_inputs["k"] =
zeros(...)`). Where that hardware's code only hands the key to calls that leave it as it is, while
an op that updates the key in place is called for other hardware alone, this is a question.

## Why it matters

PaddlePaddle/FastDeploy@29495b2cf allocated `reasoning_status` on XPU and handed it to the op that
verifies tokens, which then read the initial values; 5b1ce75d5 added the update.

## Example

```python
self.share_inputs["status"] = zeros([n])       # metal, new
verify(self.share_inputs["status"])            # reads it

update_status(share_inputs["status"])          # GPU only: writes it in place
```

## Known limits

That an op writes an array is known from its in-place map, or from a `const_cast` in its function.
What an object made with the key does to it is not followed. What the runner allocates under a
condition that its class asserts never to hold is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, DerivationStep, Finding, Location, Message, Severity
from checks.domain.keys import KeyUse, key_uses, product_files
from checks.domain.ops import OpInfo, Ops, calls_of
from checks.domain.siblings import HardwareNames, base_unit
from checks.domain.source_search import (
    changed_python_functions,
    code_line,
    functions_matching,
    units_at,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assert, Assign, Stmt, guarded_statements
from checks.rules.sync._arrays import is_new_array

ID = "sync.never-updated"

# The GPU, and files of no hardware, are what the others are compared with.
_REFERENCE_HARDWARE = ("", "gpu")


@dataclass(frozen=True, slots=True)
class KeyCalls:
    """The calls that get a key.

    `own` where the hardware itself runs, `foreign` elsewhere, with a place.
    """

    own: set[str]
    foreign: dict[str, Location]


@dataclass(frozen=True, slots=True)
class ForeignUpdate:
    """The calls that get a key on its own hardware, and the op that updates it elsewhere alone."""

    own_calls: list[str]
    op: str
    place: Location


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each key that is newly allocated and only updated on other hardware."""
    names = HardwareNames.of(config)
    for _, head, unit in changed_python_functions(change, config):
        hardware = config.hardware_of(head.path)
        if hardware in _REFERENCE_HARDWARE:
            continue
        for use in key_uses(head):
            if not _is_new_allocation(use, head.path, change) or _is_refused(use, head, unit):
                continue
            update = _update_elsewhere(use.key, hardware, names, change, config)
            if update is not None:
                yield _finding(use, update, head, unit, hardware)


def _is_new_allocation(use: KeyUse, path: str, change: ChangeSet) -> bool:
    """Whether the change put a new key into a dict, as a new array."""
    if not use.sets or use.holder == "self" or not is_new_array(use.value):
        return False
    if not change.touches(path, use.line, use.line):
        return False
    before = base_unit(path, change)
    return before is None or not _in_quotes(use.key).search("\n".join(before.lines))


def _is_refused(use: KeyUse, function: Function, unit: SourceFile) -> bool:
    """Whether the class asserts that the condition of the allocation never holds."""
    for method in unit.methods_of(function.owner):
        for guarded in guarded_statements(method.body):
            match guarded.stmt:
                case Assert(test=E.Unary(op="not", operand=refused)) if refused in use.guards:
                    return True
                case _:
                    pass
    return False


def _in_quotes(key: str) -> re.Pattern[str]:
    return re.compile(rf"""(["']){re.escape(key)}\1""")


def _update_elsewhere(
    key: str, hardware: str, names: HardwareNames, change: ChangeSet, config: Config
) -> ForeignUpdate | None:
    """The op that updates the key elsewhere; None where this hardware's own code may update it."""
    calls = _calls_with_key(key, hardware, names, change, config)
    if calls is None or not calls.own:
        return None
    # What a class holds is updated through its objects.
    if any(name[:1].isupper() for name in calls.own):
        return None
    ops = Ops.of(change)
    if any(_writes_on(hardware, key, op, config) for name in calls.own for op in ops.named(name)):
        return None
    for name, place in sorted(calls.foreign.items()):
        if name in calls.own:
            continue
        if any(_updates_in_place(key, op) for op in ops.named(name)):
            return ForeignUpdate(sorted(calls.own), name, place)
    return None


def _calls_with_key(
    key: str, hardware: str, names: HardwareNames, change: ChangeSet, config: Config
) -> KeyCalls | None:
    """The calls of the product that get the key.

    None where code of the hardware itself updates it.
    """
    calls = KeyCalls(set(), {})
    in_quotes = re.compile(f'"{re.escape(key)}"')
    for unit in units_at(product_files(key, change, config), change):
        for function in functions_matching(in_quotes, unit):
            is_own = _runs_on(hardware, function, unit, names, config)
            is_own = is_own or _is_called_on(hardware, function, change, config)
            if is_own and _updates(key, function):
                return None
            for name, line in _calls_passing(key, function):
                if is_own:
                    calls.own.add(name)
                else:
                    calls.foreign.setdefault(name, Location(unit.path, line))
    return calls


def _writes_on(hardware: str, key: str, op: OpInfo, config: Config) -> bool:
    return config.hardware_of(op.unit.path) == hardware and _casts_constness_away(key, op)


def _updates_in_place(key: str, op: OpInfo) -> bool:
    return op.registration is not None and key in dict(op.registration.inplace)


def _casts_constness_away(key: str, op: OpInfo) -> bool:
    """Whether the op's function makes the argument writable: it writes what it was given."""
    function = op.function
    if function is None or op.unit.path != function.path:
        return False
    argument = re.escape(op.cpp_name(key))
    cast = rf"const_cast<[^;]*?>\(\s*{argument}\b"
    return re.search(cast, op.unit.text_of(function)) is not None


def _runs_on(
    hardware: str, function: Function, unit: SourceFile, names: HardwareNames, config: Config
) -> bool:
    """Whether `hardware` runs the function.

    Its file or name says so, or no copy of it is for that hardware.
    """
    hardware_of_file = config.hardware_of(unit.path)
    hardware_of_name = set(function.name.split("_")) & names.hardware
    if hardware_of_file or hardware_of_name:
        return hardware == hardware_of_file or hardware in hardware_of_name
    plain_name = names.plain(function.name)
    for other in unit.methods_of(function.owner):
        if other.name == function.name:
            continue
        if names.plain(other.name) == plain_name and hardware in other.name.split("_"):
            return False
    return True


def _is_called_on(hardware: str, function: Function, change: ChangeSet, config: Config) -> bool:
    """Whether a file of this hardware calls the function, whatever its name says."""
    if function.owner:
        return False
    for path in product_files(function.name, change, config):
        unit = change.unit(path) if config.hardware_of(path) == hardware else None
        if unit is not None and unit.imports_named.get(function.name):
            return True
    return False


def _calls_passing(key: str, function: Function) -> Iterator[tuple[str, int]]:
    """(name, line) of each call that gets `x[key]`."""
    for call, _ in calls_of(function.body):
        # `zeros_like(x["k"])` asks for its shape alone.
        if E.callee(call).endswith("_like"):
            continue
        values = [*call.args, *[value for _, value in call.keywords]]
        if any(isinstance(v, E.Index) and v.indices == (E.Const(key),) for v in values):
            yield E.callee(call), call.line


def _updates(key: str, function: Function) -> bool:
    """Whether `function` writes into the key, or sets it to more than a new array."""
    if any(_assigns_to_key(key, guarded.stmt) for guarded in guarded_statements(function.body)):
        return True
    for call, _ in calls_of(function.body):
        # A method that works in place ends in `_`: `x["k"].copy_(y)`, `x["k"].zero_()`.
        is_inplace_method = isinstance(call.func, E.Attr) and E.callee(call).endswith("_")
        if is_inplace_method and _holds_key(call.func, key):
            return True
    return False


def _assigns_to_key(key: str, stmt: Stmt) -> bool:
    """`x["k"][i] = value`, or `x["k"] = value` where the value is no new array."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Index):
        return False
    if _holds_key(stmt.target.base, key):
        return True
    return stmt.target.indices == (E.Const(key),) and not is_new_array(stmt.value)


def _holds_key(expr: E.Expr, key: str) -> bool:
    return any(e == E.Const(key) for e in E.walk(expr))


def _finding(
    use: KeyUse, update: ForeignUpdate, function: Function, unit: SourceFile, hardware: str
) -> Finding:
    place = Location(unit.path, use.line)
    args = {
        "key": use.key,
        "hardware": hardware,
        "calls": update.own_calls,
        "op": update.op,
        "place": update.place,
    }
    allocated = Message("allocated-here", {"hardware": hardware})
    updated = Message("updated-there", {"op": update.op})
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=place,
        message=Message("never-updated", args),
        symbol=function.qualname,
        subject=use.key,
        evidence=(
            DerivationStep(place, code_line(unit, use.line), allocated),
            DerivationStep(update.place, update.op, updated),
        ),
    )
