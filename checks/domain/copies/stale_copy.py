"""Where a sibling still has the form that a change altered elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.finding import Confidence, Location
from checks.domain.copies.alterations import Alteration, share_of_arguments
from checks.domain.copies.effects import Effect, EnumTest, effects
from checks.domain.copies.symbols import count_symbols
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile

# Forms of fewer names and constants are the same by chance; the values of local variables even more
# so.
_LEAST_SYMBOLS = 4
_LEAST_SYMBOLS_OF_LOCAL = 6
# Two calls are the same one where they share this many keywords (or all, of fewer) and this much of
# their arguments.
_LEAST_KEYWORDS = 3
_LEAST_SHARE = 0.6
_CERTAIN_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class StaleCopy:
    """A place of a sibling that keeps the old form of `alteration`.

    `effect` is what the sibling does there, `line` the line that would change, and `is_exact` says
    that the form is the very same.
    """

    alteration: Alteration
    function: Function
    unit: SourceFile
    effect: Effect
    line: int
    confidence: Confidence
    is_exact: bool

    @property
    def location(self) -> Location:
        """The line that would change, or the whole statement where it is the value that would."""
        if self.alteration.kind == "assign":
            return Location(self.unit.path, self.effect.start, self.effect.end)
        return Location(self.unit.path, self.line)


@dataclass(frozen=True, slots=True)
class OldForm:
    """An effect was recognised as the old form: `line` is the one that would change."""

    line: int
    confidence: Confidence


def stale_copies_in(
    function: Function, unit: SourceFile, alteration: Alteration
) -> Iterator[StaleCopy]:
    """The places of a sibling's function that keep the old form; none where it has the new one."""
    same_key = [
        effect
        for effect in effects(function, unit)
        if effect.kind == alteration.kind and effect.key == alteration.old.key
    ]
    # A function with both forms has followed already, and keeps the old one for another case.
    if any(effect.form == alteration.new.form for effect in same_key):
        return
    if _knows_new_members(same_key, alteration):
        return
    for effect in same_key:
        old_form = _recognise(effect, alteration)
        if old_form is not None:
            is_exact = effect.form == alteration.old.form
            yield StaleCopy(
                alteration,
                function,
                unit,
                effect,
                old_form.line,
                old_form.confidence,
                is_exact,
            )


def _knows_new_members(same_enum: list[Effect], alteration: Alteration) -> bool:
    """Whether another branch of the function on the same enum knows the members that came."""
    if alteration.kind != "enum":
        return False
    known: set[str] = set()
    for effect in same_enum:
        if isinstance(effect.form, EnumTest):
            known |= effect.form.member_names()
    return not known.isdisjoint(alteration.added)


def _recognise(effect: Effect, alteration: Alteration) -> OldForm | None:
    """Whether an effect, about the same as the altered one, is done in the old way."""
    match effect.form, alteration.old.form, alteration.new.form:
        case EnumTest() as test, EnumTest() as old_test, EnumTest():
            return _recognise_enum(effect, test, old_test, alteration)
        case E.Call() as call, E.Call() as old_call, E.Call() as new_call if effect.kind == "call":
            return _recognise_call(effect, call, old_call, new_call, alteration)
    if effect.form != alteration.old.form or isinstance(effect.form, EnumTest):
        return None
    if effect.kind == "assign":
        return _recognise_value(effect, effect.form, alteration)
    if count_symbols(effect.form) < _LEAST_SYMBOLS:
        return None
    return OldForm(effect.line, Confidence.MEDIUM)


def _recognise_value(effect: Effect, value: E.Expr, alteration: Alteration) -> OldForm | None:
    """The same place is given the same value."""
    is_local = isinstance(effect.key, E.Name)
    # An object that is made with other arguments is an effect of its own: the call.
    if is_local and _makes_same_class(value, alteration.new.form):
        return None
    # A local table that gets other entries is part of a larger change.
    if is_local and isinstance(value, E.Mapping | E.Sequence):
        return None
    least = _LEAST_SYMBOLS_OF_LOCAL if is_local else _LEAST_SYMBOLS
    if count_symbols(value) >= least:
        return OldForm(effect.line, Confidence.HIGH)
    if is_local or effect.guards != alteration.old.guards:
        return None
    return OldForm(effect.line, Confidence.MEDIUM)


