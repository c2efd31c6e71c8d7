"""Changed functions with what they were, and which of them were cut in parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import equal_code
from checks.core.config import Config
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param, SourceFile

# How much of a function's code must be found elsewhere before we say that it came from there.
_LEAST_SHARE = 0.3
_LEAST_SHARE_OF_LOST_CODE = 0.15
_RUN_LENGTH = 5
_TOKEN = re.compile(r"\w+|[^\s\w]")

# Runs of five tokens: two functions with many runs in common have code in common.
_Runs = set[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class FunctionSplit:
    """`whole` gave code to the new functions `parts` and calls them now.

    `shares` says for each part how much of its code (of its runs of five tokens) stood in `whole`.
    """

    whole: Function
    parts: tuple[Function, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CarriedCode:
    """A `new` function with code that the function `old` of its file lost; `share` of its runs."""

    new: Function
    old: Function
    share: float


def paired_functions(change: ChangeSet, config: Config) -> tuple[ChangedFunction, ...]:
    """Every changed function with what it was before.

    Of overloads under one name, the one with the same parameters. A function that changed its
    owner counts as the old one only where much of the code is still there.
    """
    # Some fifteen searches ask for the pairs, and comparing the code of renamed functions is work.
    return change.memo(
        ("analysis.paired", config.paths.tests),
        lambda: tuple(_with_right_base(d) for d in changed_functions(change, config)),
    )


def new_functions(change: ChangeSet, config: Config) -> list[ChangedFunction]:
    """The changed functions that did not exist before."""
    return [delta for delta in paired_functions(change, config) if delta.base is None]


def altered_functions(
    change: ChangeSet, config: Config
) -> Iterator[tuple[ChangedFunction, Function, SourceFile]]:
    """(changed function, what it was, the file it stood in) of those that existed before."""
    for delta in paired_functions(change, config):
        if delta.base is not None and delta.base_unit is not None:
            yield delta, delta.base, delta.base_unit


def _with_right_base(delta: ChangedFunction) -> ChangedFunction:
    base, base_unit = delta.base, delta.base_unit
    if base is None or base_unit is None:
        return delta
    if base.path == delta.head.path and base.qualname != delta.head.qualname:
        if _shares_much_code(delta):
            return delta
        return replace(delta, base=None, base_unit=None)
    overloads = [
        f
        for f in base_unit.functions
        if f.qualname == base.qualname and same_parameters(f, delta.head)
    ]
    if len(overloads) == 1 and overloads[0] is not base:
        return replace(delta, base=overloads[0])
    return delta


def _shares_much_code(delta: ChangedFunction) -> bool:
    before, now = _runs(delta.base_code), _runs(delta.code)
    smaller = max(1, min(len(before), len(now)))
    return len(before & now) >= _LEAST_SHARE * smaller


def same_parameters(a: Function, b: Function) -> bool:
    """Whether two functions have equal parameters, however their authors space `T *x`."""
    return equal_code(tuple(map(_unspaced, a.params)), tuple(map(_unspaced, b.params)))


def _unspaced(param: Param) -> Param:
    return replace(param, type=re.sub(r"\s+", "", param.type))


def find_splits(change: ChangeSet, config: Config) -> Iterator[FunctionSplit]:
    """Functions that call new functions of the same file, to which they gave code."""
    new = new_functions(change, config)
    for delta, _, _ in altered_functions(change, config):
        called = {E.callee(call) for call, _ in calls_of(delta.head.body)}
        by_name = {n.head.name: n for n in new if n.head.name in called}
        helpers = [helper for helper in by_name.values() if helper.unit is delta.unit]
        if not helpers:
            continue
        helpers.sort(key=lambda helper: helper.head.start_line)
        lost = _runs(delta.base_code) - _runs(delta.code)
        parts, shares = [], []
        for helper in helpers:
            share = _share(_runs(helper.code), lost)
            if share:
                parts.append(helper.head)
                shares.append(share)
        if parts:
            yield FunctionSplit(delta.head, tuple(parts), tuple(shares))


def find_carried_code(change: ChangeSet, config: Config) -> Iterator[CarriedCode]:
    """New functions with code of an old one that does not call them: somebody else does."""
    new = new_functions(change, config)
    paths = {delta.head.path for delta in new}
    lost_code = []
    for delta, _, _ in altered_functions(change, config):
        if delta.head.path in paths and delta.base_code:
            lost_code.append((delta, _runs(delta.base_code) - _runs(delta.code)))
    for delta in new:
        runs = _runs(delta.code)
        best_share, source = 0.0, delta
        for old, lost in lost_code:
            if old.unit is not delta.unit:
                continue
            share = _share(runs, lost)
            if share > best_share:
                best_share, source = share, old
        if best_share >= _LEAST_SHARE:
            yield CarriedCode(delta.head, source.head, best_share)


def _share(part: _Runs, lost: _Runs) -> float:
    """How much of `part` is in `lost`, 0 to 1; 0 where that is little of both."""
    both = len(part & lost)
    share = both / max(1, len(part))
    if share >= _LEAST_SHARE:
        return share
    much_of_lost = both >= _LEAST_SHARE_OF_LOST_CODE * max(1, len(lost))
    if much_of_lost and share >= _LEAST_SHARE / 2:
        return share
    return 0.0


def _runs(code: str) -> _Runs:
    """Every five tokens that follow each other in `code`."""
    tokens = _TOKEN.findall(code)
    count = len(tokens) - _RUN_LENGTH + 1
    return {tuple(tokens[i : i + _RUN_LENGTH]) for i in range(count)}
