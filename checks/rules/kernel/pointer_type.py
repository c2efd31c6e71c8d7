"""A pointer is checked as another type than it has.

## What it does

Looks at the checks of pointers that the change wrote (`CHECK_PTR(ctx, T, count, p)`): `T` must be
what `p` points to.

## Why it matters

PaddlePaddle/FastDeploy#6947 checks `candidate_lens` as `int64_t` although it is `const int *`.

## Example

```cpp
int verify(Context* ctx, const int* lens, int rows) {
  CHECK_PTR(ctx, int64_t, rows, lens);
```

## Known limits

Types are compared by width and kind after the usual names (`long`, `int64_t`); a type that is a
template's parameter is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Edit,
    Finding,
    Fix,
    Location,
    Message,
    Severity,
)
from checks.rules.kernel._pointer_checks import PointerCheck, element_type, new_pointer_checks

ID = "kernel.pointer-type"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python:
            continue
        for check in new_pointer_checks(changed):
            checked = _checked_type(check, changed)
            if checked is not None and _is_other_type(checked, check.param.type):
                yield _finding(check, checked, changed)


def _check_text(check: PointerCheck, changed: ChangedFunction) -> str:
    return changed.unit.text(check.stmt.line, check.stmt.end_line)


def _checked_type(check: PointerCheck, changed: ChangedFunction) -> str | None:
    """The first word of the check that is a known type, as written."""
    for word in re.findall(r"[\w:]+", _check_text(check, changed)):
        if element_type(word) is not None:
            return str(word)
    return None


def _is_other_type(checked: str, declared: str) -> bool:
    # The elements of `T**` are pointers, whatever the check says of `T`.
    if element_type(declared) is None or declared.count("*") != 1:
        return False
    return element_type(checked) != element_type(declared)


def _finding(check: PointerCheck, checked: str, changed: ChangedFunction) -> Finding:
    param = check.param
    args = {"name": param.name, "checked": checked, "declared": param.type}
    declaration = Location(changed.unit.path, param.line)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, check.stmt.line, check.stmt.end_line),
        message=Message("type", args),
        symbol=changed.head.qualname,
        subject=f"{param.name} {checked}",
        evidence=(Definition(param.name, declaration, param.type),),
        fix=_fix(check, checked, changed),
    )


def _fix(check: PointerCheck, checked: str, changed: ChangedFunction) -> Fix | None:
    """The check with the type that the pointer has."""
    text = _check_text(check, changed)
    declared = re.sub(r"\bconst\b|[\s*]", "", check.param.type)
    second_argument = rf"(\(\s*\w+\s*,\s*){re.escape(checked)}\b"
    fixed = re.sub(second_argument, rf"\g<1>{declared}", text, count=1)
    if fixed == text:
        return None
    lines = tuple(fixed.split("\n"))
    return Fix((Edit(changed.unit.path, check.stmt.line, check.stmt.end_line, lines),))