def _makes_same_class(value: E.Expr, new: E.Expr | EnumTest) -> bool:
    match value, new:
        case E.Call(func=func), E.Call(func=other):
            return func == other and E.callee(value)[:1].isupper()
        case _:
            return False


def _recognise_enum(
    effect: Effect, test: EnumTest, old_test: EnumTest, alteration: Alteration
) -> OldForm | None:
    """A branch on the same enum knows some of the old members."""
    if not alteration.added or test.is_member != old_test.is_member:
        return None
    if not test.members <= old_test.members:
        return None
    return OldForm(effect.line, Confidence.MEDIUM if test == old_test else Confidence.LOW)


def _recognise_call(
    effect: Effect, call: E.Call, old_call: E.Call, new_call: E.Call, alteration: Alteration
) -> OldForm | None:
    """The same call with the old arguments."""
    if E.starred(call):
        return None
    if alteration.only_adds:
        return _recognise_lack(call, old_call, new_call, alteration)
    if alteration.changed or alteration.removed:
        return _recognise_old_values(effect, call, old_call, alteration)
    if call == old_call and count_symbols(call) >= _LEAST_SYMBOLS:
        return OldForm(effect.line, Confidence.HIGH)
    return None


def _recognise_old_values(
    effect: Effect, call: E.Call, old_call: E.Call, alteration: Alteration
) -> OldForm | None:
    """The call still passes a keyword with the value that the change altered or took out."""
    if not _is_same_call(call, old_call):
        return None
    keywords = dict(call.keywords)
    for keyword, value in old_call.keywords:
        is_altered = keyword in alteration.changed or keyword in alteration.removed
        if is_altered and keywords.get(keyword) == value:
            line = keywords[keyword].line or effect.line
            is_exact = call == old_call
            return OldForm(line, Confidence.HIGH if is_exact else Confidence.MEDIUM)
    return None


def _is_same_call(call: E.Call, old_call: E.Call) -> bool:
    """Whether the sibling's call passes most of what the changed function passed before."""
    if len(call.args) != len(old_call.args):
        return False
    return share_of_arguments(old_call, call) >= _LEAST_SHARE


def _recognise_lack(
    call: E.Call, old_call: E.Call, new_call: E.Call, alteration: Alteration
) -> OldForm | None:
    """The call lacks every keyword that came and passes most of the others."""
    keywords = dict(call.keywords)
    if not keywords.keys().isdisjoint(alteration.added) or not _is_same_call(call, old_call):
        return None
    common = [keyword for keyword, _ in old_call.keywords if keyword in keywords]
    if len(common) < min(_LEAST_KEYWORDS, len(old_call.keywords)):
        return None
    above, below = _keywords_around_added(new_call, alteration)
    # The new keyword came between two others; a call with neither of them is another variant.
    neighbours = {*above[-1:], *below[:1]}
    if above and keywords.keys().isdisjoint(neighbours):
        return None
    line = _line_after(above, keywords) or call.line
    is_certain = share_of_arguments(old_call, call) >= _CERTAIN_SHARE
    return OldForm(line, Confidence.HIGH if is_certain else Confidence.MEDIUM)


def _keywords_around_added(new_call: E.Call, alteration: Alteration) -> tuple[list[str], list[str]]:
    """The keywords above and below the first one that came, without those that came as well."""
    order = [keyword for keyword, _ in new_call.keywords]
    place = order.index(alteration.added[0])
    above = [keyword for keyword in order[:place] if keyword not in alteration.added]
    below = [keyword for keyword in order[place:] if keyword not in alteration.added]
    return above, below


def _line_after(above: list[str], keywords: dict[str, E.Expr]) -> int:
    """The line of the last of `above` that the call passes, where the new keyword would go in.

    0 if none.
    """
    for keyword in reversed(above):
        if keyword in keywords:
            return keywords[keyword].line
    return 0
