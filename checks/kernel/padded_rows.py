"""Rows that hold nothing reach code that takes every row for real.

## What it does

Three ways in which a change lets padding through. A tensor that was made with as many rows as there are is now made
with an upper bound (`real_bsz * max_draft_tokens`), an op fills the valid rows, and the next function gets it uncut.
A shared buffer of `max_*` rows is combined element by element with rows of the running batch. A function returns padded
rows with their real lengths, the lengths are dropped with `_`, and taken again from the padded rows.

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

Upper bounds are known by their names (`max_...`). How many rows a function reads is not followed into it.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.change import ChangeSet
from checks.config import Config
from checks.finding import Confidence, Finding, Location, Message, Related, Severity, Side
from checks.ir import expr as E
from checks.ir.stmt import Assign, ExprStmt, Return
from checks.kernel.deltas import Delta, deltas, names_in, same
from checks.kernel.lengths import dropped
from checks.kernel.tensors import buffers, cut, key_of, largest, made
from checks.ops import expressions
from checks.protocol.ranges import show

ID = "kernel.padded-rows"
SUMMARY = "Padding reaches code that takes every row for real"

_ELEMENTWISE = frozenset({"&", "|", "^", "+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">="})


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in deltas(change, config):
        if delta.python:
            yield from _grown(delta, change, config)
            yield from _mixed(delta, change)
            yield from dropped(delta, change, config, ID)
    yield from _widened(change, config)


def _local(delta: Delta) -> dict[str, E.Expr]:
    pairs = [(g.stmt.target, g.stmt.value) for g in delta.flat if isinstance(g.stmt, Assign)]
    return {t.id: v for t, v in pairs if isinstance(t, E.Name) and v is not None}


def _grown(delta: Delta, change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Tensors that were exact and are now made for the largest case."""
    if delta.base is None or "max" not in delta.code:
        return
    local = _local(delta)
    found: list[tuple[Assign, str, E.Expr]] = []
    for guarded in delta.flat:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name):
            continue
        shape = made(stmt.value)
        if shape is None or not delta.touched(stmt.line, stmt.end_line) or not largest(shape[0], local):
            continue
        if _was_exact(stmt.target.id, delta) and not _cut_somewhere(stmt.target.id, delta):
            found.append((stmt, shape[1], shape[0]))
    if found:
        yield from _report(found, delta, change, config)


def _was_exact(name: str, delta: Delta) -> bool:
    """Whether the base set the same name to something whose rows were counted."""
    local = {
        g.stmt.target.id: g.stmt.value
        for g in delta.flat_base
        if isinstance(g.stmt, Assign) and isinstance(g.stmt.target, E.Name) and g.stmt.value is not None
    }
    old = local.get(name)
    if old is None:
        return False
    shape = made(old)
    return not largest(shape[0], local) if shape is not None else isinstance(old, E.Call)


def _cut_somewhere(name: str, delta: Delta) -> bool:
    for guarded in delta.flat:
        for top in expressions(guarded.stmt):
            for e in E.walk(top):
                base = cut(e)
                if base is not None and E.root(base) == name and isinstance(guarded.stmt, Assign | Return | ExprStmt):
                    return True
    return False


def _report(
    found: list[tuple[Assign, str, E.Expr]], delta: Delta, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    names = [stmt.target.id for stmt, _, _ in found if isinstance(stmt.target, E.Name)]
    filler, readers = _users(set(names), delta)
    if not filler or not readers:
        return
    stmt, _, rows = next((f for f in found if f[1] == "empty"), found[0])
    args = {
        "names": names, "filler": filler, "readers": readers, "rows": show(rows), "offsets": _offsets(delta),
        "raw": [s.target.id for s, h, _ in found if h == "empty" and isinstance(s.target, E.Name)],
    }  # fmt: skip
    yield Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=Location(delta.unit.path, stmt.line, stmt.end_line),
        message=Message("uncut", args),
        symbol=delta.head.qualname,
        subject=" ".join(names),
        related=tuple(_no_longer_cut(change, config)),
    )


