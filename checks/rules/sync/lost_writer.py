"""A key lost its writer: nothing sets it any more, or one branch only, and it is still read.

## What it does

Finds keys of dicts that the change stopped setting. Where nothing in the tree sets such a key any
more and code still takes it out, that is an error. Where a function no longer sets it itself, and a
call on one of its branches fills it, while it is read after both branches, that is a question.
Where a function puts the same value under another key, which nothing else names, while the old one
is still taken from what goes by the same name, that is said too.

## Why it matters

Since PaddlePaddle/FastDeploy@4d71cd2f5 a function of the sampler returns a buffer on both of its
branches that only the op of one branch fills: on the other it stays zero.

## Example

```python
def sample(state):
    if state["greedy"]:
        compute_starts(state["starts"])    # the other branch set state["starts"] before the change
    return state["starts"]
```

## Known limits

Keys are names in the text: one that is computed (`share_inputs[name]`) is not seen, neither where
it is set nor where it is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, DerivationStep, Finding, Location, Message, Severity
from checks.domain.keys import (
    KeyUse,
    asks_platform,
    changed_python_files,
    is_key_tested,
    key_uses,
    may_assign,
    product_files,
)
from checks.domain.source_search import (
    changed_python_functions,
    code_line,
    functions_matching,
    product_lines,
    units_at,
    whole_word,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import ExprStmt, GuardedStmt, guarded_statements
from checks.rules.sync._renamed_keys import RenamedKey, renamed_keys

ID = "sync.lost-writer"

_ALLOCATORS = frozenset({"full", "zeros", "ones", "empty"})
_COPIERS = frozenset({"full_like", "zeros_like", "ones_like", "empty_like", "clone"})


@dataclass(frozen=True, slots=True)
class KeyRead:
    """A use that needs a key, and where it stands."""

    use: KeyUse
    function: Function
    unit: SourceFile


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Keys that nothing sets any more, keys that only one branch fills, keys that were renamed."""
    unwritten = list(_keys_without_writer(change, config))
    yield from unwritten
    yield from _keys_filled_on_one_branch(change, config)
    told = {finding.message.args["key"] for finding in unwritten}
    for renamed in renamed_keys(change, config):
        if renamed.old not in told:
            yield _renamed_finding(renamed)


def _renamed_finding(renamed: RenamedKey) -> Finding:
    return Finding.at(
        ID,
        Location(renamed.unit.path, renamed.line),
        "renamed",
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        symbol=renamed.function.qualname,
        subject=f"{renamed.holder} {renamed.old} {renamed.new}",
        key=renamed.old,
        new=renamed.new,
        holder=renamed.holder,
        at=renamed.read,
    )


