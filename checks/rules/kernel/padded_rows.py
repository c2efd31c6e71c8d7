"""A tensor is now made for the largest case, filled in part, and handed on uncut.

## What it does

A tensor that was made with as many rows as there are is now made with an upper bound (`real_bsz *
max_draft_tokens`), an op fills the valid rows, and the next function gets it uncut. The finding
says who reads the tensor afterwards, and whether past the valid rows (a wrong result) or not
(wasted work, and how much).

## Why it matters

PaddlePaddle/FastDeploy#7600 sends uninitialised rows through log-softmax and top-k.

## Example

```python
rows = paddle.empty([real_bsz * max_draft_tokens, vocab])   # was: [accept_num.sum(), vocab]
gather_logits(rows, logits, offsets)                        # fills the valid rows
return log_softmax(rows)                                    # takes every row
```

## Known limits

Upper bounds are known by their names (`max_...`), and so are the starts or the number of the valid
rows: who gets them beside the rows is taken to read no further. Readers are found by the field in
which the callers of the function keep its result, and are followed into ops; which rows a Python
function reads is not followed into it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import equal_code, local_assignments, names_in
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.tensors import VOCABULARY, allocation_of, is_upper_bound, key_of, sliced_tensor
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.stmt import Assign, ExprStmt, Return, negate
from checks.rules.kernel._code_walks import expressions_in
from checks.rules.kernel._row_consumers import (
    CUT,
    KEPT,
    MOVED,
    PAST,
    RowConsumer,
    consumer_steps,
    find_consumers,
)

ID = "kernel.padded-rows"
_LOGITS = re.compile(r"(?i)logit|vocab")
# By these a reader knows the valid rows: their starts, or how many there are.
_ROW_STARTS = re.compile(
    r"offset|indptr|(^|_)cu_|(^|_)(starts?|lens|lengths|counts)(_|$)|(^|_)accept_num(_|$)"
)
_OFFSET_WORDS = ("offset", "cu_", "num", "len")


@dataclass(frozen=True, slots=True)
class GrownTensor:
    """A tensor that was exact and is now made, by `maker`, with `rows` for the largest case."""

    stmt: Assign
    name: str
    rows: E.Expr
    maker: str


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python and changed.base is not None:
            grown = list(_grown_tensors(changed))
            # A bound that only a key in quotes names (`config["max_rows"]`) does not count.
            if grown and "max" in changed.code:
                yield from _uncut(grown, changed, change, config)


def _grown_tensors(changed: ChangedFunction) -> Iterator[GrownTensor]:
    local = dict(local_assignments(changed.statements))
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name):
            continue
        shape = allocation_of(stmt.value)
        if shape is None or not changed.touched(stmt.line, stmt.end_line):
            continue
        rows, maker = shape
        name = stmt.target.id
        if not is_upper_bound(rows, local) or not _was_exact(name, changed):
            continue
        if not _is_cut_somewhere(name, changed):
            yield GrownTensor(stmt, name, rows, maker)


def _was_exact(name: str, changed: ChangedFunction) -> bool:
    """Whether the base set the same name to something whose rows were counted."""
    local = dict(local_assignments(changed.base_statements))
    old = local.get(name)
    if old is None:
        return False
    shape = allocation_of(old)
    # What a function returned had as many rows as it filled.
    if shape is None:
        return isinstance(old, E.Call)
    return not is_upper_bound(shape[0], local)


def _is_cut_somewhere(name: str, changed: ChangedFunction) -> bool:
    """Whether the function takes the first rows of the tensor."""
    for guarded, e in expressions_in(changed.statements):
        whole = sliced_tensor(e)
        if whole is None or E.root(whole) != name:
            continue
        if isinstance(guarded.stmt, Assign | Return | ExprStmt):
            return True
    return False


def _uncut(
    grown: list[GrownTensor], changed: ChangedFunction, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    """One finding for all tensors that grew, where an op fills them and others take them."""
    names = [tensor.name for tensor in grown]
    filler, takers = _users(grown, changed)
    if not filler or not takers:
        return
    # Uninitialised rows do more harm than zeros, so they are shown first.
    shown = next((tensor for tensor in grown if tensor.maker == "empty"), grown[0])
    offsets = _returned_offsets(changed)
    consumers: tuple[RowConsumer, ...] = ()
    if offsets:
        consumers = find_consumers(changed, set(names), offsets, filler, change, config)
    of_vocabulary = any(_LOGITS.search(name) for name in names_in(shown.stmt.value))
    args = {
        "names": names,
        "filler": filler,
        "takers": takers,
        "rows": source_of(shown.rows),
        "offsets": offsets,
        "raw": [tensor.name for tensor in grown if tensor.maker == "empty"],
        "kept": [c.name for c in consumers if c.kind in (KEPT, CUT)],
        "past": [c.name for c in consumers if c.kind == PAST],
        "moved": [c.name for c in consumers if c.kind == MOVED],
        "factors": _factors(shown.rows),
        "vocabulary": VOCABULARY if of_vocabulary else 0,
    }
    yield Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=Location(changed.unit.path, shown.stmt.line, shown.stmt.end_line),
        message=Message("uncut", args),
        symbol=changed.head.qualname,
        subject=" ".join(names),
        evidence=consumer_steps(consumers, offsets, change),
        related=tuple(_removed_cuts(change, config)),
    )


def _factors(rows: E.Expr) -> list[str]:
    """(how many, upper bound of each) of `real_bsz * max_draft_tokens`, empty for another form."""
    match rows:
        case E.Binary(op="*", left=left, right=right):
            if is_upper_bound(left, {}):
                left, right = right, left
            return [source_of(left), source_of(right)]
    return []


def _users(grown: list[GrownTensor], changed: ChangedFunction) -> tuple[str, list[str]]:
    """The first function that is called for its effect on the tensors, and those that read them."""
    filler, takers = "", list[str]()
    made = [g.guards for g in changed.statements if any(g.stmt is t.stmt for t in grown)]
    names = {tensor.name for tensor in grown}
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, ExprStmt | Assign | Return) or stmt.value is None:
            continue
        if all(_exclude_each_other(guards, guarded.guards) for guards in made):
            continue
        for e in E.walk(stmt.value):
            if not isinstance(e, E.Call) or not _is_given(names, e):
                continue
            called = E.callee(e)
            if isinstance(stmt, ExprStmt) and not filler:
                filler = called
            elif filler and called not in (*takers, "print") and not _gets_row_starts(e):
                takers.append(called)
    return filler, takers


def _exclude_each_other(guards: tuple[E.Expr, ...], others: tuple[E.Expr, ...]) -> bool:
    """Whether the two stand on branches of which only one is taken."""
    return any(negate(guard) in others for guard in guards)


def _is_given(names: set[str], call: E.Call) -> bool:
    """Whether one of the variables is an argument of the call."""
    arguments = [*call.args, *(value for _, value in call.keywords)]
    return any(isinstance(a, E.Name) and a.id in names for a in arguments)


def _gets_row_starts(call: E.Call) -> bool:
    """Whether a call hands over, beside the rows, where they begin or how many are valid."""
    words = {name for name, _ in call.keywords}
    for argument in (*call.args, *(value for _, value in call.keywords)):
        words |= names_in(argument)
    return any(_ROW_STARTS.search(word) for word in words)


def _returned_offsets(changed: ChangedFunction) -> str:
    """What the function returns beside its result, by which a caller can know the valid rows."""
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Return) or not isinstance(stmt.value, E.Sequence):
            continue
        for item in stmt.value.items:
            name = key_of(item) or (item.id if isinstance(item, E.Name) else "")
            if any(word in name for word in _OFFSET_WORDS):
                return name
    return ""


def _removed_cuts(change: ChangeSet, config: Config) -> Iterator[Related]:
    """Functions that cut what they return before this change, and return it whole now."""
    for changed in changed_functions(change, config):
        if not changed.python:
            continue
        were_cut = _cut_returns(changed)
        for guarded in changed.statements:
            stmt = guarded.stmt
            if not isinstance(stmt, Return) or stmt.value is None:
                continue
            if not changed.touched(stmt.line):
                continue
            if any(equal_code(whole, stmt.value) for whole in were_cut):
                place = Location(changed.unit.path, stmt.line)
                yield Related(place, Message("cut-removed", {}))


def _cut_returns(changed: ChangedFunction) -> list[E.Expr]:
    """The tensors of which the function returned the first rows before the change."""
    found: list[E.Expr] = []
    for guarded in changed.base_statements:
        stmt = guarded.stmt
        if isinstance(stmt, Return) and stmt.value is not None:
            whole = sliced_tensor(stmt.value)
            if whole is not None:
                found.append(whole)
    return found
