"""The calls that are wrong for what they reach since the change: they were right before, or new."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from checks.core.change import ChangeSet
from checks.core.changed import changed_functions
from checks.core.code import is_ready_for, is_stub
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.calls.attributes import asks_for_attributes
from checks.domain.calls.binding import Misfit, find_misfit
from checks.domain.calls.labels import (
    Misplacement,
    find_misplacement,
    find_moved,
    label_of,
    left_out,
)
from checks.domain.calls.other_calls import find_turned_round, may_be_turned_round
from checks.domain.calls.sites import (
    CallSite,
    NameOfCalls,
    called_under,
    calls_of_name,
    calls_to_check,
    sites_in,
)
from checks.domain.calls.targets import CallTarget, CallTargets, signature
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements, negate

Fault: TypeAlias = Misfit | Misplacement


@dataclass(frozen=True, slots=True)
class WrongCall:
    """A call that is wrong for `target` since the change, and how (`fault`).

    `fits` is the method that the call fits where `target` is a subclass's method of that name.
    `by_definition` says that the change wrote the target, and no call of it in several files fits.
    """

    site: CallSite
    target: CallTarget
    fault: Fault
    fits: CallTarget | None = None
    by_definition: bool = False


def wrong_calls(change: ChangeSet, config: Config) -> list[WrongCall]:
    """The calls whose arguments do not fit, or stand in the wrong places, since the change."""
    return change.memo(wrong_calls, lambda: _search(change, config))


def _search(change: ChangeSet, config: Config) -> list[WrongCall]:
    comparison = CallComparison(change, config)
    targets = CallTargets.of_change(change)
    wrong: list[WrongCall] = []
    for site in calls_to_check(change, config):
        for found in comparison.of(site):
            if not targets.is_always_replaced(site.function, site.unit):
                wrong.append(found)
    return [comparison.with_culprit(call, wrong) for call in wrong]


def judge(call: E.Call, target: CallTarget) -> Fault | None:
    """What is wrong with a call of `target`; None where nothing is."""
    misfit = find_misfit(call, target.params)
    if misfit is not None and misfit.kind == "missing":
        names = left_out(call, target.params, misfit.name.split(", "))
        return replace(misfit, name=", ".join(names))
    return misfit or find_misplacement(call, target.params)


@dataclass
class CallComparison:
    """Judges calls at head against the same calls at base."""

    change: ChangeSet
    config: Config
    _altered: set[tuple[str, int]] = field(default_factory=set)
    _bases: dict[tuple[str, int], tuple[Function, SourceFile] | None] = field(default_factory=dict)
    _written: set[tuple[str, int]] = field(default_factory=set)
    _fitted_once: set[tuple[str, int]] = field(default_factory=set)
    _named_calls: dict[NameOfCalls, list[CallSite]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._targets = CallTargets.of_change(self.change)
        self._base_targets = CallTargets.of_change(self.change, Side.BASE)
        for changed in changed_functions(self.change, self.config):
            head, base = changed.head, changed.base
            place = head.path, head.start_line
            same_file = changed.base_unit
            self._bases[place] = (base, same_file) if base is not None and same_file else None
            if base is None or signature(base) != signature(head):
                self._altered.add(place)
            if base is None or base.qualname != head.qualname:
                self._written.add(place)

    def of(self, site: CallSite) -> Iterator[WrongCall]:
        """What is wrong with a call since the change."""
        if _expects_failure(site):
            return
        target = self._target(site)
        if target is None:
            yield from self._of_choice(site)
            return
        implementers = [target, *self._targets.overrides(target, site.own_method)]
        fitting = [other for other in implementers if find_misfit(site.call, other.params) is None]
        fault = judge(site.call, target)
        if isinstance(fault, Misplacement) and _comes_back_so(site, fault):
            return
        if fault is None:
            self._fitted_once.add(target.place)
            fault = self._moved(site, target) or self._turned_round(site, target)
        # The object may be of a subclass whose method takes what the call passes.
        if fault is not None and (target in fitting or not fitting):
            if self._is_new(site, target, fault) and not self._may_be_another(site, target):
                yield WrongCall(site, target, fault)
        elif fitting:
            yield from self._left_behind(site, implementers, fitting)

    def _moved(self, site: CallSite, target: CallTarget) -> Misplacement | None:
        """A value that the change moved from the place of its own name to that of another."""
        for old in self._old_calls(site):
            before = self._base_targets.of(old.call, old.function, old.unit, old.guards)
            if before is not None:
                return find_moved(site.call, target.params, old.call, before.params)
        return None

    def _turned_round(self, site: CallSite, target: CallTarget) -> Misplacement | None:
        """Two values of a call that the change wrote, and all other calls pass in another order."""
        if not self.change.touches(site.unit.path, *site.lines):
            return None
        if any(old.call == site.call for old in self._old_calls(site)):
            return None
        if not may_be_turned_round(site.call, target.params):
            return None
        others = self._other_calls(site, target)
        return find_turned_round(site.call, target.params, others)

    def _other_calls(self, site: CallSite, target: CallTarget) -> list[CallSite]:
        """The other calls in the product of what has the name and the parameters of `target`."""
        name, owners = called_under(target.function, target.unit, self.change)
        if (name, owners) not in self._named_calls:
            calls = calls_of_name(name, owners, self.change, self.config)
            self._named_calls[name, owners] = list(calls)
        return [
            other
            for other in self._named_calls[name, owners]
            if other.place != site.place and self._has_parameters_of(target, other)
        ]

    def _has_parameters_of(self, target: CallTarget, other: CallSite) -> bool:
        """Whether a call reaches what has the parameters of `target`: it, or a copy of it."""
        called = self._targets.of(other.call, other.function, other.unit, other.guards)
        names = [param.name for param in target.params]
        return called is not None and [param.name for param in called.params] == names

    def _old_calls(self, site: CallSite) -> list[CallSite]:
        """The calls of the same function or method where the call stands, before the change."""
        old = self._old_function(site)
        return [kept for kept in sites_in(*old) if kept.call.func == site.call.func] if old else []

    def _may_be_another(self, site: CallSite, target: CallTarget) -> bool:
        """Whether the method is a stub that the change left alone, and one of the same name takes
        the call in a class of another family: the annotation names the wrong class.

        vllm-project/vllm@e60f550b3 calls the builders of its new engine, and annotates them as the
        abstract builder of the old one.
        """
        is_method = target.function.owner and target.function.name != "__init__"
        if not is_method or not is_stub(target.function) or self._is_altered(target):
            return False
        namesakes = self._targets.namesakes(target.function.name)
        return not namesakes or any(find_misfit(site.call, o.params) is None for o in namesakes)

    def _of_choice(self, site: CallSite) -> Iterator[WrongCall]:
        """The classes of `A if a else B` that do not take what a call of the chosen one passes,
        while another takes it since the change."""
        targets = self._targets.alternatives(site.call, site.function, site.unit)
        fitting = [other for other in targets if find_misfit(site.call, other.params) is None]
        if fitting:
            yield from self._left_behind(site, targets, fitting)

    def with_culprit(self, wrong: WrongCall, others: list[WrongCall]) -> WrongCall:
        """The same, with whether the definition is at fault and not the call."""
        place = wrong.target.place
        if wrong.fits is not None or place not in self._written - self._fitted_once:
            return wrong
        paths: set[str] = set()
        for other in others:
            if other.target.place == place and other.fault == wrong.fault:
                paths.add(other.site.unit.path)
        return replace(wrong, by_definition=len(paths) > 1)

    def _left_behind(
        self, site: CallSite, implementers: list[CallTarget], fitting: list[CallTarget]
    ) -> Iterator[WrongCall]:
        """The implementers that do not take what the call passes, and took it before.

        They are spoken of where the change altered one that takes it now, and where it altered them
        themselves and their objects inherit the method that makes the call.
        """
        altered = [other for other in fitting if self._is_altered(other)]
        for other in implementers:
            fault = find_misfit(site.call, other.params)
            is_own = site.own_method is not None and self._is_altered(other)
            if fault is None or not (altered or is_own):
                continue
            if other.function.qualname not in self._fitted(site):
                continue
            if _is_called_otherwise(other, site):
                continue
            yield WrongCall(site, other, fault, fits=[*altered, *fitting][0])

    def _fitted(self, site: CallSite) -> set[str]:
        """The implementers that fitted each call of this name in the function at base."""
        names: set[str] = set()
        for old_site in self._old_calls(site):
            before = self._base_targets.of(
                old_site.call, old_site.function, old_site.unit, old_site.guards
            )
            if before is None:
                function, unit = old_site.function, old_site.unit
                others = self._base_targets.alternatives(old_site.call, function, unit)
            else:
                overrides = self._base_targets.overrides(before, old_site.own_method)
                others = [before, *overrides]
            for other in others:
                if find_misfit(old_site.call, other.params) is None:
                    names.add(other.function.qualname)
        return names

    def _target(self, site: CallSite) -> CallTarget | None:
        target = self._targets.of(site.call, site.function, site.unit, site.guards)
        if target is not None and site.through is not None:
            # What takes the function may be one of the tree, with a contract of its own.
            taker = self._targets.of(site.through, site.function, site.unit, site.guards)
            return target if taker is None else None
        if target is not None or not isinstance(site.call.func, E.Attr):
            return target
        # Where the code asks whether the object has the method, objects of other classes are meant.
        if asks_for_attributes(site.guards, []):
            return None
        # A method that the change altered, called on an object of which nothing is known.
        named = self._targets.by_name(site.call.func) if self._names_altered(site) else None
        return named if named is not None and self._is_altered(named) else None

    def _names_altered(self, site: CallSite) -> bool:
        name = E.callee(site.call)
        names = self.change.memo(CallComparison, self._altered_names)
        return name in names and not self._is_module(site)

    def _altered_names(self) -> set[str]:
        names: set[str] = set()
        for changed in changed_functions(self.change, self.config):
            if (changed.head.path, changed.head.start_line) in self._altered:
                names.add(changed.head.name)
        return names

    def _is_module(self, site: CallSite) -> bool:
        """Whether what stands before the dot is an import: its functions are no methods."""
        func = site.call.func
        first = E.root(func) if isinstance(func, E.Attr) else None
        return first is not None and bool(site.unit.imports_named.get(first))

    def _is_altered(self, target: CallTarget) -> bool:
        return target.place in self._altered

    def _is_new(self, site: CallSite, target: CallTarget, fault: Fault) -> bool:
        """Whether the call was right before, or was not there."""
        if self._old_function(site) is None:
            return target.surely
        calls = self._old_calls(site)
        same = [kept for kept in calls if kept.call == site.call]
        for kept in same or calls:
            before = self._judge_before(kept, target)
            if before is not None and _says_same(before, fault):
                return False
            # What the call reached before is not known: only a change of it can be at fault.
            if before is None and same and not self._is_altered(target):
                return False
            # A method that is known by its name alone must have been this one before.
            if same and not target.surely and before is not True:
                return False
        if same:
            return True
        return self.change.touches(site.unit.path, *site.lines) and target.surely

    def _judge_before(self, old: CallSite, target: CallTarget) -> Fault | bool | None:
        """What was wrong with a call at base; True where nothing was, None where unknown."""
        before = self._base_targets.of(old.call, old.function, old.unit, old.guards)
        if before is None and not target.surely and isinstance(old.call.func, E.Attr):
            before = self._base_targets.by_name(old.call.func)
        if before is None:
            return None
        candidates = [before, *self._base_targets.overrides(before, old.own_method)]
        for candidate in candidates:
            if candidate.function.qualname == target.function.qualname:
                return judge(old.call, candidate) or True
        return judge(old.call, before) or True

    def _old_function(self, site: CallSite) -> tuple[Function, SourceFile] | None:
        place = site.function.path, site.function.start_line
        if place not in self._bases:
            self._bases[place] = self._same_name(site)
        return self._bases[place]

    def _same_name(self, site: CallSite) -> tuple[Function, SourceFile] | None:
        """The function of the same name in the same file of the base."""
        file = self.change.changed(site.unit.path)
        path = file.base_path if file is not None else site.unit.path
        unit = self.change.unit(path, Side.BASE) if path else None
        functions = unit.functions_named.get(site.function.qualname, []) if unit else []
        return (functions[0], unit) if functions and unit is not None else None


def _says_same(before: object, fault: object) -> bool:
    """Whether two faults are of one kind and about one parameter."""
    match before, fault:
        case (Misfit() as old, Misfit() as new):
            return (old.kind, old.name) == (new.kind, new.name)
        case (Misplacement() as old_place, Misplacement() as new_place):
            return (old_place.kind, old_place.argument) == (new_place.kind, new_place.argument)
        case _:
            return False


def _is_called_otherwise(target: CallTarget, site: CallSite) -> bool:
    """Whether the function asks which kind of object it has: in the other branch stands a call that
    fits `target`."""
    opposites = [negate(guard) for guard in site.guards]
    for other in sites_in(site.function, site.unit):
        if other.call.func != site.call.func or find_misfit(other.call, target.params):
            continue
        if any(guard in opposites for guard in other.guards):
            return True
    return False


def _comes_back_so(site: CallSite, fault: Misplacement) -> bool:
    """`width, height = resize(width, height)`: what is turned round on the way in comes back so.

    Where the values come back in the other order, they were not meant to be turned round.
    """
    if fault.kind != "swapped":
        return False
    for guarded in guarded_statements(site.function.body):
        match guarded.stmt:
            case Assign(target=E.Sequence(items=items), value=value) if value is site.call:
                names = [label_of(item) for item in items]
                both = [name for name in names if name in (fault.argument, fault.left_out)]
                return both != [fault.left_out, fault.argument]
            case _:
                pass
    return False


def _expects_failure(site: CallSite) -> bool:
    """Whether the function catches what a wrong call raises, or asks for the parameters first."""
    text = site.unit.text_of(site.function)
    return is_ready_for("TypeError", text) or "inspect.signature" in text
