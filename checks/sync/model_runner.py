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
not have at all (an attribute, a key) counts as a feature that is not there, unless most copies have it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.change import ChangeSet
from checks.config import Config
from checks.finding import Confidence, Edit, Finding, Fix, Location, Message, Severity, Sibling
from checks.ir import expr as E
from checks.ir.unit import Function, Unit
from checks.sync import siblings as S
from checks.sync.effects import Alteration, Effect, alterations, effects, weight
from checks.sync.lagging import Lag, hardware_only, has_word, lacking, lags, method_differs, other_callee
from checks.sync.port import old_part, ported
from checks.sync.targets import Targets, misfit
from checks.sync.verdicts import verdict

ID = "sync.model-runner"
SUMMARY = "A copy on other hardware still does what this change altered"
MOST_A_FILE = 3
_ORDER = list(Confidence)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    yield from change.once((ID, "findings"), lambda: tuple(_all(change, config)))


@dataclass
class _Search:
    """One run: the lags found, and the effects of the siblings' functions read so far."""

    change: ChangeSet
    config: Config
    names: S.Names
    targets: Targets

    def lags(self, alteration: Alteration, unit: Unit, paths: list[str]) -> Iterator[Lag]:
        word, most = _word(alteration), self._most_have(alteration, paths)
        for path in paths:
            data = self.change.head.read(path) or b""
            if not has_word(data, word) or (sibling := self.change.unit(path)) is None:
                continue
            if method_differs(alteration, sibling) or other_callee(alteration, unit, sibling):
                continue
            for function in S.counterparts(alteration.function, unit, sibling, self.names):
                if most or not lacking(alteration, function, sibling, data):
                    found = lags(alteration, function, sibling, self.effects(function, sibling))
                    yield from (lag for lag in found if not self._cannot_fit(lag))

    def effects(self, function: Function, unit: Unit) -> list[Effect]:
        return self.change.once((ID, function.path, function.start_line), lambda: effects(function, unit))

    def _cannot_fit(self, lag: Lag) -> bool:
        """Whether the call raises a TypeError now, which is what `sync.signature` says."""
        if not isinstance(lag.effect.form, E.Call):
            return False
        target = self.targets.of(lag.effect.form, lag.function, lag.unit)
        return target is not None and misfit(lag.effect.form, target) is not None

    def _most_have(self, alteration: Alteration, paths: list[str]) -> bool:
        """Whether, after the change, more of the files that make this call pass the new keywords than do not."""
        if alteration.kind != "call" or not alteration.gained:
            return False
        word, others = _word(alteration), (p for p in paths if p != alteration.function.path)
        callers = [d for d in (self.change.head.read(p) or b"" for p in others) if has_word(d, word)]
        having = sum(all(re.search(rb"\b%s=[^=]" % k.encode(), d) for k in alteration.gained) for d in callers)
        return having > 0 and 1 + having > len(callers) - having


def _word(alteration: Alteration) -> str:
    """A word that every file with the old form has."""
    key = alteration.old.key
    if isinstance(key, str) and key:
        return key
    form = alteration.old.form if isinstance(key, str) else key
    names = [p for p in E.walk(form) if isinstance(p, E.Name | E.Attr | E.Const)] if not isinstance(form, tuple) else []
    words = [p.value if isinstance(p, E.Const) else p.name if isinstance(p, E.Attr) else p.id for p in names]
    return max((w for w in words if isinstance(w, str) and w.isidentifier()), key=len, default="self")


def _all(change: ChangeSet, config: Config) -> Iterator[Finding]:
    search = _Search(change, config, S.Names.of(config), Targets(change))
    found: dict[str, list[Lag]] = {}
    for old, new, paths in S.paired_changes(change, config):
        before, unit = S.base_unit(new.path, change), change.unit(new.path)
        if not paths or before is None or unit is None:
            continue
        for alteration in alterations(old, new, before, unit):
            if not hardware_only(alteration):
                for lag in search.lags(alteration, unit, paths):
                    found.setdefault(lag.unit.path, []).append(lag)
    told: set[object] = set()
    for _, items in sorted(found.items()):
        for group in _groups(_distinct(items))[:MOST_A_FILE]:
            yield _finding(group, found, search, told)


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


def _finding(group: list[Lag], found: dict[str, list[Lag]], search: _Search, told: set[object]) -> Finding:
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


def _leads(lag: Lag, search: _Search) -> bool:
    """Whether others follow the changed file: it is the GPU's or no hardware's, or one more copy was changed with it.

    What one other hardware alone does differently is mostly what that hardware needs.
    """
    path, change = lag.alteration.function.path, search.change
    if search.config.hardware_of(path) in ("", "gpu"):
        return True
    return any(change.changed(p) and p != lag.unit.path for p in S.sibling_files(path, change, search.config))


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


def _lagging(lag: Lag, search: _Search) -> Sibling:
    excerpt, after = lag.unit.lines[lag.line - 1].strip(), search.change.unit(lag.alteration.function.path)
    if lag.alteration.kind == "assign" and after is not None:
        excerpt = old_part(lag.alteration, lag.effect, after, lag.unit) or excerpt
    hardware = search.config.hardware_of(lag.unit.path)
    return Sibling(lag.location, lag.function.qualname, hardware, Message("lags"), excerpt)


def _others(lag: Lag, found: dict[str, list[Lag]], search: _Search) -> Iterator[Sibling]:
    """The siblings that need nothing for this change, each with the reason."""
    alteration, change = lag.alteration, search.change
    unit = change.unit(alteration.function.path)
    for path in S.sibling_files(alteration.function.path, change, search.config) if unit is not None else ():
        behind = any(_aspect(other) == _aspect(lag) for other in found.get(path, []))
        if not behind and unit is not None:
            yield verdict(alteration, unit, path, change, search.config, search.names)


def _fix(group: list[Lag], change: ChangeSet) -> Fix | None:
    edits: list[Edit] = []
    for lag in group:
        path = lag.alteration.function.path
        before, after, data = S.base_unit(path, change), change.unit(path), change.head.read(lag.unit.path) or b""
        if before is None or after is None or lacking(lag.alteration, lag.function, lag.unit, data):
            return None
        made = ported(lag.alteration, lag.effect, before, after, lag.unit)
        if made is None or (lag.alteration.kind == "enum" and not lag.exact):
            return None
        edits += made
    return Fix(tuple(edits)) if edits else None
