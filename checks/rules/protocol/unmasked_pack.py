"""A field goes into a packed word without a mask or a check that keeps it in its bits.

## What it does

Finds words put together by shift and OR (`flag | (n << 8)`) that the change wrote or touched, and
asks the solver for field values, in the declared types and under the conditions that hold there,
with which a lower field spills into the one above it. The evidence is such values, packed and read
back. The fix masks the field.

## Why it matters

PaddlePaddle/FastDeploy#7884 put `message_flag | (max_num_logprobs << 8)` into one int at two
senders. Nothing keeps `message_flag` below 256; a reviewer could only ask, and the code was merged
so.

## Example

```cpp
msg.meta[1] = message_flag | (width << 8);            // 256 reads back as flag 0, width + 1
msg.meta[1] = (message_flag & 0xFF) | (width << 8);   // kept in its bits
```

## Known limits

Sums of shifted values are taken for addresses, not for words. The range of a field is known from
its type, from constants, masks, casts, and conditions in the same function; a promise made by a
caller is shown but does not count. A word that is returned or only named is for the pedantic
persona: it packs weights more often than a message, and whoever quantizes keeps them in their bits
(of four that were read on commits by chance none was useful). A tensor of which parts were masked
in place counts as masked: that the parts are all of it is not proved.
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
    Finding,
    Fix,
    Location,
    Message,
    Severity,
)
from checks.core.words import may_contain
from checks.domain.bitfields.packing import BitField, PackExpr, is_joined_by_or, pack_expressions
from checks.domain.bitfields.ranges import Ranges
from checks.domain.ops import OpCall, OpInfo, Ops
from checks.eval.constants.lookup import Constants
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile

ID = "protocol.unmasked-pack"

_PYTHON_BITS = 64
# What stands in the fields beside the one that overflows, so that they are seen to change.
_OTHER_VALUE = 2


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each packed word with an open field."""
    for file in change.files:
        unit = change.head_unit(file)
        if unit is None or config.is_test(unit.path):
            continue
        for function in unit.functions:
            if not change.touches(unit.path, function.start_line, function.end_line):
                continue
            # Lowering the body of every changed function would be a third of a review.
            if not may_contain(unit.text_of(function), "|"):
                continue
            for pack in pack_expressions(function):
                if _is_stored_word(pack) and change.touches(unit.path, pack.line, pack.end_line):
                    yield from _check(pack, unit, change)


def _is_stored_word(pack: PackExpr) -> bool:
    """A word that is stored or returned for somebody else to read.

    An array element at a computed place is left out: that is data, not a message.
    """
    if not is_joined_by_or(pack.expr):
        return False
    match pack.target:
        case None | E.Attr():
            return True
        case E.Index(indices=indices):
            return all(isinstance(index, E.Const) for index in indices)
        case _:
            return False


def _check(pack: PackExpr, unit: SourceFile, change: ChangeSet) -> Iterator[Finding]:
    ranges = Ranges(pack.function, unit, pack.guarded)
    bits = _PYTHON_BITS if unit.language == "python" else ranges.bits_of(pack)
    overflows: dict[BitField, int] = {}
    # Nothing stands above the last field.
    for field in pack.fields[:-1]:
        width = pack.width(field, bits)
        value = ranges.overflow(field, width)
        if value is not None and not _is_capped(field, width, unit, change):
            overflows[field] = value
    if overflows:
        yield _finding(pack, overflows, bits, unit, ranges, change)


