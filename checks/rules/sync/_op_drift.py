"""What a change altered in one copy of a device op while another copy keeps the old form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Finding,
    Location,
    Message,
    Related,
    Severity,
    Sibling,
    Side,
)
from checks.domain.siblings import LEAST_CONTAINED, base_unit, containment
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.source import language
from checks.rules.sync._op_copies import copies
from checks.rules.sync._op_effects import Alteration, Atom, alterations, atoms
from checks.rules.sync._op_transplant import ported

LEAST_WEIGHT = 3
STRONG = 5
_MOST_SHOWN = 6
_MOST_PATHS = 16
_MOST_ELSEWHERE = 4
_LONGEST = 120
_TUNED = re.compile(
    r"(num_|n_|k_)?(threads?|grid|blocks?|warps?|stages?|(grid|block|vec|pack)_?(size|dim)|copy_times)(_per_\w+|_x|_y)?"
)
_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", re.S | re.M)


@dataclass(frozen=True, slots=True)
class Kept:
    """`atom` of `function` is what `alteration` was before the change."""

    alteration: Alteration
    function: Function
    unit: SourceFile
    atom: Atom


def altered(change: ChangeSet, config: Config) -> list[Alteration]:
    """What the change altered in C++ functions outside tests, leaving out what two functions share by chance."""
    found: list[Alteration] = []
    for old, new in change.changed_functions():
        if old is None or new is None or language(new.path) != "cpp" or config.is_test(new.path):
            continue
        if (
            new.clean
            and old.clean
            and _code(old, change, Side.BASE) != _code(new, change, Side.HEAD)
        ):
            found += [
                a for a in alterations(old, new) if _tells(a.old) and not _reads_same(a, change)
            ]
    return found


def _code(function: Function, change: ChangeSet, side: Side) -> str:
    """The function's source without comments and space."""
    unit = change.unit(function.path, side)
    return (
        re.sub(r"\s+", "", _NOISE.sub("", unit.text(function.start_line, function.end_line)))
        if unit is not None
        else ""
    )


def _reads_same(alteration: Alteration, change: ChangeSet) -> bool:
    """Whether the altered lines themselves read as before: a `case` of a `switch` whose subject changed."""
    was = change.unit(alteration.base.path, Side.BASE)
    now = change.unit(alteration.function.path)
    if was is None or now is None or alteration.new is None or alteration.guard is not None:
        return False
    return _text(was, alteration.old) == _text(now, alteration.new)


def _state(alteration: Alteration) -> bool:
    """Whether the altered store goes straight into a parameter."""
    key = alteration.old.key
    return key is not None and E.root(key) in {p.name for p in alteration.base.params}


def _of_index(alteration: Alteration, config: Config) -> bool:
    """Whether the change counts from an index in another way: each hardware's own callers decide what that means."""
    old, new = alteration.old, alteration.new
    words = re.compile(rf"(^|_)({'|'.join(map(re.escape, config.semantics.index))})($|_)")
    indices = {n for n in old.names if words.search(n)}
    return new is not None and new.names != old.names and bool(indices & new.names)


def _tells(atom: Atom) -> bool:
    """Whether two functions do not share an atom by chance, and it is not a size that each hardware tunes."""
    tuned = isinstance(atom.key, E.Name) and _TUNED.fullmatch(atom.key.id)
    return atom.weight >= LEAST_WEIGHT and len(atom.names) > 1 and not tuned


