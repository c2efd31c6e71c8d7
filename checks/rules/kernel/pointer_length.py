"""A pointer is checked for another number of elements than the comment above the check says.

## What it does

Looks at the checks of pointers that the change wrote (`CHECK_PTR(ctx, T, count, p)`) under a
comment such as `// len(p) = n` or `// p: [rows, n]`, and compares the two lengths.

## Why it matters

PaddlePaddle/FastDeploy#6947 checks a buffer for `real_bsz` elements under a comment that gives it
another length. One of the two is wrong, and a check that is too short lets the kernel run on.

## Example

```cpp
// len(rows) = offsets[-1]
CHECK_PTR(ctx, float, n, rows);
```

## Known limits

Lengths are compared as written; the same names in another spelling (`[bsz, 1]` for `bsz`) are taken
for the same length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.rules.kernel._pointer_checks import PointerCheck, new_pointer_checks

ID = "kernel.pointer-length"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python:
            continue
        for check in new_pointer_checks(changed):
            yield from _other_length(check, changed)


def _other_length(check: PointerCheck, changed: ChangedFunction) -> Iterator[Finding]:
    for comment in changed.unit.comments:
        if comment.end_line != check.stmt.line - 1:
            continue
        written = _written_length(check.param.name, comment.text)
        if written and not _is_same_length(written, check.count):
            place = Location(changed.unit.path, comment.line)
            yield _finding(check, written, place, changed)


def _written_length(name: str, comment: str) -> str:
    """`n` of `len(p) = n` or `p: [n]`; empty where the comment gives no length of `p`."""
    word = re.escape(name)
    found = re.search(rf"\b(?:len|length|size)\(\s*{word}\s*\)\s*=+\s*(.+)$", comment)
    if found is None:
        found = re.search(rf"\b{word}\s*:?\s*\[([^\]]+)\]", comment)
    return found.group(1).strip().rstrip(".") if found else ""


def _is_same_length(written: str, count: E.Expr) -> bool:
    if re.sub(r"[\s()]", "", written) == re.sub(r"[\s()]", "", source_of(count)):
        return True
    return set(re.findall(r"[A-Za-z_]\w*", written)) == E.names(count)


def _finding(
    check: PointerCheck, written: str, comment: Location, changed: ChangedFunction
) -> Finding:
    name, count = check.param.name, source_of(check.count)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, check.stmt.line),
        message=Message("count", {"name": name, "count": count, "said": written}),
        symbol=changed.head.qualname,
        subject=f"{name} {count}",
        evidence=(Definition(name, comment, written),),
    )
