"""A reader takes a word as one number, though several fields are packed into it.

## What it does

Follows each packed word of a message that the change touches from the senders' expressions to every
reader, in C++ and, through the op's buffer, in Python. It reports a reader that assigns the word to
a variable and takes no field out of it.

## Why it matters

PaddlePaddle/FastDeploy#7883 changed a bare flag into `flag | (width << 8)`. A reader left behind
would have seen flag 5379 instead of 3.

## Example

```cpp
msg.meta[1] = (flag & 0xFF) | (width << 8);     // was: msg.meta[1] = flag
```
```python
flag = int(self.buffer[1, 0])                   # 5379
```

## Known limits

Words are tied together through message structs, op arguments and buffers that are attributes; a
word passed on in another way is not followed. A variable that is handed to a function which takes
the fields out is reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.lang.ir.render import source_of
from checks.rules.protocol._word_findings import touched_word_uses, word_name, word_use_finding

ID = "protocol.whole-word-read"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each sender and each variable that holds the whole word."""
    for use in touched_word_uses(change, config):
        if use.reader.read is not None:
            continue
        args: dict[str, object] = {
            "word": word_name(use.pack),
            "name": use.reader.variable,
            "fields": [source_of(field.expr) for field in use.pack.fields],
            "at": use.sender.location,
        }
        evidence = (use.sender,)
        yield word_use_finding(ID, "whole", "whole-elsewhere", args, use, change, evidence)
