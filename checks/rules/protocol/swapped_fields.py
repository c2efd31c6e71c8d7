"""A reader takes two fields of a packed word for each other.

## What it does

Looks at every packed word of a message of which the change touched a sender or a reader. The sender
gives each field a place and a name (`(flag & 0xFF) | (width << 8)`); a reader gives what it takes
from a place a name too (`width = word & 0xFF`). There is a finding where two fields stand in each
other's place: what the sender calls A is taken as B, and what it calls B is taken as A, in one
function.

## Why it matters

Each field comes back whole, so no proof about bits fails, and both ends look right by themselves.
PaddlePaddle/FastDeploy#7883 put a second field into a word that until then was one number; which of
the two is the low one is known to the sender's line alone.

## Example

```cpp
msg.meta[1] = (flag & 0xFF) | (width << 8);
```
```python
width = word & 0xFF        # finding: the low byte is `flag`
flag = word >> 8
```

## Known limits

A field and a variable belong together when their names are the same but for a leading `self.`, for
underscores at the ends, and for upper and lower case. A field that is an expression or a call has
no name. One name in the wrong place alone is not reported: it may be another variable.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.rules.protocol._word_findings import (
    WordUse,
    touched_word_uses,
    word_name,
    word_use_finding,
)

ID = "protocol.swapped-fields"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each pair of fields, on the line that takes the lower one."""
    for uses in _uses_by_function(change, config):
        for use in uses:
            other = _swapped_with(use, uses)
            if other is not None and _shift(use) < _shift(other):
                yield _finding(use, other, change)


def _uses_by_function(change: ChangeSet, config: Config) -> list[list[WordUse]]:
    """The reads of one sender's word in one function, together."""
    groups: dict[tuple[object, ...], list[WordUse]] = {}
    for use in touched_word_uses(change, config):
        if use.reader.read is None:
            continue
        sender = (use.unit.path, use.pack.line)
        reader = (use.reader.unit.path, use.reader.function.qualname)
        groups.setdefault((*sender, *reader), []).append(use)
    return list(groups.values())


def _swapped_with(use: WordUse, uses: list[WordUse]) -> WordUse | None:
    """The read that takes the field which `use` is called after, and is called after its field."""
    field, name = _field_name(use), _variable_name(use)
    if not field or not name or field == name:
        return None
    for other in uses:
        if _field_name(other) == name and _variable_name(other) == field:
            return other
    return None


def _shift(use: WordUse) -> int:
    read = use.reader.read
    return read.shift if read is not None else 0


def _field_name(use: WordUse) -> str:
    """What the sender calls the field that `use` takes, empty where it has no name."""
    for field in use.pack.fields:
        if field.shift == _shift(use):
            return _plain_name(field.expr)
    return ""


def _variable_name(use: WordUse) -> str:
    """What the reader calls it, empty where it is not assigned to a name."""
    read = use.reader.read
    if read is None or read.target is None:
        return ""
    return _plain_name(read.target)


def _plain_name(expr: E.Expr) -> str:
    """`width` for `width`, `self.width_` and `Width`; empty for what is no name."""
    match expr:
        case E.Name(id=name) | E.Attr(name=name):
            return name.strip("_").lower()
        case E.Cast(operand=operand):
            return _plain_name(operand)
        case _:
            return ""


def _finding(use: WordUse, other: WordUse, change: ChangeSet) -> Finding:
    read, other_read = use.reader.read, other.reader.read
    assert read is not None and other_read is not None
    args: dict[str, object] = {
        "word": word_name(use.pack),
        "read": source_of(read.expr),
        "taken": source_of(read.target) if read.target is not None else "",
        "field": _field_name(use),
        "line": other.reader.line,
        "at": use.sender.location,
    }
    return word_use_finding(ID, "swapped", "swapped-elsewhere", args, use, change, (use.sender,))
