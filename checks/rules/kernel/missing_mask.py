"""A Triton load or store has no mask at offsets for which another access of the kernel has one.

## What it does

In Triton kernels that the change wrote: a `tl.load` or `tl.store` without a mask, at a range of
offsets (`pid * BLOCK + tl.arange(0, BLOCK)`) that another access of the same kernel masks.

## Why it matters

The mask says that the range goes beyond the tensor in the last program. Without it the access reads
what does not belong to the tensor, or writes over it.

## Example

```python
x = tl.load(x_ptr + offs, mask=offs < n)
tl.store(out_ptr + offs, x)               # the last block writes behind `out`
```

## Known limits

A mask is followed through one local variable. Tensors that are padded to the block need no mask, so
this is a question.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import local_assignments
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.rules.kernel._thread_divergence import is_triton

ID = "kernel.missing-mask"
# Where each access takes its mask when it has no keyword.
_MASK_PLACES = {"tl.load": 1, "tl.store": 2}


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if "__global__" not in changed.head.marks and is_triton(changed.head):
            yield from _unmasked_accesses(changed)


def _unmasked_accesses(changed: ChangedFunction) -> Iterator[Finding]:
    masks: dict[str, str] = {}
    unmasked: list[tuple[str, E.Call]] = []
    local = dict(local_assignments(changed.statements))
    ranges = _ranges(changed)
    for call, _ in calls_of(changed.head.body):
        if E.dotted(call.func) not in _MASK_PLACES or not call.args:
            continue
        mask = _mask(call)
        for offset in sorted(E.names(call.args[0]) & ranges):
            if mask is None:
                unmasked.append((offset, call))
            elif offset in _names_behind(mask, local):
                masks.setdefault(offset, source_of(mask))
    for offset, call in unmasked:
        # Where no access masks the range, the tensor is a multiple of the block.
        if offset in masks and changed.touched(call.line):
            yield _finding(call, offset, masks[offset], changed)


def _mask(call: E.Call) -> E.Expr | None:
    """The mask of a load or store, by keyword or by place."""
    for keyword, value in call.keywords:
        if keyword == "mask":
            return value
    place = _MASK_PLACES[E.dotted(call.func) or ""]
    return call.args[place] if len(call.args) > place else None


def _ranges(changed: ChangedFunction) -> set[str]:
    """The locals that stand for a range of offsets (`offs = pid * BLOCK + tl.arange(0, BLOCK)`)."""
    found: set[str] = set()
    for name, value in local_assignments(changed.statements):
        if any(isinstance(e, E.Call) and E.callee(e) == "arange" for e in E.walk(value)):
            found.add(name)
    return found


def _names_behind(mask: E.Expr, local: dict[str, E.Expr]) -> set[str]:
    """Names in a mask, followed through one local."""
    found = set(E.names(mask))
    for name in list(found):
        if name in local:
            found |= E.names(local[name])
    return found


def _finding(call: E.Call, offset: str, mask: str, changed: ChangedFunction) -> Finding:
    args = {"access": E.dotted(call.func), "offset": offset, "mask": mask}
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(changed.unit.path, call.line),
        message=Message("mask", args),
        symbol=changed.head.qualname,
        subject=changed.unit.text(call.line),
    )