def _users(names: set[str], delta: Delta) -> tuple[str, list[str]]:
    """The first function that gets the tensors for what it does to them, and those that get them to read."""
    filler, readers = "", list[str]()
    for guarded in delta.flat:
        stmt = guarded.stmt
        if not isinstance(stmt, ExprStmt | Assign | Return) or stmt.value is None:
            continue
        for e in E.walk(stmt.value):
            given = isinstance(e, E.Call) and any(
                isinstance(a, E.Name) and a.id in names for a in (*e.args, *(v for _, v in e.keywords))
            )
            if not given or not isinstance(e, E.Call):
                continue
            if isinstance(stmt, ExprStmt) and not filler:
                filler = E.callee(e)
            elif filler and E.callee(e) not in readers and E.callee(e) != "print":
                readers.append(E.callee(e))
    return filler, readers


def _offsets(delta: Delta) -> str:
    """What the function returns beside its result, by which a caller can know the valid rows."""
    for guarded in delta.flat:
        if isinstance(guarded.stmt, Return) and isinstance(guarded.stmt.value, E.Sequence):
            for item in guarded.stmt.value.items:
                name = key_of(item) or (item.id if isinstance(item, E.Name) else "")
                if any(word in name for word in ("offset", "cu_", "num", "len")):
                    return name
    return ""


def _no_longer_cut(change: ChangeSet, config: Config) -> Iterator[Related]:
    """Functions that cut what they return before this change, and return it whole now."""
    for delta in deltas(change, config):
        if not delta.python:
            continue
        old = [g.stmt for g in delta.flat_base if isinstance(g.stmt, Return) and g.stmt.value is not None]
        for guarded in delta.flat:
            stmt = guarded.stmt
            if not isinstance(stmt, Return) or stmt.value is None or not delta.touched(stmt.line):
                continue
            if any(o.value is not None and (c := cut(o.value)) is not None and same(c, stmt.value) for o in old):
                yield Related(Location(delta.unit.path, stmt.line), Message("cut-removed", {}))


def _mixed(delta: Delta, change: ChangeSet) -> Iterator[Finding]:
    """`a[:n] & share["b"]`: the rows of the batch with the rows of a whole buffer."""
    for guarded in delta.flat:
        if not delta.touched(guarded.stmt.line, guarded.stmt.end_line):
            continue
        for top in expressions(guarded.stmt):
            for e in E.walk(top):
                if not isinstance(e, E.Binary) or e.op not in _ELEMENTWISE:
                    continue
                for one, other in ((e.left, e.right), (e.right, e.left)):
                    source, key = cut(one), key_of(other)
                    if source is None or key is None or key_of(source) is None or key_of(source) == key:
                        continue
                    whole = [b for b in buffers(key, change, most=1) if largest(b.rows, {})]
                    twin = [b for b in buffers(key_of(source) or "", change, most=1) if largest(b.rows, {})]
                    if whole and twin and same(whole[0].rows, twin[0].rows):
                        yield _rows_differ(show(one), key, Location(whole[0].path, whole[0].line), e.line, delta)


def _rows_differ(one: str, key: str, at: Location, line: int, delta: Delta) -> Finding:
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
    for delta in deltas(change, config):
        for guarded in delta.flat if delta.python and delta.base is not None else ():
            stmt = guarded.stmt
            shape = made(stmt.value) if isinstance(stmt, Assign) else None
            key = key_of(stmt.target) if isinstance(stmt, Assign) else None
            if shape is not None and key and delta.touched(stmt.line, stmt.end_line) and largest(shape[0], {}):
                keys.setdefault(key, Location(delta.unit.path, stmt.line))
    for key in sorted(keys):
        before = list(buffers(key, change, Side.BASE, most=8))
        if before and any(isinstance(b.rows, E.Const) and b.rows.value == 1 for b in before):
            yield from _combined(key, keys[key], change, config)


def _combined(key: str, at: Location, change: ChangeSet, config: Config) -> Iterator[Finding]:
    """The first place in each changed function where the whole tensor meets one whose rows are not known."""
    for delta in deltas(change, config):
        if not delta.python or key not in delta.code:
            continue
        alias = {n for n, v in _local(delta).items() if key_of(v) == key}
        for guarded in delta.flat:
            hit = next((e for top in expressions(guarded.stmt) for e in _meets(top, key, alias)), None)
            if hit is not None:
                other = hit.right if _is(hit.left, key, alias) else hit.left
                args = {"name": key, "other": show(other), "at": at}
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
                if _is(one, key, alias) and not isinstance(other, E.Const) and names_in(other) - {key}:
                    yield e


def _is(expr: E.Expr, key: str, alias: set[str]) -> bool:
    return key_of(expr) == key or (isinstance(expr, E.Name) and expr.id in alias)
