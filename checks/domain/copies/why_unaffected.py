"""Why a sibling that keeps no old form needs nothing."""

from __future__ import annotations

import re

from checks.core.finding import Location, Message, Sibling
from checks.domain.copies.alterations import Alteration
from checks.domain.copies.effects import Effect, EnumTest, effects
from checks.domain.copies.exemptions import adapted_line, nothing_reads_added
from checks.domain.copies.prerequisites import missing_names
from checks.domain.hardware_reach import FieldReaders
from checks.domain.siblings import HardwareNames, counterparts, sibling_files
from checks.domain.source_search import code_line, imports_from
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile


def why_unaffected(
    alteration: Alteration, unit: SourceFile, path: str, names: HardwareNames, readers: FieldReaders
) -> Sibling:
    """Where the sibling file `path` was looked at for `alteration`, and why it needs nothing."""
    changed_function = alteration.function
    hardware = readers.config.hardware_of(path)
    sibling = readers.change.unit(path)
    if sibling is None:
        return Sibling(Location(path, 0), changed_function.name, hardware, Message("unread"))
    functions = counterparts(changed_function, unit, sibling, names)
    if not functions:
        return _without_function(changed_function, sibling, hardware, readers)
    # The first function that tells a reason is the one to look at.
    for function in functions:
        reason = (
            _adapted(alteration, function, sibling, hardware, readers)
            or _not_read(alteration, function, sibling, hardware, readers)
            or _other_form(alteration, function, sibling, hardware)
        )
        if reason is not None:
            return reason
    first = functions[0]
    missing = sorted(name.strip("'") for name in missing_names(alteration, first, sibling))
    if missing:
        why = Message("no-feature", {"missing": missing})
    else:
        why = Message("no-statement", {"function": first.name})
    return Sibling(Location(path, first.start_line), first.qualname, hardware, why)


def _without_function(
    function: Function, sibling: SourceFile, hardware: str, readers: FieldReaders
) -> Sibling:
    """A sibling that has no such function of its own: it inherits it, or has none."""
    args = {"function": function.name}
    siblings = sibling_files(function.path, readers.change, readers.config)
    for path in (function.path, *siblings):
        imported = {item.alias or item.name for item in imports_from(path, sibling)}
        for cls in sibling.classes:
            for base in cls.bases:
                if base in imported:
                    place = Location(sibling.path, cls.start_line)
                    why = Message("inherits", {**args, "parent": base})
                    return Sibling(place, function.name, hardware, why)
    line = sibling.classes[0].start_line if sibling.classes else 1
    why = Message("no-function", args)
    return Sibling(Location(sibling.path, line), function.name, hardware, why)


def _adapted(
    alteration: Alteration,
    function: Function,
    sibling: SourceFile,
    hardware: str,
    readers: FieldReaders,
) -> Sibling | None:
    """What this change adapted in another way."""
    line = adapted_line(alteration, function, readers.change)
    if not line:
        return None
    place = Location(sibling.path, line)
    excerpt = code_line(sibling, line)
    return Sibling(place, function.qualname, hardware, Message("adapted"), excerpt)


def _not_read(
    alteration: Alteration,
    function: Function,
    sibling: SourceFile,
    hardware: str,
    readers: FieldReaders,
) -> Sibling | None:
    """What came for other hardware only."""
    for effect in effects(function, sibling):
        call = effect.form
        if effect.kind != "call" or effect.key != alteration.old.key:
            continue
        if isinstance(call, E.Call) and nothing_reads_added(
            alteration, call, function, sibling, hardware, readers
        ):
            place = Location(sibling.path, call.line)
            why = Message("not-read", {"gained": list(alteration.added)})
            return Sibling(place, function.qualname, hardware, why)
    return None


def _other_form(
    alteration: Alteration, function: Function, sibling: SourceFile, hardware: str
) -> Sibling | None:
    """The same place, call or branch in the new form, or in a form of its own."""
    same_key: list[Effect] = []
    for effect in effects(function, sibling):
        if effect.kind == alteration.kind and effect.key == alteration.old.key:
            same_key.append(effect)
    in_new_form = [effect for effect in same_key if _has_new_form(effect, alteration)]
    if in_new_form:
        effect, why = in_new_form[0], Message("has-new")
    elif same_key and alteration.kind != "branch":
        # All branches have the same key: one of another form is about something else.
        effect, why = same_key[0], Message("own-form")
    else:
        return None
    excerpt = re.sub(r"\s+", " ", code_line(sibling, effect.line))
    return Sibling(Location(sibling.path, effect.line), function.qualname, hardware, why, excerpt)


def _has_new_form(effect: Effect, alteration: Alteration) -> bool:
    """Whether an effect is the new form, or has all that came."""
    if effect.form == alteration.new.form:
        return True
    if not alteration.added:
        return False
    match effect.form:
        case E.Call(keywords=keywords):
            return set(alteration.added) <= {keyword for keyword, _ in keywords}
        case EnumTest() as test:
            return set(alteration.added) <= test.member_names()
        case _:
            return False
