"""Copies of a device op that keep the form which a change altered elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Side
from checks.domain.copies.device_alterations import DeviceAlteration, device_alterations
from checks.domain.copies.device_effects import DeviceEffect, device_effects
from checks.domain.copies.op_copies import find_copies
from checks.domain.siblings import LEAST_SHARED_GRAMS, base_unit, shared_grams
from checks.domain.source_search import changed_cpp_functions, units_at
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile

# Effects of fewer names and constants, or of one name alone, are the same by chance.
_LEAST_SYMBOLS = 3
_LEAST_NAMES = 2
_MOST_CODE = 120
_TUNED_SIZE = re.compile(
    r"(num_|n_|k_)?"
    r"(threads?|grid|blocks?|warps?|stages?|(grid|block|vec|pack)_?(size|dim)|copy_times)"
    r"(_per_\w+|_x|_y)?"
)
_COMMENT_OR_DIRECTIVE = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", re.S | re.M)


@dataclass(frozen=True, slots=True)
class UnchangedCopy:
    """`effect` of `function` is what `alteration` was before the change."""

    alteration: DeviceAlteration
    function: Function
    unit: SourceFile
    effect: DeviceEffect

    @property
    def location(self) -> Location:
        return Location(self.unit.path, self.effect.line, self.effect.end_line)


def find_unchanged_copies(change: ChangeSet, config: Config) -> Iterator[UnchangedCopy]:
    """Every place that keeps the old form, in the files that hold copies of an altered op."""
    for alteration in _telling_alterations(change, config):
        path = alteration.function.path
        for unit in units_at([path, *find_copies(path, change, config)], change):
            for copy in unchanged_copies_in(unit, alteration, change):
                if unit.path != path or _is_host_reference(copy, change):
                    yield copy


def _telling_alterations(change: ChangeSet, config: Config) -> Iterator[DeviceAlteration]:
    """What the change altered in C++ functions, without what two functions share by chance."""
    for base, head in changed_cpp_functions(change, config):
        if not base.clean or _reads_as_before(base, head, change):
            continue
        for alteration in device_alterations(base, head):
            if _is_telling(alteration.old) and not _lines_read_as_before(alteration, change):
                yield alteration


def _is_telling(effect: DeviceEffect) -> bool:
    """Whether two functions do not share an effect by chance.

    A size that each hardware tunes for itself tells nothing.
    """
    if isinstance(effect.key, E.Name) and _TUNED_SIZE.fullmatch(effect.key.id):
        return False
    return effect.symbol_count >= _LEAST_SYMBOLS and len(effect.names) >= _LEAST_NAMES


def _reads_as_before(base: Function, head: Function, change: ChangeSet) -> bool:
    """Whether the function differs in comments and space alone."""
    return _code(base, change.unit(base.path, Side.BASE)) == _code(head, change.unit(head.path))


def _code(function: Function, unit: SourceFile | None) -> str:
    if unit is None:
        return ""
    return re.sub(r"\s+", "", _COMMENT_OR_DIRECTIVE.sub("", unit.text_of(function)))


def _lines_read_as_before(alteration: DeviceAlteration, change: ChangeSet) -> bool:
    """Whether the altered lines themselves are the same.

    They are where only the subject of the `switch` around a `case` changed.
    """
    if alteration.new is None or alteration.guard is not None:
        return False
    old_unit = change.unit(alteration.base.path, Side.BASE)
    unit = change.unit(alteration.function.path)
    if old_unit is None or unit is None:
        return False
    return effect_code(old_unit, alteration.old) == effect_code(unit, alteration.new)


def effect_code(unit: SourceFile, effect: DeviceEffect) -> str:
    """The code of an effect on one line, without comments and the brace that opens a block."""
    code = _COMMENT_OR_DIRECTIVE.sub(" ", unit.text(effect.line, effect.end_line))
    code = re.sub(r"\s+", " ", code).strip().removesuffix("{").rstrip()
    return code if len(code) <= _MOST_CODE else f"{code[: _MOST_CODE - 1]}…"


def unchanged_copies_in(
    unit: SourceFile, alteration: DeviceAlteration, change: ChangeSet
) -> list[UnchangedCopy]:
    """The places of `unit` that keep the old form.

    None where one of its functions has the new form.
    """
    copies: list[UnchangedCopy] = []
    is_altered_file = unit.path == alteration.function.path
    for function in unit.functions:
        if not function.clean:
            continue
        if is_altered_file and function.qualname == alteration.function.qualname:
            continue
        for effect in device_effects(function):
            if _has_new_form(effect, alteration):
                return []
            is_old_form = effect.identity == alteration.old.identity
            if not is_old_form or change.touches(unit.path, effect.line, effect.end_line):
                continue
            if alteration.widened and effect.bits != alteration.old.bits:
                continue
            if _knows_parameters(function, alteration):
                copies.append(UnchangedCopy(alteration, function, unit, effect))
    return copies


def _has_new_form(effect: DeviceEffect, alteration: DeviceAlteration) -> bool:
    """Whether the effect is the new form, or stands under the new condition."""
    if alteration.guard is not None:
        return alteration.guard in effect.guards or effect.form == alteration.guard
    if alteration.widened and effect.bits == alteration.old.bits:
        return False
    return alteration.new is not None and effect.identity == alteration.new.identity


def _knows_parameters(function: Function, alteration: DeviceAlteration) -> bool:
    """Whether `function` has what the new form needs and the altered copy was given now, or had
    already: a copy that never had it is made in another way."""
    if alteration.new is None:
        return True
    needed = alteration.new.names
    if alteration.guard is not None:
        needed = needed | E.names(alteration.guard)
    new_params = {p.name for p in alteration.function.params}
    wanted = needed & (new_params | _locals_of(alteration.base))
    return wanted <= _names_in(function)


def _locals_of(function: Function) -> set[str]:
    """The variables that a function gives a value."""
    keys = [effect.key for effect in device_effects(function) if effect.kind == "assign"]
    return {key.id for key in keys if isinstance(key, E.Name)}


def _names_in(function: Function) -> set[str]:
    """The parameters of a function, and every name in what it does."""
    names = {p.name for p in function.params}
    for effect in device_effects(function):
        names |= effect.names
    return names


def _is_host_reference(copy: UnchangedCopy, change: ChangeSet) -> bool:
    """Whether one of the two is the host's version of the other, a kernel, in one file."""
    altered = copy.alteration.function
    old_unit = base_unit(altered.path, change)
    if old_unit is None or _is_device_code(altered) == _is_device_code(copy.function):
        return False
    share = shared_grams(copy.alteration.base, old_unit, copy.function, copy.unit)
    return share >= LEAST_SHARED_GRAMS


def _is_device_code(function: Function) -> bool:
    return "__global__" in function.marks or "__device__" in function.marks