def drift(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """One question for each altered file and each hardware whose copy keeps the old form."""
    groups: dict[tuple[str, str], list[Kept]] = {}
    for alteration in altered(change, config):
        path = alteration.function.path
        for other in (path, *copies(path, change, config)):
            unit = change.unit(other)
            for kept in _kept(alteration, unit, change) if unit is not None else ():
                if other != path or _reference(alteration, kept.function, unit, change):
                    groups.setdefault((path, config.hardware_of(other) or other), []).append(kept)
    for group in groups.values():
        yield _finding(group, change, config, rule)


def _reference(
    alteration: Alteration, function: Function, unit: SourceFile | None, change: ChangeSet
) -> bool:
    """Whether `function` is the host's version of an altered kernel in one file, or the kernel of an altered host's."""
    device = [
        "__global__" in f.marks or "__device__" in f.marks for f in (alteration.function, function)
    ]
    base = base_unit(alteration.function.path, change)
    if unit is None or base is None or device[0] == device[1]:
        return False
    return containment(alteration.base, base, function, unit) >= LEAST_CONTAINED


def _kept(alteration: Alteration, unit: SourceFile, change: ChangeSet) -> Iterator[Kept]:
    """The atoms of `unit` that are what `alteration` was; none where another function of it has the new form."""
    own = alteration.function if unit.path == alteration.function.path else None
    looked = [f for f in unit.functions if f.clean and (own is None or f.qualname != own.qualname)]
    known = [(f, a) for f in looked for a in _atoms(f, change)]
    if any(_has_new(alteration, a) for _, a in known):
        return
    for function, atom in known:
        if atom.identity != alteration.old.identity or change.touches(
            unit.path, atom.line, atom.end_line
        ):
            continue
        if _fits(alteration, function) and (
            not alteration.widened or atom.width == alteration.old.width
        ):
            yield Kept(alteration, function, unit, atom)


def _atoms(function: Function, change: ChangeSet) -> list[Atom]:
    key = ("sync.op.atoms", function.path, function.qualname, function.start_line)
    return change.memo(key, lambda: atoms(function))


def _has_new(alteration: Alteration, atom: Atom) -> bool:
    """Whether `atom` is the new form, or stands under the new condition."""
    if alteration.guard is not None:
        return alteration.guard in atom.guards or atom.form == alteration.guard
    if alteration.widened and atom.width == alteration.old.width:
        return False
    return alteration.new is not None and atom.identity == alteration.new.identity


def _fits(alteration: Alteration, function: Function) -> bool:
    """Whether the new form could stand in `function`: it needs no parameter that only the altered copy was given."""
    if alteration.new is None:
        return True
    fresh = {p.name for p in alteration.function.params} - {p.name for p in alteration.base.params}
    needs = alteration.new.names | (
        E.names(alteration.guard) if alteration.guard is not None else set()
    )
    return not (needs & fresh) - {p.name for p in function.params}


def _finding(group: list[Kept], change: ChangeSet, config: Config, rule: str) -> Finding:
    """Reported where the copy keeps most of what changed; its other files are named beside it."""
    counts = {
        path: sum(k.unit.path == path for k in group)
        for path in dict.fromkeys(k.unit.path for k in group)
    }
    main = max(counts, key=lambda path: counts[path])
    first = next(k for k in group if k.unit.path == main)
    evidence = tuple(_sibling(k, change, config) for k in group[:_MOST_SHOWN])
    others = [next(k for k in group if k.unit.path == path) for path in counts if path != main]
    strong = max(k.atom.weight for k in group) >= STRONG
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.HIGH if strong else Confidence.MEDIUM,
        location=Location(main, first.atom.line, first.atom.end_line),
        message=Message(
            "kept",
            {**_words(first, change, config), "more": len({id(k.alteration) for k in group}) - 1},
        ),
        symbol=first.function.qualname,
        subject=_text(first.unit, first.atom),
        evidence=evidence,
        fix=ported([(k.alteration, k.unit, k.function, k.atom) for k in group], change),
        pedantic=all(k.alteration.new is None and not _state(k.alteration) for k in group)
        or any(_of_index(k.alteration, config) for k in group),
        related=(
            *(_related(k, Message("also", {"function": k.function.name})) for k in others),
            *(
                _related(k, Message("elsewhere", {"function": k.function.name}))
                for k in _elsewhere(group, change, config)
            ),
        ),
    )


def _related(kept: Kept, message: Message) -> Related:
    return Related(Location(kept.unit.path, kept.atom.line, kept.atom.end_line), message)


def _elsewhere(group: list[Kept], change: ChangeSet, config: Config) -> list[Kept]:
    """Other ops that ask the same old condition, where they are few: they may be meant too, or have a reason."""
    found: list[Kept] = []
    for alteration in {
        id(k.alteration): k.alteration for k in group if k.atom.kind == "branch"
    }.values():
        seen = {alteration.function.path, *copies(alteration.function.path, change, config)}
        hits = change.head.find(max(alteration.old.names, key=len))
        paths = {
            h.path for h in hits if language(h.path) == "cpp" and not config.is_test(h.path)
        } - seen
        for path in sorted(paths) if len(paths) <= _MOST_PATHS else ():
            unit = change.unit(path)
            found += _kept(alteration, unit, change) if unit is not None else ()
    return found if len(found) <= _MOST_ELSEWHERE else []


def _words(kept: Kept, change: ChangeSet, config: Config) -> dict[str, object]:
    alteration = kept.alteration
    unit = change.unit(alteration.function.path)
    new = alteration.new
    text = _text(unit, new) if unit is not None and new is not None else ""
    if alteration.guard is not None and unit is not None:
        text = _guard_text(unit, alteration)
    kind = "guard" if alteration.guard is not None else "gone" if new is None else "became"
    return {
        "kind": kind,
        "old": _text(kept.unit, kept.atom),
        "new": text,
        "at": Location(alteration.function.path, alteration.line),
        "name": alteration.function.name,
        "function": kept.function.name,
        "hardware": config.hardware_of(kept.unit.path),
    }


def _guard_text(unit: SourceFile, alteration: Alteration) -> str:
    """The condition as the change wrote it: the line of the branch where it is found, else nothing."""
    line = alteration.guard.line if alteration.guard is not None else 0
    return re.sub(r"\s+", " ", unit.text(line)).strip()[:_LONGEST] if line else ""


def _sibling(kept: Kept, change: ChangeSet, config: Config) -> Sibling:
    place = Location(kept.unit.path, kept.atom.line, kept.atom.end_line)
    hardware = config.hardware_of(kept.unit.path)
    verdict = Message("keeps", _words(kept, change, config))
    return Sibling(place, kept.function.qualname, hardware, verdict, _text(kept.unit, kept.atom))


def _text(unit: SourceFile, atom: Atom) -> str:
    """The code of `atom` on one line, without comments and the brace that opens a block."""
    text = _NOISE.sub(" ", unit.text(atom.line, atom.end_line))
    text = re.sub(r"\s+", " ", text).strip().removesuffix("{").rstrip()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
