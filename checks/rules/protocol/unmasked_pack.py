"""A field goes into a packed word without a mask or a check that keeps it in its bits.

## What it does

Finds words put together by shift and OR (`flag | (n << 8)`) that the change wrote or touched, and asks the solver for
field values, in the declared types and under the conditions that hold there, with which a lower field spills into the
one above it. The evidence is such values, packed and read back. The fix masks the field.

## Why it matters

PaddlePaddle/FastDeploy#7884 put `message_flag | (max_num_logprobs << 8)` into one int at two senders. Nothing keeps
`message_flag` below 256; a reviewer could only ask, and the code was merged so.

## Example

```cpp
msg.meta[1] = message_flag | (width << 8);            // 256 reads back as flag 0, width + 1
msg.meta[1] = (message_flag & 0xFF) | (width << 8);   // kept in its bits
```

## Known limits

Sums of shifted values are taken for addresses, not for words. The range of a field is known from its type, from
constants, masks, casts, and conditions in the same function; a promise made by a caller is shown but does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Counterexample,
    CounterexampleRow,
    Definition,
    Edit,
    Evidence,
    Finding,
    Fix,
    Location,
    Message,
    Severity,
)
from checks.domain.bitfields.expressions import Pack, Part, by_or, packs
from checks.domain.bitfields.ranges import Ranges
from checks.domain.ops import OpCall, OpInfo, Ops
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile

ID = "protocol.unmasked-pack"
_OR = re.compile(r"\|(?![|=])(?<!\|\|)")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for file in change.files:
        unit = change.unit(file.head_path) if file.head_path else None
        if unit is None or config.is_test(unit.path):
            continue
        for function in unit.functions:
            if _may_pack(function, unit, change):
                for pack in packs(function):
                    if _concerns(pack, change, unit):
                        yield from _check(pack, unit, change)


def _may_pack(function: Function, unit: SourceFile, change: ChangeSet) -> bool:
    """A sieve before its body is parsed: a word is put together with `|`."""
    start, end = function.start_line, function.end_line
    return change.touches(unit.path, start, end) and _OR.search(unit.text(start, end)) is not None


def _concerns(pack: Pack, change: ChangeSet, unit: SourceFile) -> bool:
    """A word that is stored for somebody else to read, on a line of the change."""
    stored = isinstance(pack.target, E.Index | E.Attr) or pack.target is None
    element = isinstance(pack.target, E.Index) and not all(
        isinstance(i, E.Const) for i in pack.target.indices
    )
    return (
        stored
        and not element
        and by_or(pack.expr)
        and change.touches(unit.path, pack.line, pack.end_line)
    )


def _check(pack: Pack, unit: SourceFile, change: ChangeSet) -> Iterator[Finding]:
    ranges = Ranges(pack.function, unit, pack.guarded)
    bits = 64 if unit.language == "python" else ranges.bits_of(pack)
    open_parts = [p for p in pack.parts[:-1] if ranges.overflow(p, pack.width(p, bits)) is not None]
    if not open_parts:
        return
    worst = open_parts[0]
    value = ranges.overflow(worst, pack.width(worst, bits))
    assert value is not None
    callers = _callers(pack.function, worst, change)
    escapes = [c for c in callers if not 0 <= int(c.value) < 1 << pack.width(worst, bits)]
    names = [ranges.text(p.expr) for p in open_parts]
    args = {
        "field": names[0], "fields": names, "bits": pack.width(worst, bits),
        "word": ranges.text(pack.target) or f"{pack.function.name}()",
        "value": value, "largest": (1 << pack.width(worst, bits)) - 1,
        "callers": sorted({c.value for c in callers}), "escapes": bool(escapes),
    }  # fmt: skip
    evidence: tuple[Evidence, ...] = (_counterexample(pack, worst, value, bits, ranges), *callers)
    yield Finding(
        rule=ID,
        severity=Severity.BUG if escapes else Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(unit.path, pack.line, pack.end_line),
        message=Message("unmasked", args),
        symbol=pack.function.qualname,
        subject=" | ".join(names),
        evidence=evidence,
        fix=_fix(pack, open_parts, bits, unit, ranges),
    )


def _counterexample(
    pack: Pack, worst: Part, value: int, bits: int, ranges: Ranges
) -> Counterexample:
    """The word with `value` in the open field and 2 in the others, and each field as it reads back."""
    given = {
        p: value if p is worst else p.constant if p.constant is not None else 2 for p in pack.parts
    }
    word = 0
    for part, v in given.items():
        cut = v & part.mask if part.mask is not None else v
        word |= cut << part.shift
    word &= (1 << bits) - 1
    rows = []
    for part, v in given.items():
        width = pack.width(part, bits)
        rows.append(
            CounterexampleRow(ranges.text(part.expr), v, (word >> part.shift) & ((1 << width) - 1))
        )
    signed = word - (1 << bits) if word >> (bits - 1) else word
    return Counterexample(tuple(rows), signed, ranges.text(pack.expr))


def _callers(function: Function, part: Part, change: ChangeSet) -> tuple[Definition, ...]:
    """What callers of the op pass for the field, where it is a parameter and they pass a plain number."""
    if not isinstance(part.expr, E.Name) or part.expr.id not in [p.name for p in function.params]:
        return ()
    place = [p.name for p in function.params].index(part.expr.id)
    ops = Ops.of(change)
    found: list[Definition] = []
    for op in ops.of_function(function):
        for call in ops.calls(op.name) if place < len(op.params) else ():
            passed = _passed(call, op, place)
            if isinstance(passed, E.Const) and isinstance(passed.value, int):
                at = Location(call.unit.path, passed.line or call.call.line)
                found.append(
                    Definition(
                        part.expr.id,
                        at,
                        str(int(passed.value)),
                        call.unit.text(at.start_line).strip(),
                    )
                )
    unique = {(d.location.path, d.location.start_line): d for d in found}
    return tuple(unique[k] for k in sorted(unique))


def _passed(call: OpCall, op: OpInfo, place: int) -> E.Expr | None:
    """The argument at `place`. In a call that keeps an older list of tensors, the first plain number is what the op
    takes as its first attribute."""
    if len(call.call.args) + len(call.call.keywords) == len(op.params):
        return call.args.get(op.params[place])
    numbers = [a for a in call.call.args if isinstance(a, E.Const) and type(a.value) is int]
    first = op.registration is not None and place == len(op.registration.inputs)
    return numbers[0] if first and numbers else None


def _fix(pack: Pack, parts: list[Part], bits: int, unit: SourceFile, ranges: Ranges) -> Fix | None:
    """Mask each open field where its name stands alone on the line."""
    if pack.line != pack.end_line or pack.expr is not getattr(pack.guarded.stmt, "value", None):
        return None
    line = unit.lines[pack.line - 1]
    for part in parts:
        text = ranges.text(part.expr)
        before, equals, after = line.partition("=")
        if not equals or after.count(text) != 1 or part.mask is not None:
            return None
        mask = f"{(1 << pack.width(part, bits)) - 1:#x}".upper().replace("X", "x")
        line = before + equals + after.replace(text, f"({text} & {mask})")
    return Fix((Edit(unit.path, pack.line, pack.line, (line.rstrip("\r"),)),))
