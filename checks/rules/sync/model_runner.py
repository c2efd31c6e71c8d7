"""A change altered one hardware's copy of a function, and the copies on other hardware keep the old form.

## What it does

Pairs the files of a family (`[[family]]` of the configuration, else files whose paths differ only in the name of a
hardware) and their functions (by name, else by how alike they read). Compares what a function does before and after
the change: values assigned, arguments of calls, conditions, and the members of an enum that a branch knows. Where a
sibling still does what the changed function did before, its lines are named; siblings that need nothing are listed
with the reason.

## Why it matters

PaddlePaddle/FastDeploy#7884 let the GPU runner use the width of top logprobs that was asked for; the Metax runner
kept the same statement with its 20. #5399 passed a new field to `ModelOutputData` in two runners of three.

## Example

```python
# gpu_model_runner.py, changed: the limit of 20 is gone
self.max_logprobs = max(wanted)
# metax_model_runner.py, as it was
self.max_logprobs = max(wanted) if not self.speculative_decoding else 20
```

## Known limits

What a change only adds (a new statement, a new method) has no old form to look for, and statements that it removed are
not followed. A copy whose form differed before the change is left alone. What the new form needs and a sibling does
not have at all (an attribute, a key) counts as a feature that is not there, unless most copies have it and it is never
None. A sibling whose own value this change altered is taken to follow, and so is one on whose hardware nothing reads
what came. A value that only got a name, or is reached through another object, is no alteration.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Location, Message, Severity, Sibling
from checks.domain import siblings as S
from checks.domain.call_targets import Targets
from checks.domain.hardware_reach import Readers
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.sync._effects import Alteration, alterations, weight
from checks.rules.sync._refactors import means_the_same, moved_only
from checks.rules.sync._search import Search
from checks.rules.sync._stale_copy import Lag, hardware_only, lacking
from checks.rules.sync._transplant import old_part, ported
from checks.rules.sync._why_unaffected import verdict

ID = "sync.model-runner"
MOST_A_FILE = 3
_ORDER = list(Confidence)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    yield from change.memo((ID, "findings"), lambda: tuple(_all(change, config)))


def _all(change: ChangeSet, config: Config) -> Iterator[Finding]:
    search = Search(
        change, config, S.Names.of(config), Readers(change, config, Targets.of_change(change))
    )
    found: dict[str, list[Lag]] = {}
    for old, new, paths in S.paired_changes(change, config):
        before, unit = S.base_unit(new.path, change), change.unit(new.path)
        if not paths or before is None or unit is None:
            continue
        for alteration in _meant(old, new, before, unit):
            for lag in (
                search.lags(alteration, unit, paths)
                if not moved_only(alteration, change, config)
                else ()
            ):
                found.setdefault(lag.unit.path, []).append(lag)
    told: set[object] = set()
    for _, items in sorted(found.items()):
        for group in _groups(_distinct(items))[:MOST_A_FILE]:
            yield _finding(group, found, search, told)


def _meant(old: Function, new: Function, before: SourceFile, unit: SourceFile) -> list[Alteration]:
    """The alterations that may concern a copy; kept with the new function, as the rule runs again for each fix."""

    def found() -> list[Alteration]:
        every = (a for a in alterations(old, new, before, unit) if not hardware_only(a))
        return [a for a in every if not means_the_same(a, (old, before), (new, unit))]

    return new.body.memo((_meant, old.path, old.start_line), found)


def _distinct(items: list[Lag]) -> list[Lag]:
    """One lag for each statement of the sibling: what came to a call before its changed values, before the value that
    the call is part of; and the most certain of what several runners' changes say."""
    best: dict[tuple[int, int], Lag] = {}
    for lag in items:
        span = lag.effect.start, lag.effect.end
        if span not in best or _rank(lag) < _rank(best[span]):
            best[span] = lag
    return sorted(best.values(), key=lambda lag: lag.line)


def _rank(lag: Lag) -> tuple[int, int, int]:
    kind = lag.alteration.kind
    first = 0 if kind == "enum" else 1 if lag.alteration.gained else 2 if kind == "call" else 3
    size = 0 if isinstance(lag.effect.form, tuple) else weight(lag.effect.form)
    return first, _ORDER.index(lag.confidence), size


def _groups(items: list[Lag]) -> list[list[Lag]]:
    """Lags of one changed aspect, or of one function, together; the most certain groups first."""
    groups: list[list[Lag]] = []
    for lag in items:
        for group in groups:
            if any(lag.function is o.function or _aspect(lag) == _aspect(o) for o in group):
                group.append(lag)
                break
        else:
            groups.append([lag])
    return sorted(groups, key=lambda g: (min(_ORDER.index(x.confidence) for x in g), g[0].line))