def _is_capped(field: BitField, width: int, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether the file knows a constant such as `MAX_BSZ` for the field `bsz`, and it fits."""
    if not isinstance(field.expr, E.Name | E.Attr):
        return False
    name = field.expr.id if isinstance(field.expr, E.Name) else field.expr.name
    constants = Constants.of(change)
    for cap in (f"MAX_{name.upper()}", f"max_{name}", f"kMax{name.title().replace('_', '')}"):
        known = constants.resolve(E.Name(cap), unit)
        if known is not None and isinstance(known.value, int):
            return known.value < 1 << width
    return False


def _assertion(field: str, largest: int, unit: SourceFile) -> str:
    """The statement that ends the program where the field does not fit."""
    operand = field if re.fullmatch(r"[\w.]+", field) else f"({field})"
    if unit.language == "python":
        return f"assert 0 <= {operand} <= {largest}"
    return f"assert({operand} >= 0 && {operand} <= {largest});"


def _finding(
    pack: PackExpr,
    overflows: dict[BitField, int],
    bits: int,
    unit: SourceFile,
    ranges: Ranges,
    change: ChangeSet,
) -> Finding:
    """The finding about a word of `bits` bits; `overflows` has a value for each open field."""
    worst, value = next(iter(overflows.items()))
    width = pack.width(worst, bits)
    callers = _values_passed(pack.function, worst, change)
    escapes = any(not 0 <= int(caller.value) < 1 << width for caller in callers)
    names = [ranges.text(field.expr) for field in overflows]
    args = {
        "field": names[0],
        "fields": names,
        "bits": width,
        "word": ranges.text(pack.target) or f"{pack.function.name}()",
        "value": value,
        "check": _assertion(names[0], (1 << width) - 1, unit),
        "callers": sorted({caller.value for caller in callers}),
        "escapes": escapes,
    }
    return Finding(
        rule=ID,
        severity=Severity.BUG if escapes else Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(unit.path, pack.line, pack.end_line),
        message=Message("unmasked", args),
        symbol=pack.function.qualname,
        subject=" | ".join(names),
        evidence=(_counterexample(pack, worst, value, bits, ranges), *callers),
        fix=_fix(pack, list(overflows), bits, unit, ranges),
        pedantic=pack.target is None and not escapes,
    )


def _counterexample(
    pack: PackExpr, worst: BitField, value: int, bits: int, ranges: Ranges
) -> Counterexample:
    """The word with `value` in the open field, and each field as it reads back."""
    values: list[int] = []
    for field in pack.fields:
        if field is worst:
            values.append(value)
        elif field.constant is not None:
            values.append(field.constant)
        else:
            values.append(_OTHER_VALUE)
    word = pack.pack(values, bits)
    rows = []
    for field, before in zip(pack.fields, values, strict=True):
        after = (word >> field.shift) & ((1 << pack.width(field, bits)) - 1)
        rows.append(CounterexampleRow(ranges.text(field.expr), before, after))
    return Counterexample(tuple(rows), word, ranges.text(pack.expr))


def _values_passed(
    function: Function, field: BitField, change: ChangeSet
) -> tuple[Definition, ...]:
    """The plain numbers that callers of the op pass for a field that is a parameter."""
    params = [param.name for param in function.params]
    if not isinstance(field.expr, E.Name) or field.expr.id not in params:
        return ()
    place = params.index(field.expr.id)
    ops = Ops.of(change)
    values: dict[tuple[str, int], Definition] = {}
    for op in ops.of_function(function):
        if place >= len(op.params):
            continue
        for call in ops.calls(op.name):
            passed = _passed(call, op, place)
            if isinstance(passed, E.Const) and isinstance(passed.value, int):
                at = Location(call.unit.path, passed.line or call.call.line)
                excerpt = call.unit.excerpt(at.start_line)
                value = str(int(passed.value))
                values[at.path, at.start_line] = Definition(field.expr.id, at, value, excerpt)
    return tuple(values[key] for key in sorted(values))


def _passed(call: OpCall, op: OpInfo, place: int) -> E.Expr | None:
    """The argument at `place`.

    In a call that keeps an older list of tensors, the first plain number is what the op takes as
    its first attribute.
    """
    if len(call.call.args) + len(call.call.keywords) == len(op.params):
        return call.args.get(op.params[place])
    if op.registration is None or place != len(op.registration.inputs):
        return None
    for argument in call.call.args:
        if isinstance(argument, E.Const) and type(argument.value) is int:
            return argument
    return None


def _fix(
    pack: PackExpr, open_fields: list[BitField], bits: int, unit: SourceFile, ranges: Ranges
) -> Fix | None:
    """Mask each open field where its name stands alone on the line."""
    is_one_line = pack.line == pack.end_line
    if not is_one_line or pack.expr is not getattr(pack.guarded.stmt, "value", None):
        return None
    line = unit.lines[pack.line - 1]
    for field in open_fields:
        text = ranges.text(field.expr)
        target, equals, value = line.partition("=")
        if not equals or value.count(text) != 1 or field.mask is not None:
            return None
        mask = f"0x{(1 << pack.width(field, bits)) - 1:X}"
        line = target + equals + value.replace(text, f"({text} & {mask})")
    return Fix((Edit(unit.path, pack.line, pack.line, (line.rstrip("\r"),)),))
