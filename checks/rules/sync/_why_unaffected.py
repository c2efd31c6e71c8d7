"""Why a sibling that does not lag needs nothing."""

from __future__ import annotations

import re

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Message, Sibling
from checks.domain import siblings as S
from checks.domain.hardware_reach import Readers
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.sync._effects import Alteration, effects
from checks.rules.sync._exemptions import adapted, unread
from checks.rules.sync._stale_copy import lacking


def verdict(
    alteration: Alteration, unit: SourceFile, path: str, names: S.Names, readers: Readers
) -> Sibling:
    """Where the sibling `path` was looked at for `alteration`, and why it needs nothing."""
    change, config = readers.change, readers.config
    function, hardware = alteration.function, config.hardware_of(path)
    sibling = change.unit(path)
    if sibling is None:
        return Sibling(Location(path, 0), function.name, hardware, Message("unread"))
    here = S.counterparts(function, unit, sibling, names)
    if not here:
        return _without(function, sibling, change, config)
    for theirs in here:
        found = _excused(alteration, theirs, sibling, readers) or _in_function(
            alteration, theirs, sibling, hardware
        )
        if found is not None:
            return found
    own, data = here[0], change.head.read(path) or b""
    missing = sorted(w.strip("'") for w in lacking(alteration, own, sibling, data))
    why = (
        Message("no-feature", {"missing": missing})
        if missing
        else Message("no-statement", {"function": own.name})
    )
    return Sibling(Location(path, own.start_line), own.qualname, hardware, why)


def _excused(
    alteration: Alteration, theirs: Function, sibling: SourceFile, readers: Readers
) -> Sibling | None:
    """What this change adapted in another way, and what came for other hardware only."""
    hardware = readers.config.hardware_of(sibling.path)
    line = adapted(alteration, theirs, readers.change)
    if line:
        excerpt = sibling.lines[line - 1].strip()
        return Sibling(
            Location(sibling.path, line), theirs.qualname, hardware, Message("adapted"), excerpt
        )
    for call in (
        e.form for e in effects(theirs, sibling) if e.kind == "call" and e.key == alteration.old.key
    ):
        if isinstance(call, E.Call) and unread(
            alteration, call, hardware, readers, (theirs, sibling)
        ):
            why = Message("not-read", {"gained": list(alteration.gained)})
            return Sibling(Location(sibling.path, call.line), theirs.qualname, hardware, why)
    return None


def _without(function: Function, sibling: SourceFile, change: ChangeSet, config: Config) -> Sibling:
    """A sibling that has no such function: of its own, or at all."""
    hardware, args = config.hardware_of(sibling.path), {"function": function.name}
    for path in (function.path, *S.sibling_files(function.path, change, config)):
        name = _base_in(path, sibling)
        if name is not None:
            line, parent = name
            inherited = Message("inherits", {**args, "parent": parent})
            return Sibling(Location(sibling.path, line), function.name, hardware, inherited)
    line = next((c.start_line for c in sibling.classes), 1)
    return Sibling(
        Location(sibling.path, line), function.name, hardware, Message("no-function", args)
    )


def _base_in(path: str, sibling: SourceFile) -> tuple[int, str] | None:
    """(line, base) of the class of `sibling` that extends one imported from the file `path`."""
    module = path.removesuffix(".py").replace("/", ".")
    names = {
        i.alias or i.name
        for i in sibling.imports
        if i.module and module.endswith(i.module.lstrip("."))
    }
    return next(((c.start_line, b) for c in sibling.classes for b in c.bases if b in names), None)


def _in_function(
    alteration: Alteration, theirs: Function, sibling: SourceFile, hardware: str
) -> Sibling | None:
    """The same place, call or branch in a form of its own, or in the new form."""
    same = [
        e
        for e in effects(theirs, sibling)
        if e.kind == alteration.kind and e.key == alteration.old.key
    ]
    if alteration.kind == "branch":
        same = [e for e in same if e.form == alteration.new.form]
    if not same:
        return None
    new = [e for e in same if e.form == alteration.new.form or _gained(alteration, e.form)]
    effect = (new or same)[0]
    excerpt = re.sub(r"\s+", " ", sibling.lines[effect.line - 1].strip())
    place = Location(sibling.path, effect.line)
    return Sibling(
        place, theirs.qualname, hardware, Message("has-new" if new else "own-form"), excerpt
    )


def _gained(alteration: Alteration, form: object) -> bool:
    if not alteration.gained:
        return False
    if isinstance(form, E.Call):
        return set(alteration.gained) <= {k for k, _ in form.keywords}
    return isinstance(form, tuple) and set(alteration.gained) <= {
        getattr(m, "name", None) for m in form[1]
    }
