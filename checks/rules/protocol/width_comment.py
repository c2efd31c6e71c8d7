"""A comment beside a packed word states another width than the code has.

## What it does

Reads the comments that the change wrote, in any file, within four lines above the shifts of a
packed word that the change touches. Where a comment gives a number of bits, it has to be the width
of a field of that word. A comment that gives no right number at all is about something else and is
left alone.

## Why it matters

PaddlePaddle/FastDeploy#7883 packed `flag | (width << 8)` and said 16 bits in one place and 24 in
another. The next reader is written from the comment.

## Example

```cpp
// flag in the low 8 bits, width in the high 16 bits: it has 24
msg.meta[1] = (flag & 0xFF) | (width << 8);
```

## Known limits

Words are told by their shifts: two words of one layout are not told apart. Widths in words
("a byte") are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.bitfields.packed_words import packed_words
from checks.domain.bitfields.packing import PackExpr
from checks.domain.bitfields.roundtrip import usable_width
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import Comment, SourceFile
from checks.lang.source import language
from checks.rules.protocol._word_findings import word_name

ID = "protocol.width-comment"

_WIDTH = re.compile(r"(?i)\b(\d{1,2})[ -]?bits?\b|(\d{1,2})\s*位")
_SHIFT = re.compile(r"(?:<<|>>)\s*(\d+)")
_LINES_BELOW = 4
_WORD_BITS = 32

# The shifts of a word's fields -> the first expression with those shifts.
PacksByShifts = dict[tuple[int, ...], PackExpr]


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each comment with a wrong width."""
    packs: PacksByShifts = {}
    for word in packed_words(change, config):
        for _, pack in word.packs:
            shifts = tuple(field.shift for field in pack.fields)
            packs.setdefault(shifts, pack)
    if not packs:
        return
    for file in change.files:
        yield from _wrong_comments(file, packs, change)


def _wrong_comments(file: FileChange, packs: PacksByShifts, change: ChangeSet) -> Iterator[Finding]:
    path = file.head_path
    if path is None or not language(path):
        return
    unit = change.unit(path)
    if unit is None:
        return
    for comment in unit.comments:
        widths = [int(english or chinese) for english, chinese in _WIDTH.findall(comment.text)]
        if not widths or not change.touches(unit.path, comment.line, comment.end_line):
            continue
        pack = _described_pack(comment, unit, packs)
        if pack is None:
            continue
        wrong = _wrong_width(widths, pack)
        if wrong is not None:
            yield _finding(comment, unit, pack, wrong)


def _described_pack(comment: Comment, unit: SourceFile, packs: PacksByShifts) -> PackExpr | None:
    """The one pack whose shifts stand just below the comment."""
    below = unit.text(comment.end_line + 1, comment.end_line + _LINES_BELOW)
    shifts = {int(digits) for digits in _SHIFT.findall(below)}
    if not shifts:
        return None
    described = [pack for known, pack in packs.items() if shifts == set(known) - {0}]
    return described[0] if len(described) == 1 else None


def _wrong_width(widths: list[int], pack: PackExpr) -> int | None:
    """The first of `widths` that no field has, where another one is right."""
    real: set[int] = set()
    for field in pack.fields:
        real.add(pack.width(field, _WORD_BITS))
        real.add(usable_width(pack, field, _WORD_BITS))
    wrong = [width for width in widths if width not in real]
    if not wrong or len(wrong) == len(widths):
        return None
    return wrong[0]


def _finding(comment: Comment, unit: SourceFile, pack: PackExpr, wrong: int) -> Finding:
    word = word_name(pack)
    args = {
        "stated": wrong,
        "real": sorted(pack.width(field, _WORD_BITS) for field in pack.fields),
        "word": word,
    }
    place = Location(pack.function.path, pack.line, pack.end_line)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(unit.path, _line_with(str(wrong), comment, unit)),
        message=Message("comment", args),
        subject=comment.text,
        evidence=(Definition(word, place, source_of(pack.expr)),),
    )


def _line_with(text: str, comment: Comment, unit: SourceFile) -> int:
    for line in range(comment.line, comment.end_line + 1):
        if text in unit.text(line):
            return line
    return comment.line
