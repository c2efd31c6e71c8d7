"""A packed word does not come apart the way it was put together.

## What it does

Follows each packed word of a message that the change touches from the senders' expressions to every
reader, in C++ and, through the op's buffer, in Python, and proves that each reader that takes a
field out by shift and mask gets that field back for every value. Where it does not, the finding has
the values.

## Why it matters

PaddlePaddle/FastDeploy#7883 changed a bare flag into `flag | (width << 8)`; the description said 16
bits in one place and 24 in another. The next word of the same project is split at bit 16, so a
reader of one copied to the other is wrong in silence.

## Example

```cpp
msg.meta[1] = (flag & 0xFF) | (width << 8);
```
```python
flag = word & 0xFFFF      # 3 and 21 come out as 5379
```

## Known limits

Words are tied together through message structs, op arguments and buffers that are attributes; a
word passed on in another way is not followed. Fields narrower than their room are taken to stay
within the reader's mask.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Counterexample, CounterexampleRow, Finding
from checks.domain.bitfields.reading import FieldRead
from checks.domain.bitfields.roundtrip import Refutation, refute
from checks.lang.ir.render import source_of
from checks.rules.protocol._word_findings import (
    WordUse,
    touched_word_uses,
    word_name,
    word_use_finding,
)

ID = "protocol.pack-unpack-mismatch"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each field that a reader does not get back."""
    for use in touched_word_uses(change, config):
        read = use.reader.read
        if read is None:
            continue
        refutation = refute(use.pack, read)
        if refutation is not None:
            yield _finding(use, read, refutation, change)


def _finding(use: WordUse, read: FieldRead, refutation: Refutation, change: ChangeSet) -> Finding:
    field = refutation.field
    args: dict[str, object] = {
        "word": word_name(use.pack),
        "read": source_of(read.expr),
        "field": "",
        "wanted": None,
        "got": refutation.got,
        "at": use.sender.location,
    }
    if field is None:
        keys = ("between", "between-elsewhere")
    else:
        keys = ("comes-back", "comes-back-elsewhere")
        args["field"] = source_of(field.expr)
        args["wanted"] = refutation.values[use.pack.fields.index(field)]
    evidence = (_counterexample(use, read, refutation), use.sender)
    return word_use_finding(ID, *keys, args, use, change, evidence)


def _counterexample(use: WordUse, read: FieldRead, refutation: Refutation) -> Counterexample:
    rows = []
    for field, value in zip(use.pack.fields, refutation.values, strict=True):
        read_back = refutation.got if field is refutation.field else value
        rows.append(CounterexampleRow(source_of(field.expr), value, read_back))
    expression = f"{source_of(use.pack.expr)} -> {source_of(read.expr)}"
    return Counterexample(tuple(rows), refutation.word, expression)
