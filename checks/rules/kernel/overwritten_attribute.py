"""A constructor sets an attribute to something, and sets it again before anybody reads it.

## What it does

In `__init__`, on lines of the change: an assignment `self.a = ...` that a later line of the same
constructor overwrites with another value, where no line in between names the attribute.

## Why it matters

PaddlePaddle/FastDeploy#5279 turned log probabilities on in a constructor of which a later line
turns them off again.

## Example

```python
self.logprobs = config.logprobs      # the change
self.device = device
self.logprobs = False                # was there before
```

## Known limits

Values that only say that there is none yet (`None`, `[]`, `Thing()`) may be overwritten. What a
method that is called in between reads is not seen. Two expressions that the change wrote both are
for the pedantic persona: they are mostly copied from elsewhere, and nobody misses the first. So is
an option that no line of the tree passes by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import equal_code, names_in
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.core.words import has_word
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, GuardedStmt, negate

ID = "kernel.overwritten-attribute"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python and changed.head.name == "__init__":
            yield from _overwritten(changed, change)


def _overwritten(changed: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    writes = _attribute_writes(changed)
    for later in changed.head.body:
        if not isinstance(later, Assign):
            continue
        name = _own_attribute(later)
        for guarded, first in writes.get(name, ()):
            # In a loop, the value may be read in the next round.
            if guarded.loops or not _is_overwritten(name, first, later, changed):
                continue
            if _leaves_behind(guarded, later, changed):
                continue
            is_missed = not _is_unused_option(first, changed, change)
            yield _finding(name, first, later, changed, is_missed=is_missed)
            break


def _leaves_behind(first: GuardedStmt, later: Assign, changed: ChangedFunction) -> bool:
    """Whether the branch of the first assignment returns, so that it never comes to the later
    one."""
    for guarded in changed.statements:
        if guarded.stmt is later:
            return any(negate(guard) in first.guards for guard in guarded.guards)
    return False


def _attribute_writes(changed: ChangedFunction) -> dict[str, list[tuple[GuardedStmt, Assign]]]:
    """The assignments of each attribute of `self`, in order."""
    writes: dict[str, list[tuple[GuardedStmt, Assign]]] = {}
    for guarded in changed.statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign):
            name = _own_attribute(stmt)
            if name:
                writes.setdefault(name, []).append((guarded, stmt))
    return writes


def _own_attribute(stmt: Assign) -> str:
    """`a` of `self.a = value`; empty for anything else, such as a declaration without a value."""
    match stmt:
        case Assign(target=E.Attr(base=E.Name(id="self"), name=name), op="=", value=value):
            return name if value is not None else ""
    return ""


def _is_overwritten(name: str, first: Assign, later: Assign, changed: ChangedFunction) -> bool:
    """Whether nobody can have read what `first` sets before `later` replaces it.

    The change wrote one of the two.
    """
    if first.end_line >= later.line:
        return False
    if _is_empty(first.value) or equal_code(first.value, later.value):
        return False
    first_touched = changed.touched(first.line, first.end_line)
    if not first_touched and not changed.touched(later.line, later.end_line):
        return False
    if name in names_in(later.value) or _is_set_again(name, later, changed):
        return False
    return not _is_named_between(name, first, later, changed)


def _is_set_again(name: str, later: Assign, changed: ChangedFunction) -> bool:
    """Whether the constructor sets it once more: then `later` is what holds for the others."""
    writes = _attribute_writes(changed).get(name, [])
    return any(stmt.line > later.end_line for _, stmt in writes)


def _is_empty(value: E.Expr | None) -> bool:
    """A value that only says that there is none yet."""
    match value:
        case None | E.Const() | E.Sequence(items=()) | E.Mapping(items=()):
            return True
        case E.Call(args=(), keywords=()):
            return True
    return False


def _is_named_between(name: str, first: Assign, later: Assign, changed: ChangedFunction) -> bool:
    start, end = first.end_line + 1, later.line - 1
    return start <= end and has_word(changed.unit.text(start, end), name)


def _wrote_both(first: Assign, later: Assign, changed: ChangedFunction) -> bool:
    return all(changed.touched(stmt.line, stmt.end_line) for stmt in (first, later))


def _is_unused_option(first: Assign, changed: ChangedFunction, change: ChangeSet) -> bool:
    """Whether the first value is a parameter with a default that no line passes by its name."""
    name = first.value.id if isinstance(first.value, E.Name) else ""
    if not any(p.name == name and p.default is not None for p in changed.head.params):
        return False
    passed = re.compile(rf"\b{re.escape(name)}=(?!=)")
    own = range(changed.head.start_line, changed.head.end_line + 1)
    for found in change.head.find(name, "python"):
        is_own = found.path == changed.unit.path and found.line in own
        if not is_own and passed.search(found.text):
            return False
    return True


def _finding(
    name: str, first: Assign, later: Assign, changed: ChangedFunction, *, is_missed: bool
) -> Finding:
    # Another expression may build on the first value in a way that is not seen here.
    is_constant = isinstance(later.value, E.Const)
    place = Location(changed.unit.path, first.line, first.end_line)
    value = changed.unit.excerpt(later.line)
    return Finding(
        rule=ID,
        severity=Severity.BUG if is_constant else Severity.QUESTION,
        confidence=Confidence.HIGH if is_constant else Confidence.MEDIUM,
        location=Location(changed.unit.path, later.line, later.end_line),
        message=Message("overridden", {"name": f"self.{name}", "at": place, "value": value}),
        symbol=changed.head.qualname,
        subject=name,
        related=(Related(place, Message("set-before", {})),),
        pedantic=not is_constant and (not is_missed or _wrote_both(first, later, changed)),
    )
