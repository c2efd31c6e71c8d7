"""A loop may now step past the row or array that it works on.

## What it does

Compares loops before and after: one that ran to a constant (the width of a fixed row) and now runs
to a value that comes with the data, while the row stays as wide as it was and nothing caps the new
bound.

## Why it matters

PaddlePaddle/FastDeploy#7884 lets a loop run to the width of a tensor where it ran to
`SPEC_LOGPROB_K + 1`, the width of a row in the message, and the same change took away the cap of 20
that the runner had put on that width.

## Example

```cpp
// was: k < K + 1; row is &msg.tokens[j * (K + 1)]
for (int k = 0; k < width; k++) row[k] = ids[k];
```

## Known limits

A cap is looked for in the function only: `min`, an assertion, or a condition that names the bound.
That no caller passes more is not seen, so the finding is never more than a suggestion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import names_in
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Finding,
    Location,
    Message,
    Related,
    Severity,
    Side,
)
from checks.domain.ops import expressions_of
from checks.eval.constants.lookup import Constants
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.stmt import Assert, Assign, For, If, Stmt

ID = "kernel.missing-bounds-check"


@dataclass(frozen=True, slots=True)
class FixedLoop:
    """A loop of the base that ran to a constant."""

    loop: For
    stop: E.Expr
    bound: int


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if not changed.python and changed.base is not None:
            yield from _widened_loops(changed, change, config)


def _widened_loops(
    changed: ChangedFunction, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    fixed = _fixed_loops(changed, change)
    if not fixed:
        return
    for guarded in changed.statements:
        loop = guarded.stmt
        if not isinstance(loop, For) or loop.stop is None:
            continue
        rows = [row for row in sorted(_written_rows(loop)) if (_counter(loop), row) in fixed]
        if not rows or not changed.touched(loop.line, loop.line) or _is_capped(loop, changed):
            continue
        # Another constant was written with the row in mind.
        if Constants.of(change).resolve(loop.stop, changed.unit, changed.head) is not None:
            continue
        old = fixed[_counter(loop), rows[0]]
        narrow = [row for row in rows if _width(row, changed, change) == old.bound]
        if narrow:
            yield _finding(loop, loop.stop, old, narrow, changed, change, config)


def _fixed_loops(changed: ChangedFunction, change: ChangeSet) -> dict[tuple[str, str], FixedLoop]:
    """The loops of the base with a constant bound, by counter and each row that they write."""
    if changed.base_unit is None:
        return {}
    fixed: dict[tuple[str, str], FixedLoop] = {}
    constants = Constants.of(change, Side.BASE)
    for guarded in changed.base_statements:
        loop = guarded.stmt
        if not isinstance(loop, For) or loop.stop is None or not _counter(loop):
            continue
        rows = _written_rows(loop)
        if not rows:
            continue
        bound = constants.resolve(loop.stop, changed.base_unit, changed.base)
        if bound is None or not isinstance(bound.value, int):
            continue
        for row in rows:
            fixed[_counter(loop), row] = FixedLoop(loop, loop.stop, int(bound.value))
    return fixed


def _counter(loop: For) -> str:
    """The variable that counts the loop; empty where it is no plain name."""
    return loop.target.id if isinstance(loop.target, E.Name) else ""


def _written_rows(loop: For) -> set[str]:
    """Arrays that the loop writes at its own counter: `row[k] = ...`."""
    counter = _counter(loop)
    found: set[str] = set()
    stack: list[Stmt] = list(loop.body)
    while stack:
        stmt = stack.pop()
        match stmt:
            case Assign(target=E.Index(base=E.Name(id=row), indices=(index,))):
                if counter in E.names(index):
                    found.add(row)
            case If(then=then, orelse=orelse):
                stack += [*then, *orelse]
    return found


def _width(row: str, changed: ChangedFunction, change: ChangeSet) -> int | None:
    """How many elements `row` has: the stride of `&x[j * WIDTH]`, or the size of an array."""
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.target != E.Name(row):
            continue
        size = re.search(r"\[([^\]]+)\]\s*$", stmt.declares or "")
        if size is not None:
            return _constant(_size_expression(size.group(1)), changed, change)
        if stmt.value is None:
            continue
        stride = _stride(stmt.value, changed, change)
        if stride is not None:
            return stride
    return None


def _stride(value: E.Expr, changed: ChangedFunction, change: ChangeSet) -> int | None:
    """The first constant factor of a product in `value`."""
    for e in E.walk(value):
        if not isinstance(e, E.Binary) or e.op != "*":
            continue
        for factor in (e.left, e.right):
            constant = _constant(factor, changed, change)
            if constant is not None:
                return constant
    return None


def _constant(expr: E.Expr, changed: ChangedFunction, change: ChangeSet) -> int | None:
    value = Constants.of(change).resolve(expr, changed.unit, changed.head)
    if value is None or not isinstance(value.value, int):
        return None
    return value.value


def _size_expression(text: str) -> E.Expr:
    plain = text.strip()
    return E.Const(int(plain)) if plain.isdigit() else E.Name(plain)


def _is_capped(loop: For, changed: ChangedFunction) -> bool:
    """Whether the function compares the bound, or takes a minimum, before the loop."""
    if loop.stop is None:
        return False
    bound = names_in(loop.stop)
    if any(_is_minimum(e) for e in E.walk(loop.stop)):
        return True
    for guarded in changed.statements:
        stmt = guarded.stmt
        if stmt.line >= loop.line:
            break
        if isinstance(stmt, Assert | If) and names_in(stmt.test) & bound:
            return True
        if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name):
            continue
        if stmt.target.id in bound and _picks_a_value(stmt):
            return True
    return False


def _picks_a_value(stmt: Assign) -> bool:
    """Whether a value is picked from several: `min(a, b)`, `a < b ? a : b`."""
    for top in expressions_of(stmt):
        if any(isinstance(e, E.Ternary) or _is_minimum(e) for e in E.walk(top)):
            return True
    return False


def _is_minimum(e: E.Expr) -> bool:
    return isinstance(e, E.Call) and E.callee(e) in ("min", "MIN")


def _finding(
    loop: For,
    stop: E.Expr,
    old: FixedLoop,
    rows: list[str],
    changed: ChangedFunction,
    change: ChangeSet,
    config: Config,
) -> Finding:
    removed = tuple(_removed_caps(old.bound, change, config))
    args = {
        "rows": sorted(rows),
        "width": old.bound,
        "bound": source_of(stop),
        "old": source_of(old.stop),
        "removed": bool(removed),
    }
    base_path = changed.base.path if changed.base else changed.unit.path
    before = Location(base_path, old.loop.line, side=Side.BASE)
    return Finding(
        rule=ID,
        # Another layer may still refuse such a width, so this is never more than a suggestion.
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, loop.line),
        message=Message("loop", args),
        symbol=changed.head.qualname,
        subject=f"{source_of(stop)} {' '.join(sorted(rows))}",
        evidence=(Definition("bound", before, source_of(old.stop)),),
        related=removed,
    )


def _removed_caps(width: int, change: ChangeSet, config: Config) -> Iterator[Related]:
    """Lines that the change took away and that capped the value: `else 20` for 21 columns."""
    number = rf"\b(?:{width}|{width - 1})\b"
    cap = re.compile(rf"\belse\s+{number}|\bmin\([^)]*{number}")
    for file in change.files:
        base = file.base_path
        if base is None or not base.endswith(".py") or file.head_path is None:
            continue
        unit = change.unit(base, Side.BASE) if not config.is_test(base) else None
        if unit is None:
            continue
        for line in sorted(file.base_lines()):
            if cap.search(unit.text(line)):
                place = Location(file.head_path, max(_head_line(file, line), 1))
                yield Related(place, Message("cap-removed", {"width": width}))


def _head_line(file: FileChange, base_line: int) -> int:
    """The line of the head where `base_line` was taken away; 0 where it was not."""
    for hunk in file.hunks:
        if hunk.base_start <= base_line < hunk.base_start + hunk.base_len:
            return hunk.head_start
    return 0
