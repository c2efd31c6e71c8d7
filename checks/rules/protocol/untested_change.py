"""A message's protocol changed on one side, and no test exercises it.

## What it does

Compares what each C++ sender and receiver of a message does before and after the change: which
member gets which value under which conditions, where it is handed on, and how large the members
are, with locals put back in, so that comments, log lines and moved code do not count. Where that
changed and no test calls any of the ops that changed, it says so once for the message.

## Why it matters

PaddlePaddle/FastDeploy#7884 packed a second field into a message word at two senders and a
receiver. The tests near it wrote the word by hand, in the old form: no test calls one of the three
ops.

## Example

```cpp
-  msg.meta[1] = message_flag;
+  msg.meta[1] = message_flag | (width << 8);    // and nothing under tests/ calls save_rows
```

## Known limits

A test exercises an op when it calls or imports it by name; one that reaches it through a Python
wrapper is not seen. Where no test calls any op of the folder, nothing is said: one more test would
have nothing to stand on. A message sent without a struct (a byte buffer, a Python object) is not
followed.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Message, Related, Severity
from checks.domain.messages import MessageEnd, Messages
from checks.rules.protocol._altered_ends import AlteredEnd, altered_ends
from checks.rules.protocol._op_coverage import has_tested_neighbour, is_tested

ID = "protocol.untested-change"

_MOST_NAMES = 6
# A change of more messages than this is one change made everywhere, and said once.
_MOST_MESSAGES = 2


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each message that changed without a test."""
    altered = list(altered_ends(change, config))
    untested = []
    for group in _by_message(altered, Messages.of(change, config)):
        if _is_untested(group, change, config):
            untested.append(group)
    if len(untested) > _MOST_MESSAGES:
        untested = [[end for group in untested for end in group]]
    for group in untested:
        yield _finding(group)


def _by_message(altered: list[AlteredEnd], messages: Messages) -> list[list[AlteredEnd]]:
    """The altered ends of each message; those that touch the message itself come first."""
    groups: list[list[AlteredEnd]] = []
    for end in altered:
        for group in groups:
            if any(_is_same_message(end.end, other.end, messages) for other in group):
                group.append(end)
                break
        else:
            groups.append([end])
    return [sorted(group, key=_report_order) for group in groups]


def _report_order(altered: AlteredEnd) -> tuple[bool, str, int]:
    return not altered.on_message, altered.place.path, altered.place.start_line


def _is_same_message(first: MessageEnd, second: MessageEnd, messages: Messages) -> bool:
    """The same message, or the same op's message on other hardware."""
    if set(first.ops) & set(second.ops):
        return True
    return first.struct.name == second.struct.name and messages.same(first, second)


def _is_untested(group: list[AlteredEnd], change: ChangeSet, config: Config) -> bool:
    """Whether the ends belong to ops, and no test calls one of those though others are tested."""
    ops = _ops(group)
    if not ops or any(is_tested(op, change, config) for op in sorted(ops)):
        return False
    return any(has_tested_neighbour(altered.place.path, change, config) for altered in group)


def _ops(group: list[AlteredEnd]) -> list[str]:
    ops: dict[str, None] = {}
    for altered in group:
        ops.update(dict.fromkeys(altered.end.ops))
    return list(ops)


def _finding(group: list[AlteredEnd]) -> Finding:
    first, *others = group
    function = first.end.function
    struct = first.end.struct
    args = {
        "struct": struct.name,
        "ops": _ops(group)[:_MOST_NAMES],
        "role": first.end.role,
        "function": function.name,
        "count": len(group),
    }
    related = []
    for other in others[:_MOST_NAMES]:
        also = {"function": other.end.function.name, "role": other.end.role}
        related.append(Related(other.place, Message("also", also)))
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=first.place,
        message=Message("untested", args),
        symbol=function.qualname,
        subject=struct.name,
        related=tuple(related),
    )
