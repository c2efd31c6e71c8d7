"""Where a sibling still has the form that a change altered."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.finding import Confidence, Location
from checks.core.tree import contains_word
from checks.domain.call_targets import assigned
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.sync._effects import Alteration, Effect, alike, member_name, weight

_BUILTIN = frozenset(dir(builtins))
LEAST_WEIGHT = 4
LEAST_LOCAL = 6
LEAST_WORDS = 3
MOST_ALIKE = 0.6
_Match = tuple[int, Confidence]


@dataclass(frozen=True, slots=True)
class Lag:
    """A place of a sibling that keeps the old form of `alteration`; `exact` where it is the very same statement."""

    alteration: Alteration
    function: Function
    unit: SourceFile
    effect: Effect
    line: int
    confidence: Confidence
    exact: bool

    @property
    def location(self) -> Location:
        """The line that would change, or the whole statement where it is the value that would."""
        if self.alteration.kind == "assign":
            return Location(self.unit.path, self.effect.start, self.effect.end)
        return Location(self.unit.path, self.line)


def lags(
    alteration: Alteration, function: Function, unit: SourceFile, theirs: list[Effect]
) -> Iterator[Lag]:
    """The places in one function of a sibling that keep the old form; none where it has the new one already."""
    same = [e for e in theirs if e.kind == alteration.kind and e.key == alteration.old.key]
    if any(e.form == alteration.new.form for e in same):
        return
    for effect in same:
        found = _MATCH[alteration.kind](alteration, effect, same)
        if found is not None:
            line, confidence = found
            yield Lag(
                alteration,
                function,
                unit,
                effect,
                line,
                confidence,
                effect.form == alteration.old.form,
            )


def _value(alteration: Alteration, effect: Effect, _: list[Effect]) -> _Match | None:
    """The same place is given the same value. A local table that gets other entries is part of a larger change."""
    if (
        effect.form != alteration.old.form
        or isinstance(effect.form, tuple)
        or isinstance(effect.key, str)
    ):
        return None
    if isinstance(effect.key, E.Name) and isinstance(effect.form, E.Mapping | E.Sequence):
        return None
    local = isinstance(effect.key, E.Name)
    strong = weight(effect.form) >= (LEAST_LOCAL if local else LEAST_WEIGHT)
    if not strong and (local or effect.guards != alteration.old.guards):
        return None
    return effect.line, Confidence.HIGH if strong else Confidence.MEDIUM


def _branch(alteration: Alteration, effect: Effect, _: list[Effect]) -> _Match | None:
    """The same condition decides."""
    if (
        effect.form != alteration.old.form
        or isinstance(effect.form, tuple)
        or weight(effect.form) < LEAST_WEIGHT
    ):
        return None
    return effect.line, Confidence.MEDIUM


def _enum(alteration: Alteration, effect: Effect, same: list[Effect]) -> _Match | None:
    """A branch on the same enum knows some of the old members, and no branch of this function the new ones."""
    old, form = alteration.old.form, effect.form
    if not isinstance(old, tuple) or not isinstance(form, tuple) or not alteration.gained:
        return None
    known = {member_name(m) for e in same if isinstance(e.form, tuple) for m in e.form[1]}
    if form[0] != old[0] or not form[1] <= old[1] or known & set(alteration.gained):
        return None
    return effect.line, Confidence.MEDIUM if form == old else Confidence.LOW


def _call(alteration: Alteration, effect: Effect, _: list[Effect]) -> _Match | None:
    """The same call with the old arguments: without the keywords that came, or with the values that changed."""
    old, new, call = alteration.old.form, alteration.new.form, effect.form
    if not (
        isinstance(old, E.Call) and isinstance(new, E.Call) and isinstance(call, E.Call)
    ) or E.starred(call):
        return None
    theirs = dict(call.keywords)
    if alteration.gained and not alteration.lost:
        return _keywords(alteration, old, new, call)
    changed = (*alteration.altered, *alteration.lost)
    kept = [k for k, v in old.keywords if k in changed and theirs.get(k) == v]
    if changed:
        if not kept or alike(old, call) < MOST_ALIKE or len(call.args) != len(old.args):
            return None
        return theirs[
            kept[0]
        ].line or effect.line, Confidence.HIGH if call == old else Confidence.MEDIUM
    if call == old and weight(call) >= LEAST_WEIGHT:
        return effect.line, Confidence.HIGH
    return None


def _keywords(alteration: Alteration, old: E.Call, new: E.Call, call: E.Call) -> _Match | None:
    """The call lacks every keyword that came and passes most of the others; its line is where they would go in."""
    theirs, order = dict(call.keywords), [k for k, _ in new.keywords]
    if any(k in theirs for k in alteration.gained) or len(call.args) != len(old.args):
        return None
    common = [k for k, _ in old.keywords if k in theirs]
    if len(common) < min(LEAST_WORDS, len(old.keywords)) or alike(old, call) < MOST_ALIKE:
        return None
    place = order.index(alteration.gained[0])
    above = [k for k in order[:place] if k not in alteration.gained]
    below = [k for k in order[place:] if k not in alteration.gained]
    if above and above[-1] not in theirs and (not below or below[0] not in theirs):
        return None
    line = next((theirs[k].line for k in reversed(above) if k in theirs), 0) or call.line
    return line, Confidence.HIGH if alike(old, call) >= 0.8 else Confidence.MEDIUM


_MATCH = {"assign": _value, "branch": _branch, "enum": _enum, "call": _call}


def lacking(alteration: Alteration, function: Function, unit: SourceFile, data: bytes) -> set[str]:
    """What the new form needs and the sibling has nowhere: attributes, keys and functions of the runner in its file,
    local variables in its function; everything in its function, where it stands in the changed file itself."""
    wanted = _own(alteration.new) - _own(alteration.old)
    if not wanted:
        return wanted
    local = assigned(alteration.function) | {p.name for p in alteration.function.params}
    text = re.sub(r"([\"'])\w+\1", "", unit.text(function.start_line, function.end_line)).encode()
    own = unit.text(function.start_line, function.end_line).encode()
    there = own if unit.path == alteration.function.path else data
    return {w for w in wanted if not _there(w, text if w in local else there)}


def _there(wanted: str, data: bytes) -> bool:
    """Whether a name, or a key in its quotes, stands in `data`."""
    if wanted[0] in "\"'":
        return any(f"{q}{wanted[1:-1]}{q}".encode() in data for q in "\"'")
    return has_word(data, wanted)


def _own(effect: Effect) -> set[str]:
    found: set[str] = set()
    for part in (p for form in forms(effect) for p in E.walk(form)):
        match part:
            case E.Attr(base=E.Name(id="self"), name=name):
                found.add(name)
            case E.Attr(base=E.Attr(base=E.Name(id="self"), name=holder), name=name) if (
                not holder.endswith("config")
            ):
                found.add(name)
            case E.Name(id=name) if name != "self":
                found.add(name)
            case E.Call(func=E.Attr(name=name)):
                found.add(name)
            case E.Index(indices=(E.Const(value=str() as key),)):
                found.add(repr(key))
            case _:
                pass
    return found


def forms(effect: Effect) -> tuple[E.Expr, ...]:
    """The form of an effect, where it is an expression."""
    return () if isinstance(effect.form, tuple) else (effect.form,)


def has_word(data: bytes, word: str) -> bool:
    """Whether `word` stands in `data` as a whole word; a builtin is everywhere."""
    return word in _BUILTIN or contains_word(data, word.encode())


def other_callee(alteration: Alteration, unit: SourceFile, sibling: SourceFile) -> bool:
    """Whether the two files import what is called from different modules: another hardware's op of the same name."""
    new = alteration.new.form
    if alteration.kind != "call" or not isinstance(new, E.Call) or not isinstance(new.func, E.Name):
        return False
    ours, theirs = (
        {i.module for i in u.imports if (i.alias or i.name) == new.func.id and i.name}
        for u in (unit, sibling)
    )
    return bool(ours) and bool(theirs) and not ours & theirs


def method_differs(alteration: Alteration, sibling: SourceFile) -> bool:
    """Whether the new call passes what the sibling's own method of that name does not take: the method goes first."""
    new = alteration.new.form
    if (
        not isinstance(new, E.Call)
        or not isinstance(new.func, E.Attr)
        or new.func.base != E.Name("self")
    ):
        return False
    for method in sibling.named(new.func.name):
        params = [p for p in method.params if p.name != "self"]
        open_ended = any(p.kind in ("args", "kwargs") for p in params)
        fits = len(new.args) <= len(params) and set(alteration.gained) <= {p.name for p in params}
        if not open_ended and not fits:
            return True
    return False


def hardware_only(alteration: Alteration) -> bool:
    """Whether the old or the new form asks which hardware this is: `current_platform.is_cuda()`."""
    conditions = (*forms(alteration.old), *forms(alteration.new), *alteration.new.guards)
    asked = (p for f in conditions for p in E.walk(f) if isinstance(p, E.Call))
    return any(
        "platform" in (E.dotted(c.func) or "") and E.callee(c).startswith("is_") for c in asked
    )
