"""A packed word does not come apart the way it was put together.

## What it does

Follows each packed word of a message that the change touches from the senders' expressions to every reader, in C++
and, through the op's buffer, in Python, and proves that each reader gets its field back for every value. Where it does
not, the finding has the values. A reader that still takes the word as a whole is one too. Comments beside the word that
state another width than the code are a suggestion.

## Why it matters

PaddlePaddle/FastDeploy#7883 changed a bare flag into `flag | (width << 8)`; the description said 16 bits in one place
and 24 in another, and a reader left behind would have seen flag 5379. The next word of the same project is split at
bit 16, so a reader of one copied to the other is wrong in silence.

## Example

```cpp
msg.meta[1] = (flag & 0xFF) | (width << 8);
```
```python
flag = word & 0xFFFF      # 3 and 21 come out as 5379
```

## Known limits

Words are tied together through message structs, op arguments and buffers that are attributes; a word passed on in
another way is not followed. Fields narrower than their room are taken to stay within the reader's mask.
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
    Evidence,
    Finding,
    Location,
    Message,
    Severity,
)
from checks.domain.bitfields.expressions import Pack
from checks.domain.bitfields.packed_words import Reader, Wire, wires
from checks.domain.bitfields.ranges import source_of
from checks.domain.bitfields.roundtrip import Refuted, refute, room
from checks.lang.ir.source_file import Comment, SourceFile
from checks.lang.source import language

ID = "protocol.pack-unpack-mismatch"

_WIDTH = re.compile(r"(?i)\b(\d{1,2})[ -]?bits?\b|(\d{1,2})\s*位")
_BITS = (b"bit", "位".encode())


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    widths: dict[tuple[int, ...], Pack] = {}
    for wire in wires(change, config):
        for unit, pack in wire.packs:
            widths.setdefault(tuple(p.shift for p in pack.parts), pack)
            for reader in wire.readers:
                if _altered(change, unit, pack, reader):
                    yield from _compare(wire, unit, pack, reader, change)
    if widths:
        yield from _comments(change, config, widths)


def _altered(change: ChangeSet, unit: SourceFile, pack: Pack, reader: Reader) -> bool:
    at = change.touches(reader.unit.path, reader.line, reader.line)
    return at or change.touches(unit.path, pack.line, pack.end_line)


def _compare(
    wire: Wire, unit: SourceFile, pack: Pack, reader: Reader, change: ChangeSet
) -> Iterator[Finding]:
    word = _name(pack)
    sender = Definition(
        word,
        Location(unit.path, pack.line, pack.end_line),
        source_of(pack.expr),
        _line(unit, pack.line),
    )
    if reader.unpack is None:
        args = {
            "word": word,
            "name": reader.text,
            "fields": [source_of(p.expr) for p in pack.parts],
            "at": sender.location,
        }
        yield _finding("whole", args, reader, (sender,), change, sender)
        return
    refuted = refute(pack, reader.unpack)
    if refuted is None:
        return
    part = refuted.part
    wanted = refuted.values[pack.parts.index(part)] if part is not None else None
    args = {
        "word": word,
        "read": source_of(reader.unpack.expr),
        "field": source_of(part.expr) if part is not None else "",
        "wanted": wanted,
        "got": refuted.got,
        "at": sender.location,
    }
    key = "comes-back" if part is not None else "between"
    yield _finding(
        key, args, reader, (_counterexample(pack, reader, refuted), sender), change, sender
    )


def _counterexample(pack: Pack, reader: Reader, refuted: Refuted) -> Counterexample:
    rows = []
    for part, value in zip(pack.parts, refuted.values, strict=True):
        rows.append(
            CounterexampleRow(
                source_of(part.expr), value, refuted.got if part is refuted.part else value
            )
        )
    assert reader.unpack is not None
    return Counterexample(
        tuple(rows), refuted.word, f"{source_of(pack.expr)} -> {source_of(reader.unpack.expr)}"
    )


def _finding(
    key: str,
    args: dict[str, object],
    reader: Reader,
    evidence: tuple[Evidence, ...],
    change: ChangeSet,
    sender: Definition,
) -> Finding:
    """On the reader's line; on the sender's when the change did not come near the reader's file."""
    here = Location(reader.unit.path, reader.line)
    function = reader.function.qualname
    if change.changed(here.path) is None:
        args, here, function = {**args, "reader": here}, sender.location, ""
        key = {
            "whole": "whole-elsewhere",
            "comes-back": "comes-back-elsewhere",
            "between": "between-elsewhere",
        }[key]
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=here,
        message=Message(key, args),
        symbol=function,
        subject=f"{reader.unit.path} {reader.function.qualname} {args.get('read') or args.get('name')}",
        evidence=evidence,
    )


def _line(unit: SourceFile, line: int) -> str:
    return unit.text(line).strip()


def _comments(
    change: ChangeSet, config: Config, known: dict[tuple[int, ...], Pack]
) -> Iterator[Finding]:
    """Comments of the change that stand before a pack like one of `known` and give another width."""
    for file in change.files:
        data = (change.head.read(file.head_path) if file.head_path else None) or b""
        # Asked before comments are looked for: few files have shifts, and fewer speak of bits.
        may = (b"<<" in data or b">>" in data) and any(word in data.lower() for word in _BITS)
        unit = (
            change.unit(file.head_path)
            if file.head_path and may and language(file.head_path)
            else None
        )
        for comment in unit.comments if unit is not None else ():
            stated = [int(a or b) for a, b in _WIDTH.findall(comment.text)]
            if (
                unit is None
                or not stated
                or not change.touches(unit.path, comment.line, comment.end_line)
            ):
                continue
            pack = _described(comment, unit, known)
            if pack is not None:
                yield from _wrong_width(comment, unit, pack, stated)


def _described(
    comment: Comment, unit: SourceFile, known: dict[tuple[int, ...], Pack]
) -> Pack | None:
    """The known pack of which one with the same shifts stands within three lines below the comment."""
    below = unit.text(comment.end_line + 1, comment.end_line + 4)
    shifts = {int(n) for n in re.findall(r"(?:<<|>>)\s*(\d+)", below)}
    found = [pack for layout, pack in known.items() if shifts and shifts == set(layout) - {0}]
    return found[0] if len(found) == 1 else None


def _wrong_width(
    comment: Comment, unit: SourceFile, pack: Pack, stated: list[int]
) -> Iterator[Finding]:
    real = {pack.width(p, 32) for p in pack.parts} | {room(pack, p, 32) for p in pack.parts}
    wrong = [n for n in stated if n not in real]
    if not wrong or not any(n in real for n in stated):
        return
    place = next(
        (n for n in range(comment.line, comment.end_line + 1) if str(wrong[0]) in unit.text(n)),
        comment.line,
    )
    args = {
        "stated": wrong[0],
        "real": sorted(pack.width(p, 32) for p in pack.parts),
        "word": _name(pack),
    }
    at = Location(pack.function.path, pack.line, pack.end_line)
    yield Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(unit.path, place),
        message=Message("comment", args),
        subject=comment.text,
        evidence=(Definition(_name(pack), at, source_of(pack.expr)),),
    )


def _name(pack: Pack) -> str:
    return source_of(pack.target) if pack.target is not None else pack.function.name
