"""Changed functions with what they were: which were cut, and which stand in another file now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions, equal_code
from checks.core.config import Config
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function

_LEAST_SHARE = 0.3
_LEAST_OF_WHOLE = 0.15
_GRAM = 5
_TOKEN = re.compile(r"\w+|[^\s\w]")


@dataclass(frozen=True, slots=True)
class Split:
    """`whole` handed code to new functions, `parts`, that it now calls. `shares` says how much of each part's code (of
    its runs of five tokens) stood in `whole` before."""

    whole: Function
    parts: tuple[Function, ...]
    shares: tuple[float, ...]


def paired(change: ChangeSet, config: Config) -> tuple[ChangedFunction, ...]:
    """Every changed function with what it was. Of overloads under one name, the one with the same parameters; a
    function that stood elsewhere or under another owner counts only where much of its code is still there."""
    return change.memo(
        ("analysis.paired", config.paths.tests),
        lambda: tuple(_paired(d) for d in changed_functions(change, config)),
    )


def _paired(delta: ChangedFunction) -> ChangedFunction:
    base, unit = delta.base, delta.base_unit
    if base is None or unit is None:
        return delta
    if (base.path, base.qualname) != (
        delta.head.path,
        delta.head.qualname,
    ) and base.path == delta.head.path:
        before, now = _grams(delta.base_code), _grams(delta.code)
        much = len(before & now) >= _LEAST_SHARE * max(1, min(len(before), len(now)))
        return delta if much else replace(delta, base=None, base_unit=None)
    alike = [
        f for f in unit.functions if f.qualname == base.qualname and same_parameters(f, delta.head)
    ]
    return replace(delta, base=alike[0]) if len(alike) == 1 and alike[0] is not base else delta


def same_parameters(a: Function, b: Function) -> bool:
    """Whether two functions are called alike, however their authors space `T *x`."""
    return equal_code(
        *(tuple(replace(p, type=re.sub(r"\s+", "", p.type)) for p in f.params) for f in (a, b))
    )


def splits(change: ChangeSet, config: Config) -> Iterator[Split]:
    """Functions that were cut: they call functions that are new in the same file, whose code stood in them."""
    made = {d.head.name: d for d in paired(change, config) if d.base is None}
    for delta in paired(change, config):
        if delta.base is None:
            continue
        called = {E.callee(c) for c, _ in calls_of(delta.head.body)} & made.keys()
        parts = sorted(
            (made[n] for n in called if made[n].unit is delta.unit), key=lambda d: d.head.start_line
        )
        lost = _grams(delta.base_code) - _grams(delta.code) if parts else set()
        held = [(p.head, share) for p in parts if (share := _share(_grams(p.code), lost))]
        if held:
            yield Split(delta.head, tuple(f for f, _ in held), tuple(s for _, s in held))


def carried(change: ChangeSet, config: Config) -> Iterator[tuple[Function, Function, float]]:
    """(new function, the one of its file that lost most of the code it has, its share) of code that the old one does
    not call there: somebody else does."""
    made = [d for d in paired(change, config) if d.base is None]
    paths = {d.head.path for d in made}
    cut = [
        d
        for d in paired(change, config)
        if d.base is not None and d.head.path in paths and d.base_code
    ]
    lost = [(d, _grams(d.base_code) - _grams(d.code)) for d in cut]
    for new in made:
        held = [
            (_share(_grams(new.code), gone), -n, d)
            for n, (d, gone) in enumerate(lost)
            if d.unit is new.unit
        ]
        share, _, whole = max(held, key=lambda h: h[:2], default=(0.0, 0, new))
        if share >= _LEAST_SHARE:
            yield new.head, whole.head, share


def _share(part: set[tuple[str, ...]], lost: set[tuple[str, ...]]) -> float:
    """How much of `part` is in `lost`; 0 where that is little of both."""
    both = len(part & lost)
    share = both / max(1, len(part))
    much_of_whole = both >= _LEAST_OF_WHOLE * max(1, len(lost)) and share >= _LEAST_SHARE / 2
    return share if share >= _LEAST_SHARE or much_of_whole else 0.0


def _grams(code: str) -> set[tuple[str, ...]]:
    tokens = _TOKEN.findall(code)
    return set(zip(*(tokens[i:] for i in range(_GRAM)), strict=False))


def moved(change: ChangeSet, config: Config) -> Iterator[tuple[Function, Function]]:
    """(before, now) of functions that stand in another file than before, under the same name."""
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        if delta.base is not None and file is not None and delta.base.path != file.base_path:
            yield delta.base, delta.head