def _keys_without_writer(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each key that lost its last writer and is still read."""
    for key, holders in sorted(_keys_no_longer_set(change, config).items()):
        lines = product_lines(key, change, config)
        if any(may_assign(key, line.text) for line in lines):
            continue
        paths = sorted({line.path for line in lines})
        reads = list(_reads(key, holders, paths, change))
        if reads:
            yield _unwritten_finding(key, reads)


def _keys_no_longer_set(change: ChangeSet, config: Config) -> dict[str, set[str]]:
    """The keys that changed files set on removed lines and set nowhere now, with their holders."""
    removed_lines = _removed_lines(change)
    keys: dict[str, set[str]] = {}
    for old_unit, unit in changed_python_files(change, config):
        if old_unit is None:
            continue
        text = "\n".join(unit.lines)
        for use in _sets_on_lines(removed_lines.get(old_unit.path, set()), old_unit):
            # An attribute of `self` that is gone is `sync.removed-field`'s.
            if use.holder != "self" and not may_assign(use.key, text):
                keys.setdefault(use.key, set()).add(use.holder)
    return keys


def _removed_lines(change: ChangeSet) -> dict[str, set[int]]:
    """The lines of each file of the base that the change removed.

    A file may have been copied to several.
    """
    lines: dict[str, set[int]] = {}
    for file in change.files:
        if file.base_path is not None:
            lines.setdefault(file.base_path, set()).update(file.base_lines())
    return lines


def _sets_on_lines(lines: set[int], unit: SourceFile) -> Iterator[KeyUse]:
    for function in unit.functions_on(lines):
        for use in key_uses(function):
            if use.sets and use.line in lines:
                yield use


def _reads(key: str, holders: set[str], paths: list[str], change: ChangeSet) -> Iterator[KeyRead]:
    for unit in units_at(paths, change):
        for function in functions_matching(whole_word(key), unit):
            for use in key_uses(function):
                if use.key != key or use.holder not in holders or is_key_tested(use):
                    continue
                # A function inside another one is listed too: count its lines once.
                if unit.function_at(use.line) is function:
                    yield KeyRead(use, function, unit)


def _unwritten_finding(key: str, reads: list[KeyRead]) -> Finding:
    first = reads[0]
    holder = first.use.holder
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(first.unit.path, first.use.line),
        message=Message("removed", {"key": key, "holder": holder, "more": len(reads) - 1}),
        symbol=first.function.qualname,
        subject=f"{holder} {key}",
        evidence=tuple(_step(read.use.line, read.unit, "read-here") for read in reads),
    )


def _keys_filled_on_one_branch(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each key that only a call on one branch of a function fills now."""
    for base, head, unit in changed_python_functions(change, config):
        if base is None:
            continue
        set_before = {use.key for use in key_uses(base) if use.sets and use.holder != "self"}
        set_now = {use.key for use in key_uses(head) if use.sets}
        for key in sorted(set_before - set_now):
            branch_call = _filling_call(key, head, change)
            if branch_call is not None and _is_allocated_everywhere(key, change, config):
                call, read = branch_call
                yield _one_branch_finding(key, call, read, head, unit)


def _filling_call(
    key: str, function: Function, change: ChangeSet
) -> tuple[GuardedStmt, KeyUse] | None:
    """(a call on a branch that gets the key, a changed read of the key after that branch)."""
    calls = [g for g in guarded_statements(function.body) if g.guards and _passes_key(g, key)]
    for read in key_uses(function):
        call = _first_call_on_branch(calls, read)
        if read.key != key or call is None:
            continue
        if asks_platform(call.guards) or is_key_tested(read):
            continue
        runs_after_branch = call.guards[: len(read.guards)] == read.guards
        if runs_after_branch and change.touches(function.path, read.line, read.line):
            return call, read
    return None


def _first_call_on_branch(calls: list[GuardedStmt], read: KeyUse) -> GuardedStmt | None:
    """The first call above the read that runs under more conditions."""
    for call in calls:
        if call.stmt.line < read.line and len(call.guards) > len(read.guards):
            return call
    return None


def _passes_key(guarded: GuardedStmt, key: str) -> bool:
    """Whether the statement is a call that gets `x[key]` by position, so that it may write it."""
    match guarded.stmt:
        case ExprStmt(value=E.Call(args=args)):
            return any(isinstance(a, E.Index) and a.indices == (E.Const(key),) for a in args)
        case _:
            return False


def _is_allocated_everywhere(key: str, change: ChangeSet, config: Config) -> bool:
    """Whether all that the product sets the key to, anywhere, is a new array."""
    values: list[E.Expr | None] = []
    for unit in units_at(product_files(key, change, config), change):
        for function in functions_matching(whole_word(key), unit):
            values += [use.value for use in key_uses(function) if use.sets and use.key == key]
    return bool(values) and all(_is_new_array(value) for value in values)


def _one_branch_finding(
    key: str, call: GuardedStmt, read: KeyUse, function: Function, unit: SourceFile
) -> Finding:
    call_place = Location(unit.path, call.stmt.line)
    args = {"key": key, "call": call_place, "function": function.qualname}
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(unit.path, read.line),
        message=Message("one-branch", args),
        symbol=function.qualname,
        subject=key,
        evidence=(
            _step(call.stmt.line, unit, "filled-here"),
            _step(read.line, unit, "read-here"),
        ),
    )


def _step(line: int, unit: SourceFile, message_key: str) -> DerivationStep:
    return DerivationStep(Location(unit.path, line), code_line(unit, line), Message(message_key))


def _is_new_array(value: E.Expr | None) -> bool:
    """Whether `value` is a call like `zeros([n])`, `full_like(x, 0)` or `x.clone()`."""
    return isinstance(value, E.Call) and E.callee(value) in _ALLOCATORS | _COPIERS
