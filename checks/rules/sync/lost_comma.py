"""A list of names became the index of the argument before it, for want of a comma.

## What it does

Finds arguments on lines of the change that are indexed with several names at once: `x["a", "b"]`.
No array and no dict is indexed so; two arguments were meant.

## Why it matters

PaddlePaddle/FastDeploy@12d4b4cb8 lost a comma in a list of arguments, so that a bool was indexed
with two names; c62f6b4ea put it back.

## Example

```python
reorder(
    inputs,
    inputs.enabled[          # a comma is missing before the list
        "lens", "offsets"
    ],
)
```

## Known limits

Lists of one name, and of anything but plain strings, may be an index and are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.ops import calls_of
from checks.domain.source_search import changed_python_functions
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.rules.sync import (
    method_replacement,
    platform_only_import,
    return_arity,
    unchecked_none,
)
from checks.rules.sync._call_rules import ARGUMENT_RULES
from checks.rules.sync._line_priority import one_per_line

ID = "sync.lost-comma"

_EARLIER_RULES = (
    *ARGUMENT_RULES,
    unchecked_none,
    return_arity,
    method_replacement,
    platform_only_import,
)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each argument that is indexed with several names."""
    yield from one_per_line(_findings(change, config), change, config, _EARLIER_RULES)


def _findings(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for _, head, unit in changed_python_functions(change, config):
        for call, _ in calls_of(head.body):
            for argument in call.args:
                if not isinstance(argument, E.Index) or not _has_names_as_index(argument):
                    continue
                if change.touches(unit.path, argument.line, argument.line):
                    yield _finding(call, argument, head)


def _has_names_as_index(argument: E.Index) -> bool:
    if len(argument.indices) < 2:
        return False
    return all(isinstance(i, E.Const) and isinstance(i.value, str) for i in argument.indices)


def _finding(call: E.Call, argument: E.Index, function: Function) -> Finding:
    indexed = E.dotted(argument.base) or ""
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.MEDIUM,
        location=Location(function.path, argument.line),
        message=Message("comma", {"name": E.callee(call), "argument": indexed}),
        symbol=function.qualname,
        subject=indexed,
    )