def _aspect(lag: Lag) -> tuple[object, ...]:
    alteration = lag.alteration
    words = alteration.gained, alteration.lost, alteration.altered
    form = None if alteration.kind == "call" or any(words) else alteration.new.form
    return alteration.kind, alteration.old.key, words, form


def _finding(
    group: list[Lag], found: dict[str, list[Lag]], search: Search, told: set[object]
) -> Finding:
    first = min(group, key=lambda lag: (_ORDER.index(lag.confidence), _rank(lag)[0], lag.line))
    exact = any(lag.exact and lag.confidence is Confidence.HIGH for lag in group)
    evidence = [_lagging(lag, search) for lag in group]
    if _aspect(first) not in told:
        told.add(_aspect(first))
        evidence += _others(first, found, search)
    alone = not _leads(first, search)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION if exact else Severity.QUESTION,
        confidence=first.confidence,
        location=first.location,
        message=_message(first, len({lag.location for lag in group}) - 1),
        symbol=first.function.qualname,
        subject=f"{first.alteration.kind} {_shown(first)} {' '.join(first.alteration.gained)}",
        evidence=tuple(evidence),
        fix=_fix(group, search.change),
        pedantic=alone,
    )


def _leads(lag: Lag, search: Search) -> bool:
    """Whether others follow the changed file: it is the GPU's or no hardware's, or one more copy was changed with it.

    What one other hardware alone does differently is mostly what that hardware needs.
    """
    path, change = lag.alteration.function.path, search.change
    own = {*lag.alteration.function.name.split("_")} & search.names.hardware - {"gpu", "cuda"}
    if search.config.hardware_of(path) in ("", "gpu") and not own:
        return True
    return any(
        change.changed(p) and p != lag.unit.path
        for p in S.sibling_files(path, change, search.config)
    )


def _message(lag: Lag, more: int) -> Message:
    alteration = lag.alteration
    args = {
        "function": lag.function.qualname,
        "name": _shown(lag),
        "gained": list(alteration.gained),
        "kept": [*alteration.lost, *alteration.altered],
        "changed": Location(alteration.function.path, alteration.new.line),
        "more": more,
    }
    if alteration.kind == "call" and not (alteration.gained and not alteration.lost):
        return Message("argument", args)
    keys = {"assign": "value", "branch": "branch", "enum": "enum", "call": "keyword"}
    return Message(keys[alteration.kind], args)


def _shown(lag: Lag) -> str:
    """The place, the function called, the enum, or the condition, as the sibling writes it."""
    key = lag.effect.key
    if isinstance(key, str) and key:
        return key
    if lag.alteration.kind == "call" and not isinstance(key, str):
        return E.dotted(key) or E.callee(E.Call(key))
    line = lag.unit.lines[lag.effect.start - 1].strip()
    return line.split(" = ")[0] if lag.alteration.kind == "assign" else line


def _lagging(lag: Lag, search: Search) -> Sibling:
    excerpt, after = (
        lag.unit.lines[lag.line - 1].strip(),
        search.change.unit(lag.alteration.function.path),
    )
    if lag.alteration.kind == "assign" and after is not None:
        excerpt = old_part(lag.alteration, lag.effect, after, lag.unit) or excerpt
    hardware = search.config.hardware_of(lag.unit.path)
    return Sibling(lag.location, lag.function.qualname, hardware, Message("lags"), excerpt)


def _others(lag: Lag, found: dict[str, list[Lag]], search: Search) -> Iterator[Sibling]:
    """The siblings that need nothing for this change, each with the reason."""
    alteration, change = lag.alteration, search.change
    unit = change.unit(alteration.function.path)
    for path in (
        S.sibling_files(alteration.function.path, change, search.config) if unit is not None else ()
    ):
        behind = any(_aspect(other) == _aspect(lag) for other in found.get(path, []))
        if not behind and unit is not None:
            yield verdict(alteration, unit, path, search.names, search.readers)


def _fix(group: list[Lag], change: ChangeSet) -> Fix | None:
    edits: list[Edit] = []
    for lag in group:
        path = lag.alteration.function.path
        before, after, data = (
            S.base_unit(path, change),
            change.unit(path),
            change.head.read(lag.unit.path) or b"",
        )
        if before is None or after is None or lacking(lag.alteration, lag.function, lag.unit, data):
            return None
        made = ported(lag.alteration, lag.effect, before, after, lag.unit)
        if made is None or (lag.alteration.kind == "enum" and not lag.exact):
            return None
        edits += made
    return Fix(tuple(edits)) if edits else None
