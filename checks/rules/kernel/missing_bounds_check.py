"""A loop or a thread may now step past the row or array that it works on.

## What it does

Compares loops before and after: one that ran to a constant (the width of a fixed row) and now runs to a value that
comes with the data, while the row stays as wide as it was and nothing caps the new bound. In kernels that the change
wrote, a write at `blockIdx * blockDim + threadIdx` under no condition, launched on a grid that is rounded up; in
Triton, a store without a mask at offsets for which another access of the same kernel has one. An op that scatters rows
at loaded offsets, for as many slots as one tensor has, into a tensor that its caller gives another number of rows.

## Why it matters

PaddlePaddle/FastDeploy#7884 lets a loop run to the width of a tensor where it ran to `SPEC_LOGPROB_K + 1`, the width
of a row in the message, and the same change took away the cap of 20 that the runner had put on that width.

## Example

```cpp
for (int k = 0; k < width; k++) row[k] = ids[k];   // was: k < K + 1; row is &msg.tokens[j * (K + 1)]
```

## Known limits

A cap is looked for in the function only: `min`, an assertion, or a condition that names the bound. That no caller
passes more is not seen, so the finding is a suggestion unless the change itself takes a cap away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions, names_in
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Evidence,
    Finding,
    Location,
    Message,
    Related,
    Severity,
    Side,
)
from checks.domain.bitfields.ranges import source_of
from checks.domain.ops import expressions_of
from checks.eval.constants.lookup import Constants
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assert, Assign, For, If
from checks.rules.kernel import _row_capacity, _unguarded_threads

ID = "kernel.missing-bounds-check"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        if not delta.python and delta.base is not None and "for" in delta.code:
            yield from _loops(delta, change, config)
        yield from _unguarded_threads.stores(delta, ID)
        if not delta.python:
            yield from _row_capacity.scattered(delta, change, config, ID)


def _loops(delta: ChangedFunction, change: ChangeSet, config: Config) -> Iterator[Finding]:
    fixed: dict[tuple[str, str], tuple[For, int]] = {}
    for guarded in delta.base_statements:
        loop = guarded.stmt
        if (
            isinstance(loop, For)
            and isinstance(loop.target, E.Name)
            and loop.stop is not None
            and delta.base_unit
        ):
            bound = Constants.of(change, Side.BASE).resolve(loop.stop, delta.base_unit, delta.base)
            for row in _rows(loop) if bound is not None and isinstance(bound.value, int) else ():
                fixed[(loop.target.id, row)] = (loop, int(str(bound.value)) if bound else 0)
    for guarded in delta.statements if fixed else ():
        loop = guarded.stmt
        if not isinstance(loop, For) or not isinstance(loop.target, E.Name) or loop.stop is None:
            continue
        pairs = [
            (row, fixed[(loop.target.id, row)])
            for row in _rows(loop)
            if (loop.target.id, row) in fixed
        ]
        if not pairs or not delta.touched(loop.line, loop.line) or _capped(loop, delta):
            continue
        if Constants.of(change).resolve(loop.stop, delta.unit, delta.head) is not None:
            continue
        rows = [row for row, _ in pairs if _width(row, delta, change) == pairs[0][1][1]]
        if rows:
            yield _finding(loop, pairs[0][1][0], pairs[0][1][1], rows, delta, change, config)


def _rows(loop: For) -> set[str]:
    """Arrays that the loop writes at its own counter: `row[k] = ...`."""
    assert isinstance(loop.target, E.Name)
    found: set[str] = set()
    stack = list(loop.body)
    while stack:
        stmt = stack.pop()
        match stmt:
            case Assign(target=E.Index(base=E.Name(id=row), indices=(index,))) if (
                loop.target.id in E.names(index)
            ):
                found.add(row)
            case If(then=then, orelse=orelse):
                stack += [*then, *orelse]
    return found


def _width(row: str, delta: ChangedFunction, change: ChangeSet) -> int | None:
    """The constant stride of `row` where it is `&x[j * WIDTH]`, `x + j * WIDTH`, or its size where it is an array."""
    constants = Constants.of(change)
    for guarded in delta.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.target != E.Name(row):
            continue
        if stmt.declares and (size := re.search(r"\[([^\]]+)\]\s*$", stmt.declares)):
            value = constants.resolve(_name(size.group(1)), delta.unit, delta.head)
            return value.value if value is not None and isinstance(value.value, int) else None
        for e in E.walk(stmt.value) if stmt.value is not None else ():
            if isinstance(e, E.Binary) and e.op == "*":
                for side in (e.left, e.right):
                    value = constants.resolve(side, delta.unit, delta.head)
                    if value is not None and isinstance(value.value, int):
                        return value.value
    return None


def _name(text: str) -> E.Expr:
    plain = text.strip()
    return E.Const(int(plain)) if plain.isdigit() else E.Name(plain)


def _capped(loop: For, delta: ChangedFunction) -> bool:
    """Whether the function compares the bound with something, or takes a minimum, before the loop."""
    assert loop.stop is not None
    bound = names_in(loop.stop)
    if any(isinstance(e, E.Call) and E.callee(e) in ("min", "MIN") for e in E.walk(loop.stop)):
        return True
    for guarded in delta.statements:
        stmt = guarded.stmt
        if stmt.line >= loop.line:
            break
        if isinstance(stmt, Assert | If) and names_in(stmt.test) & bound:
            return True
        if (
            isinstance(stmt, Assign)
            and isinstance(stmt.target, E.Name)
            and stmt.target.id in bound
            and _least(stmt)
        ):
            return True
    return False


def _least(stmt: Assign) -> bool:
    """Whether a value is picked from several: `min(a, b)`, `a < b ? a : b`."""
    for e in (e for top in expressions_of(stmt) for e in E.walk(top)):
        if isinstance(e, E.Ternary) or (isinstance(e, E.Call) and E.callee(e) in ("min", "MIN")):
            return True
    return False


def _finding(
    loop: For,
    old: For,
    width: int,
    rows: list[str],
    delta: ChangedFunction,
    change: ChangeSet,
    config: Config,
) -> Finding:
    assert loop.stop is not None and old.stop is not None
    removed = tuple(_cap_removed(width, change, config))
    args = {
        "rows": sorted(rows), "width": width, "bound": source_of(loop.stop), "old": source_of(old.stop), "removed": bool(removed),
    }  # fmt: skip
    before = Location(delta.base.path if delta.base else delta.unit.path, old.line, side=Side.BASE)
    evidence: tuple[Evidence, ...] = (Definition("bound", before, source_of(old.stop)),)
    return Finding(
        rule=ID,
        # Another layer may still refuse such a width, so this is never more than a suggestion.
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(delta.unit.path, loop.line),
        message=Message("loop", args),
        symbol=delta.head.qualname,
        subject=f"{source_of(loop.stop)} {' '.join(sorted(rows))}",
        evidence=evidence,
        related=removed,
    )


def _cap_removed(width: int, change: ChangeSet, config: Config) -> Iterator[Related]:
    """Lines of Python that the change took away and that held the value down to the row: `else 20` for 21 columns."""
    number = re.compile(
        rf"\belse\s+(?:{width}|{width - 1})\b|\bmin\([^)]*\b(?:{width}|{width - 1})\b"
    )
    for file in change.files:
        base = file.base_path if file.base_path and file.base_path.endswith(".py") else None
        if base is None or config.is_test(base) or file.head_path is None:
            continue
        unit = change.unit(base, Side.BASE)
        for line in sorted(file.base_lines()) if unit is not None else ():
            if unit is not None and number.search(unit.text(line)):
                hunk = next(
                    (h for h in file.hunks if h.base_start <= line < h.base_start + h.base_len),
                    None,
                )
                at = hunk.head_start if hunk is not None else 0
                yield Related(
                    Location(file.head_path, max(at, 1)), Message("cap-removed", {"width": width})
                )
