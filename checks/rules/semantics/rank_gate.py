"""A change to which ranks send or receive a message, and what it means for those who call.

## What it does

Reads the condition under which a function sends or receives as a boolean function of the rank and of its flags
(`if (!save_each_rank && rank_id > 0) return;`), before and after the change, and where the two differ says for which
values. Reports a flag that the new gate no longer reads although callers go on passing it; a caller that passes another
kind of rank than the new gate is right for (a device or data-parallel rank where only tensor-parallel ranks share their
output); and a gate that fell away, so that more ranks send or receive than before.

## Why it matters

PaddlePaddle/FastDeploy#7192 made two senders return for every `rank_id > 0`. The proposer passes its device rank and
`use_ep`: ranks above 0 of a deployment with data or expert parallelism no longer send their draft logprobs.

## Example

```cpp
if (!save_each_rank && rank_id > 0) return;    // before: each rank sends where the caller asks for it
if (rank_id > 0) return;                       // after: `save_each_rank` has lost its meaning
```

## Known limits

What kind of rank an argument is, is told from its name (`mp_rank`, `local_rank`, `data_parallel_rank`). A gate that a
new parameter opens is taken to be meant. Copies of the gate on other hardware are `sync.op`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Finding,
    Location,
    Message,
    Severity,
    Side,
    Step,
)
from checks.domain.bitfields.ranges import source_of
from checks.domain.messages import Messages
from checks.domain.ops import calls_of, expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Opaque, guarded_statements
from checks.lang.source import language
from checks.rules.semantics._rank_callers import TENSOR, Site, kind_of, sites
from checks.rules.semantics._rank_conditions import Gate, Row, gates, ranks, table

ID = "semantics.rank-gate"
# A rank beside a number, either way round, or one that a `switch` or `match` tells cases of: no gate has another form.
# Each begins with plain characters, by which it is looked for.
_RANK = (
    re.compile(r"rank(?:_id|_idx)?[\s)\\]*(?:[!=]=|[<>])"),
    re.compile(r"[!=<>](?:(?<=[<>])=?|=)[\s(\\]*[\w.:>-]*rank"),
    re.compile(r"switch\b[^\n]*rank"),
    re.compile(r"match\b[^\n]*rank"),
)
_MOST_ROWS = 6


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for old, new in change.changed_functions():
        if old is None or new is None or config.is_test(new.path):
            continue
        unit, base = change.unit(new.path), _base_unit(new.path, change)
        if unit is None or base is None or not (_asks(old, base) or _asks(new, unit)):
            continue
        for before, after in _pairs(old, base, new, unit, change, config):
            rows = table(before, after)
            if rows and not _opened(rows, before, after):
                yield from _judge(before, after, rows, unit, base, change, config)


def _base_unit(path: str, change: ChangeSet) -> SourceFile | None:
    file = change.changed(path)
    return change.unit(file.base_path, Side.BASE) if file is not None and file.base_path else None


def _asks(function: Function, unit: SourceFile) -> bool:
    text = unit.text(function.start_line, function.end_line)
    return "rank" in text and any(form.search(text) for form in _RANK)


def _pairs(
    old: Function,
    base: SourceFile,
    new: Function,
    unit: SourceFile,
    change: ChangeSet,
    config: Config,
) -> Iterator[tuple[Gate, Gate]]:
    """The gates of the same transfer before and after; a function that transfers in one place has one pair."""
    ends = Messages.of(change, config).of_unit(unit) if language(new.path) == "cpp" else ()
    were = (
        Messages.of(change, config, Side.BASE).of_unit(base) if language(old.path) == "cpp" else ()
    )
    before, after = gates(old, were), gates(new, ends)
    for name in dict.fromkeys(g.name for g in after):
        mine, theirs = [g for g in after if g.name == name], [g for g in before if g.name == name]
        if len(mine) == len(theirs):
            seen: set[tuple[int, int]] = set()
            for one, two in zip(theirs, mine, strict=True):
                if (one.place, two.place) not in seen:
                    seen.add((one.place, two.place))
                    yield one, two
        if language(new.path) == "cpp":
            return


def _opened(rows: list[Row], before: Gate, after: Gate) -> bool:
    """Whether the change gave callers a new parameter that decides, which is meant."""
    fresh = {p.name for p in after.function.params} - {p.name for p in before.function.params}
    return bool(fresh & set(after.flags)) and all(r.after for r in rows)


def _judge(
    before: Gate,
    after: Gate,
    rows: list[Row],
    unit: SourceFile,
    base: SourceFile,
    change: ChangeSet,
    config: Config,
) -> Iterator[Finding]:
    closed = [r for r in rows if r.before]
    lost = [
        f
        for f in before.flags
        if f in {p.name for p in after.function.params} and not _reads(after.function, f)
    ]
    cpp = unit.language == "cpp"
    rank = (after.ranks or before.ranks)[0] if (after.ranks or before.ranks) else ""
    flag = lost[0] if lost else next(iter(f for f in before.flags if f.isidentifier()), "")
    known = list(sites(after.function, unit, rank, flag, change, config)) if cpp and rank else []
    narrowed = list(_narrowed(before, after, closed, unit, base)) if closed and not cpp else []
    yield from narrowed
    if lost and not narrowed:
        yield _lost(lost[0], rank, before, after, rows, known, unit, base)
    if closed and cpp:
        yield from _callers(known, flag, closed, after, unit)
    if not closed and not lost and not _moved(after.function, unit):
        yield _widened(before, after, rows, unit, base)


def _moved(function: Function, unit: SourceFile) -> bool:
    """Whether a caller in this file asks for the rank before it calls `function`."""
    for other in unit.functions:
        if function.name in unit.text(other.start_line, other.end_line):
            for call, guards in calls_of(other.body):
                if E.callee(call) == function.name and any(list(ranks(g)) for g in guards):
                    return True
    return False


def _reads(function: Function, name: str) -> bool:
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Opaque) and name in guarded.stmt.text:
            return True
        if any(name in E.names(top) for top in expressions_of(guarded.stmt)):
            return True
    return False


def _lost(
    flag: str,
    rank: str,
    before: Gate,
    after: Gate,
    rows: list[Row],
    known: list[Site],
    unit: SourceFile,
    base: SourceFile,
) -> Finding:
    passing = [s for s in known if not (isinstance(s.flag, E.Const) and s.flag.value is False)]
    args = {
        "flag": flag, "rank": rank, "function": after.function.name, "callers": len(passing),
        "closed": [r.text for r in rows if r.before][:_MOST_ROWS], "opened": _texts(rows),
    }  # fmt: skip
    shown = tuple(
        Definition(
            flag,
            Location(s.unit.path, s.flag.line or s.call.line),
            source_of(s.flag),
            _line(s.unit, s.flag.line),
        )
        for s in passing
        if s.flag is not None
    )
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(unit.path, after.place),
        message=Message("lost", args),
        symbol=after.function.qualname,
        subject=flag,
        evidence=(*_steps(before, after, unit, base), *shown),
    )


def _callers(
    known: list[Site], flag: str, closed: list[Row], gate: Gate, unit: SourceFile
) -> Iterator[Finding]:
    """Calls that pass another kind of rank than tensor-parallel, for which the new gate drops what was sent."""
    good = [s for s in known if s.kind == TENSOR]
    for site in known:
        if site.kind in ("", TENSOR) or not _hit(site, flag, closed):
            continue
        args = {
            "function": gate.function.name, "op": E.callee(site.call), "rank": source_of(site.rank), "kind": site.kind,
            "flag": source_of(site.flag) if site.flag is not None else "", "pinned": site.pinned,
            "at": Location(unit.path, gate.place), "others": [source_of(s.rank) for s in good],
            "closed": [r.text for r in closed][:_MOST_ROWS],
        }  # fmt: skip
        here = Definition(
            source_of(site.rank),
            Location(site.unit.path, site.line),
            site.kind,
            _line(site.unit, site.line),
        )
        others = (
            Definition(
                source_of(s.rank), Location(s.unit.path, s.line), s.kind, _line(s.unit, s.line)
            )
            for s in good
        )
        yield Finding(
            rule=ID,
            severity=Severity.QUESTION,
            confidence=Confidence.HIGH if good or site.pinned else Confidence.MEDIUM,
            location=Location(site.unit.path, site.line),
            message=Message("caller", args),
            symbol=site.function.qualname,
            subject=f"{E.callee(site.call)} {source_of(site.rank)}",
            evidence=(here, *others),
        )


def _hit(site: Site, flag: str, closed: list[Row]) -> bool:
    """Whether what the call passes can be one of the values for which nothing is sent any more."""
    if isinstance(site.flag, E.Const) and flag:
        return any(
            dict(r.values).get(flag, int(bool(site.flag.value))) == int(bool(site.flag.value))
            for r in closed
        )
    return True


def _narrowed(
    before: Gate, after: Gate, closed: list[Row], unit: SourceFile, base: SourceFile
) -> Iterator[Finding]:
    """Python that newly lets only one device, data-parallel or expert-parallel rank through."""
    fresh = [n for n in after.ranks if n not in before.ranks]
    wrong = [n for n in fresh if kind_of(E.Name(n.rsplit(".", 1)[-1])) not in ("", TENSOR)]
    if wrong:
        kind = kind_of(E.Name(wrong[0].rsplit(".", 1)[-1]))
        args = {
            "rank": wrong[0],
            "kind": kind,
            "name": after.name,
            "closed": [r.text for r in closed][:_MOST_ROWS],
        }
        yield _gate_finding(Message("narrowed", args), before, after, unit, base)


def _widened(
    before: Gate, after: Gate, rows: list[Row], unit: SourceFile, base: SourceFile
) -> Finding:
    args = {"function": after.function.name, "name": after.name, "opened": _texts(rows)}
    return _gate_finding(Message("widened", args), before, after, unit, base)


def _gate_finding(
    message: Message, before: Gate, after: Gate, unit: SourceFile, base: SourceFile
) -> Finding:
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(unit.path, after.place),
        message=message,
        symbol=after.function.qualname,
        subject=" and ".join(map(source_of, after.tests)) or after.name,
        evidence=_steps(before, after, unit, base),
    )


def _texts(rows: list[Row]) -> list[str]:
    return [r.text for r in rows if r.after][:_MOST_ROWS]


def _steps(before: Gate, after: Gate, unit: SourceFile, base: SourceFile) -> tuple[Step, ...]:
    was = Location(base.path, before.place, before.place, Side.BASE)
    now = Location(unit.path, after.place)
    return (
        Step(was, _line(base, before.place), Message("gate-before")),
        Step(now, _line(unit, after.place), Message("gate-after")),
    )


def _line(unit: SourceFile, line: int) -> str:
    return unit.text(line).strip() if line else ""
