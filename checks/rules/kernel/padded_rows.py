"""Rows that hold nothing reach code that takes every row for real.

## What it does

Three ways in which a change lets padding through. A tensor that was made with as many rows as there are is now made
with an upper bound (`real_bsz * max_draft_tokens`), an op fills the valid rows, and the next function gets it uncut.
A shared buffer of `max_*` rows is combined element by element with rows of the running batch. A function returns padded
rows with their real lengths, the lengths are dropped with `_`, and taken again from the padded rows.

For the first way it says who reads the tensor afterwards, and whether past the valid rows (a wrong result) or not
(wasted work, and how much).

## Why it matters

PaddlePaddle/FastDeploy#7600 sends uninitialised rows through log-softmax and top-k. #4069 combined a mask of
`max_num_seqs` rows with the sampled tokens of the batch. #5399 took the length of stop sequences after padding, so the
shorter ones never matched.

## Example

```python
rows, _ = pad(sequences)                    # returns (rows, lengths)
lengths = [len(row) for row in rows]        # all the same now
```

## Known limits

Upper bounds are known by their names (`max_...`). Readers are found by the field in which the callers of the function
keep its result, and are followed into ops; which rows a Python function reads is not followed into it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import (
    ChangedFunction,
    changed_functions,
    equal_code,
    local_assignments,
    names_in,
)
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Side
from checks.domain.bitfields.ranges import source_of
from checks.domain.ops import expressions_of
from checks.domain.tensors import buffers, cut, key_of, largest, made
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign
from checks.rules.kernel._dropped_lengths import dropped
from checks.rules.kernel._grown_tensors import grown

ID = "kernel.padded-rows"

_CUT = re.compile(r"\[[\s\\]*:")  # what `cut` knows looks like this
_ELEMENTWISE = frozenset({"&", "|", "^", "+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">="})


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        if delta.python:
            yield from grown(delta, change, config, ID)
            yield from _mixed(delta, change)
            yield from dropped(delta, change, config, ID)
    yield from _widened(change, config)


def _mixed(delta: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    """`a[:n] & share["b"]`: the rows of the batch with the rows of a whole buffer."""
    for guarded in delta.statements if _CUT.search(delta.text) else ():
        stmt = guarded.stmt
        if not delta.touched(stmt.line, stmt.end_line) or not _CUT.search(
            delta.unit.text(stmt.line, stmt.end_line)
        ):
            continue
        for top in expressions_of(stmt):
            for e in E.walk(top):
                if not isinstance(e, E.Binary) or e.op not in _ELEMENTWISE:
                    continue
                for one, other in ((e.left, e.right), (e.right, e.left)):
                    source, key = cut(one), key_of(other)
                    if (
                        source is None
                        or key is None
                        or key_of(source) is None
                        or key_of(source) == key
                    ):
                        continue
                    whole = [b for b in buffers(key, change, most=1) if largest(b.rows, {})]
                    twin = [
                        b
                        for b in buffers(key_of(source) or "", change, most=1)
                        if largest(b.rows, {})
                    ]
                    if whole and twin and equal_code(whole[0].rows, twin[0].rows):
                        yield _rows_differ(
                            source_of(one),
                            key,
                            Location(whole[0].path, whole[0].line),
                            e.line,
                            delta,
                        )


def _rows_differ(one: str, key: str, at: Location, line: int, delta: ChangedFunction) -> Finding:
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.HIGH,
        location=Location(delta.unit.path, line),
        message=Message("mixed", {"one": one, "name": key, "at": at}),
        symbol=delta.head.qualname,
        subject=f"{one} {key}",
    )


def _widened(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """A shared tensor of one row became one of `max_*` rows, and is still combined with rows of the batch as it is."""
    keys: dict[str, Location] = {}
    for delta in changed_functions(change, config):
        for guarded in delta.statements if delta.python and delta.base is not None else ():
            stmt = guarded.stmt
            shape = made(stmt.value) if isinstance(stmt, Assign) else None
            key = key_of(stmt.target) if isinstance(stmt, Assign) else None
            if (
                shape is not None
                and key
                and delta.touched(stmt.line, stmt.end_line)
                and largest(shape[0], {})
            ):
                keys.setdefault(key, Location(delta.unit.path, stmt.line))
    for key in sorted(keys):
        before = buffers(key, change, Side.BASE, most=8)
        if any(isinstance(b.rows, E.Const) and b.rows.value == 1 for b in before):
            yield from _combined(key, keys[key], change, config)


def _combined(key: str, at: Location, change: ChangeSet, config: Config) -> Iterator[Finding]:
    """The first place in each changed function where the whole tensor meets one whose rows are not known."""
    for delta in changed_functions(change, config):
        if not delta.python or not delta.matches(re.compile(re.escape(key))):
            continue
        alias = {
            n for n, v in dict(local_assignments(delta.statements)).items() if key_of(v) == key
        }
        for guarded in delta.statements:
            hit = next(
                (e for top in expressions_of(guarded.stmt) for e in _meets(top, key, alias)), None
            )
            if hit is not None:
                other = hit.right if _is(hit.left, key, alias) else hit.left
                args = {"name": key, "other": source_of(other), "at": at}
                yield Finding(
                    rule=ID,
                    severity=Severity.QUESTION,
                    confidence=Confidence.MEDIUM,
                    location=Location(delta.unit.path, hit.line),
                    message=Message("widened", args),
                    symbol=delta.head.qualname,
                    subject=key,
                )
                break


def _meets(top: E.Expr, key: str, alias: set[str]) -> Iterator[E.Binary]:
    for e in E.walk(top):
        if isinstance(e, E.Binary) and e.op in _ELEMENTWISE:
            for one, other in ((e.left, e.right), (e.right, e.left)):
                if (
                    _is(one, key, alias)
                    and not isinstance(other, E.Const)
                    and names_in(other) - {key}
                ):
                    yield e


def _is(expr: E.Expr, key: str, alias: set[str]) -> bool:
    return key_of(expr) == key or (isinstance(expr, E.Name) and expr.id in alias)
