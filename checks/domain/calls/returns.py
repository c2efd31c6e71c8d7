"""How many values a function gives back, and who takes them apart into another number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import is_stub
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.calls.binding import find_misfit
from checks.domain.calls.sites import CallSite, called_under, calls_of_name
from checks.domain.calls.targets import CallTarget, CallTargets
from checks.domain.keys import asks_platform
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, Return, guarded_statements

_FEW_VALUES = 2


@dataclass(frozen=True, slots=True)
class Unpacking:
    """`a, b = call`: a call whose value is taken apart into `count` values."""

    site: CallSite
    count: int
    line: int


@dataclass(frozen=True, slots=True)
class WrongUnpacking:
    """An unpacking of another number of values than `target` returns (`now`).

    `was` is what it returned before the change; None where the function or the call is new.
    `is_override` says that it is the method of a subclass, where the call names the base's.
    """

    unpacking: Unpacking
    target: CallTarget
    now: int
    was: int | None
    is_override: bool = False


def returned_count(function: Function) -> int | None:
    """How many values every `return` of `function` gives.

    None where that is not the same number or not known.
    """
    counts: set[int | None] = set()
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Return):
            counts.add(_count_values(guarded.stmt.value))
    return counts.pop() if len(counts) == 1 else None


def _count_values(value: E.Expr | None) -> int | None:
    """2 for `a, b`; None for anything else than two values or more, all of them written out."""
    if not isinstance(value, E.Sequence) or len(value.items) < 2:
        return None
    if any(isinstance(item, E.Unary) and item.op == "*" for item in value.items):
        return None
    return len(value.items)


def unpackings_in(function: Function, unit: SourceFile) -> Iterator[Unpacking]:
    """Every `a, b = call` of a function; without `a, *rest = call`, which takes any number."""
    for guarded in guarded_statements(function.body):
        match guarded.stmt:
            case Assign(target=E.Sequence(items=items), op="=", value=E.Call() as call):
                if any(isinstance(item, E.Unary) for item in items):
                    continue
                site = CallSite(call, function, unit, guarded.guards)
                yield Unpacking(site, len(items), guarded.stmt.line)
            case _:
                pass


def wrong_unpackings(change: ChangeSet, config: Config) -> Iterator[WrongUnpacking]:
    """The unpackings that fail since the change."""
    targets = CallTargets.of_change(change)
    before = _counts_before(change, config)
    for unpacking in _unpackings_to_check(change, config):
        site = unpacking.site
        # What one hardware returns is no contract of the others.
        if asks_platform(site.guards):
            continue
        target = targets.of(site.call, site.function, site.unit, site.guards)
        if target is None:
            yield from _by_name_alone(unpacking, before, targets)
            continue
        overrides = list(targets.overrides(target, site.own_method))
        # The method of a subclass that takes other arguments is not what this call is for: it has
        # the name alone (`_make_request_with_harmony` of sgl-project/sglang@92cc32d9f).
        overrides = [o for o in overrides if find_misfit(site.call, o.params) is None]
        counts = {returned_count(other.function) for other in overrides}
        if unpacking.count in counts and _returned_otherwise(target, unpacking.count, before):
            continue
        for other in (target, *overrides):
            now = returned_count(other.function)
            if now is None or now == unpacking.count:
                continue
            place = other.place
            is_written = change.touches(site.unit.path, *site.lines)
            is_altered = place in before and before[place] != now
            is_new = is_written and other is target and not _was_wrong(unpacking, change)
            if not is_altered and not is_new:
                continue
            if not targets.is_always_replaced(site.function, site.unit):
                yield WrongUnpacking(unpacking, other, now, before.get(place), other is not target)


def _returned_otherwise(
    target: CallTarget, count: int, before: Mapping[tuple[str, int], int | None]
) -> bool:
    """Whether the method returns another number of values, and did so before: where those of
    subclasses return as many as are taken apart, the call is for them."""
    return returned_count(target.function) != count and before.get(target.place) != count


def _by_name_alone(
    unpacking: Unpacking, before: Mapping[tuple[str, int], int | None], targets: CallTargets
) -> Iterator[WrongUnpacking]:
    """A method that returns another number of values than before, and than every other method of
    its name that the call fits: what object it is called on need not be known."""
    call = unpacking.site.call
    if not isinstance(call.func, E.Attr) or E.root(call.func) in _imported(unpacking.site.unit):
        return
    if _has_own_method(call.func, unpacking.site):
        return
    # So many values no method of another library gives by chance.
    are_many = unpacking.count > _FEW_VALUES
    fitting = [
        other
        for other in targets.all_by_name(call.func.name, one_word=are_many)
        if find_misfit(call, other.params) is None and not is_stub(other.function)
    ]
    for other in fitting:
        now = returned_count(other.function)
        rest = [returned_count(each.function) for each in fitting if each is not other]
        if before.get(other.place) != unpacking.count or now in (None, unpacking.count):
            continue
        is_told = bool(rest) or are_many
        if now is not None and is_told and all(count == unpacking.count for count in rest):
            yield WrongUnpacking(unpacking, other, now, unpacking.count, is_override=True)


def _has_own_method(func: E.Attr, site: CallSite) -> bool:
    """Whether the call is one of `self` or `cls`, and its class defines the method itself.

    huggingface/text-generation-inference@329f612e5 has a batch that replaces how its base class
    reads inputs, and takes apart what its own method returns.
    """
    if func.base not in (E.Name("self"), E.Name("cls")):
        return False
    named = site.unit.named(func.name)
    return any(method.owner == site.function.owner for method in named if method.owner)


def _imported(unit: SourceFile) -> set[str]:
    return {item.alias or item.name or item.module for item in unit.imports}


def _was_wrong(unpacking: Unpacking, change: ChangeSet) -> bool:
    """Whether the function took the same call apart in the same way before."""
    file = change.changed(unpacking.site.unit.path)
    unit = change.unit(file.base_path, Side.BASE) if file and file.base_path else None
    if unit is None:
        return False
    for function in unit.functions_named.get(unpacking.site.function.qualname, []):
        for old in unpackings_in(function, unit):
            if old.site.call.func == unpacking.site.call.func and old.count == unpacking.count:
                return True
    return False


def _counts_before(change: ChangeSet, config: Config) -> dict[tuple[str, int], int | None]:
    """What changed functions returned before, by the place where they are now."""
    counts: dict[tuple[str, int], int | None] = {}
    for changed in changed_functions(change, config):
        place = changed.head.path, changed.head.start_line
        if changed.base is None:
            counts[place] = None
        elif changed.python:
            counts[place] = returned_count(changed.base)
    return counts


def _unpackings_to_check(change: ChangeSet, config: Config) -> Iterator[Unpacking]:
    """Those on lines of the change, and those of functions that return another number now."""
    for changed in changed_functions(change, config):
        if not changed.python:
            continue
        for unpacking in unpackings_in(changed.head, changed.unit):
            if changed.touched(*unpacking.site.lines):
                yield unpacking
        if _returns_otherwise(changed):
            yield from _unpackings_of(changed, change, config)


def _returns_otherwise(changed: ChangedFunction) -> bool:
    if changed.base is None:
        return bool(changed.head.owner) and returned_count(changed.head) is not None
    return returned_count(changed.head) not in (None, returned_count(changed.base))


def _unpackings_of(
    changed: ChangedFunction, change: ChangeSet, config: Config
) -> Iterator[Unpacking]:
    """`a, b = f(...)` in the product."""
    seen: set[tuple[str, int]] = set()
    name, owners = called_under(changed.head, changed.unit, change)
    for site in calls_of_name(name, owners, change, config):
        place = site.function.path, site.function.start_line
        if place in seen:
            continue
        seen.add(place)
        for unpacking in unpackings_in(site.function, site.unit):
            if E.callee(unpacking.site.call) == name:
                yield unpacking
