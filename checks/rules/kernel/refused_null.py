"""A pointer that a caller may leave out is checked with the macro that refuses null.

## What it does

Looks at the checks of pointers that the change wrote (`CHECK_PTR(ctx, T, count, p)`) under no
condition, and at the callers of the function in C++: one that passes `nullptr`, or `x ? ... :
nullptr`, for the pointer gets an error now.

## Why it matters

PaddlePaddle/FastDeploy#6830 added a check for a pointer that is optional: the op returned
INVALID_PARAM for every caller without it.

## Example

```cpp
CHECK_PTR(ctx, int, rows, lens);                   // in verify()
verify(ctx, lens ? lens->data<int>() : nullptr);   // the caller
```

## Known limits

Callers are looked for by name in C++, outside tests. A variable that may be null is not followed.
"""

from __future__ import annotations

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
from checks.lang.ir import expr as E
from checks.rules.kernel._code_walks import calls_in_file
from checks.rules.kernel._pointer_checks import PointerCheck, new_pointer_checks

ID = "kernel.refused-null"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python:
            continue
        strict: dict[str, PointerCheck] = {}
        for check in new_pointer_checks(changed):
            if check.always and not check.allows_null:
                strict[check.param.name] = check
        if strict:
            yield from _refused(strict, changed, change, config)


def _refused(
    strict: dict[str, PointerCheck], changed: ChangedFunction, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    """One finding for each pointer, at the first caller that may pass nothing for it."""
    params = [p.name for p in changed.head.params]
    seen: set[str] = set()
    for call, path in _calls(changed, change, config):
        for name in sorted(strict.keys() - seen):
            passed = call.args[params.index(name)]
            if _may_be_null(passed):
                seen.add(name)
                place = Location(path, passed.line or call.line)
                yield _finding(name, strict[name], place, changed, change)


def _calls(
    changed: ChangedFunction, change: ChangeSet, config: Config
) -> Iterator[tuple[E.Call, str]]:
    """(call, file) of every complete call of the function in C++, outside tests."""
    head = changed.head
    for path in change.head.paths_containing(head.name, "cpp"):
        unit = change.unit(path) if not config.is_test(path) else None
        if unit is None:
            continue
        for function, call, _ in calls_in_file(head.name, unit):
            # An overload that calls the other one passes on what it got itself.
            if function.name != head.name and len(call.args) == len(head.params):
                yield call, path


def _may_be_null(passed: E.Expr) -> bool:
    match passed:
        case E.Const(value=None):
            return True
        case E.Ternary(then=then, orelse=orelse):
            return _may_be_null(then) or _may_be_null(orelse)
        case E.Cast(operand=operand):
            return _may_be_null(operand)
        # `const_cast<int*>(x)` where the parser keeps it as a call.
        case E.Call(func=E.Name(), args=(only,), template=text) if text:
            return _may_be_null(only)
    return False


def _finding(
    name: str, check: PointerCheck, caller: Location, changed: ChangedFunction, change: ChangeSet
) -> Finding:
    unit = change.unit(caller.path)
    excerpt = unit.excerpt(caller.start_line) if unit is not None else ""
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, check.call.line),
        message=Message("refused", {"name": name, "macro": check.macro, "at": caller}),
        symbol=changed.head.qualname,
        subject=f"{name} {check.macro}",
        evidence=(Definition(name, caller, "nullptr", excerpt),),
        fix=_fix(check, changed),
    )


def _fix(check: PointerCheck, changed: ChangedFunction) -> Fix | None:
    """The macro that allows a null pointer."""
    line = check.call.line
    text = changed.unit.text(line)
    fixed = text.replace(f"{check.macro}(", f"{check.macro}_OR_NULL(", 1)
    if fixed == text:
        return None
    return Fix((Edit(changed.unit.path, line, line, (fixed.rstrip("\r"),)),))
