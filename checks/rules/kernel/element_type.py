"""One tensor is read as two element types in one function, so that one of the reads throws.

## What it does

In C++ of the change: `t.data<int>()` and `t.data<int64_t>()` of the same tensor, where the second
is reached whenever the first was.

## Why it matters

`data<T>()` throws where `T` is not what the tensor holds. Of two types one must be wrong, and a
test that does not get to that line does not notice.

## Example

```cpp
const int* lens = seq_lens.data<int>();
fill(seq_lens.data<int64_t>(), n);
```

## Known limits

Types are compared by width and kind after the usual names (`long`, `int64_t`); a type that is a
template's parameter is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.lang.ir import expr as E
from checks.rules.kernel import _pointer_checks

ID = "kernel.element-type"


@dataclass(frozen=True, slots=True)
class TypedRead:
    """`tensor.data<written>()`; `kind` is what the type is, by kind and width."""

    tensor: str
    written: str
    kind: str
    line: int
    guards: tuple[E.Expr, ...]


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if not changed.python:
            yield from _two_types(changed)


def _two_types(changed: ChangedFunction) -> Iterator[Finding]:
    first_reads: dict[str, TypedRead] = {}
    for read in _typed_reads(changed):
        first = first_reads.setdefault(read.tensor, read)
        if first.kind == read.kind or not changed.touched(read.line):
            continue
        # Under other conditions the tensor may be another one.
        if first.guards == read.guards[: len(first.guards)]:
            yield _finding(first, read, changed)


def _typed_reads(changed: ChangedFunction) -> Iterator[TypedRead]:
    for guarded in changed.statements:
        value = getattr(guarded.stmt, "value", None)
        if not isinstance(value, E.Node):
            continue
        for e in E.walk(value):  # type: ignore[arg-type]
            if not isinstance(e, E.Call) or E.callee(e) != "data" or e.args:
                continue
            if not isinstance(e.func, E.Attr):
                continue
            tensor = E.dotted(e.func.base)
            kind = _pointer_checks.element_type(e.template)
            if tensor is not None and kind is not None:
                yield TypedRead(tensor, e.template, kind, e.line, guarded.guards)


def _finding(first: TypedRead, second: TypedRead, changed: ChangedFunction) -> Finding:
    place = Location(changed.unit.path, first.line)
    args = {"name": first.tensor, "one": first.written, "other": second.written, "at": place}
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, second.line),
        message=Message("two-types", args),
        symbol=changed.head.qualname,
        subject=f"{first.tensor} {first.written} {second.written}",
    )
