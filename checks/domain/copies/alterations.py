"""What a change altered in a Python function: which effect became which."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from checks.domain.copies.effects import Effect, EnumTest, effects
from checks.domain.copies.symbols import count_common_symbols, count_symbols
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile

# A new call or condition takes the place of a gone one where it keeps this share of it.
LEAST_SHARE_KEPT = 0.5


@dataclass(frozen=True, slots=True)
class Alteration:
    """What a change did to one effect of `function`: `old` became `new`.

    Of a call, `added`, `removed` and `changed` are keywords; of an enum test, `added` and `removed`
    are members.
    """

    function: Function
    old: Effect
    new: Effect
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return self.old.kind

    @property
    def only_adds(self) -> bool:
        """Whether a call got keywords, or a test got members, and lost none."""
        return bool(self.added) and not self.removed

    def old_expression(self) -> E.Expr | None:
        """The old form, where it is an expression."""
        return _expression(self.old)

    def new_expression(self) -> E.Expr | None:
        """The new form, where it is an expression."""
        return _expression(self.new)


def _expression(effect: Effect) -> E.Expr | None:
    return None if isinstance(effect.form, EnumTest) else effect.form


def alterations(
    base: Function, head: Function, old_unit: SourceFile, unit: SourceFile
) -> list[Alteration]:
    """Effects of the base that are gone, each with the effect of the head that took its place.

    An effect of which the old form still stands somewhere in the function is left out: which one a
    copy follows is not known.
    """
    before, after = effects(base, old_unit), effects(head, unit)
    new_effects = _surplus(after, before)
    standing = {effect.identity for effect in after}
    found: list[Alteration] = []
    for old in before:
        if old.identity in standing:
            continue
        successor = _find_successor(old, new_effects)
        if successor is not None:
            # Each new effect takes the place of one gone effect.
            new_effects.remove(successor)
            found.append(_describe(head, old, successor))
    return found


def _surplus(effects_here: list[Effect], effects_there: list[Effect]) -> list[Effect]:
    """The effects that stand here more often than there."""
    remaining = Counter(effect.identity for effect in effects_there)
    surplus: list[Effect] = []
    for effect in effects_here:
        if remaining[effect.identity]:
            remaining[effect.identity] -= 1
        else:
            surplus.append(effect)
    return surplus


def _find_successor(old: Effect, candidates: list[Effect]) -> Effect | None:
    """The effect that took the place of `old`: of the same kind and key, the most similar."""
    same = [c for c in candidates if c.kind == old.kind and c.key == old.key]
    if not same:
        return None

    def closeness(candidate: Effect) -> tuple[float, bool, int]:
        return _share_kept(old, candidate), candidate.guards == old.guards, -candidate.line

    best = max(same, key=closeness)
    # The same place that gets a value is enough; a condition or call has to be alike.
    if old.kind != "assign" and _share_kept(old, best) < LEAST_SHARE_KEPT:
        return None
    return best


def _share_kept(old: Effect, new: Effect) -> float:
    """How much of the old form the new one keeps, from 0 to 1."""
    match old.form, new.form:
        case EnumTest(members=old_members), EnumTest(members=new_members):
            return 1.0 if old_members & new_members else 0.0
        case (EnumTest(), _) | (_, EnumTest()):
            return 0.0
        case E.Call() as old_call, E.Call() as new_call if old.kind == "call":
            return share_of_arguments(old_call, new_call)
        case old_form, new_form:
            common = count_common_symbols(old_form, new_form)
            return common / max(1, count_symbols(old_form))


def share_of_arguments(call: E.Call, other: E.Call) -> float:
    """The share of `call`'s arguments that `other` passes too.

    At the same place, or by the same keyword; from 0 to 1.
    """
    total = len(call.args) + len(call.keywords)
    if not total:
        return 1.0
    same = 0
    for value, other_value in zip(call.args, other.args, strict=False):
        same += value == other_value
    other_keywords = dict(other.keywords)
    for keyword, value in call.keywords:
        same += other_keywords.get(keyword) == value
    return same / total


def _describe(function: Function, old: Effect, new: Effect) -> Alteration:
    """The alteration, with the keywords or members that came, went and changed."""
    match old.form, new.form:
        case EnumTest(members=old_members) as old_test, EnumTest(members=new_members) as new_test:
            added = EnumTest(new_test.is_member, new_members - old_members).member_names()
            removed = EnumTest(old_test.is_member, old_members - new_members).member_names()
            return Alteration(function, old, new, tuple(sorted(added)), tuple(sorted(removed)))
        case E.Call(keywords=old_pairs), E.Call(keywords=new_pairs) if old.kind == "call":
            before, after = dict(old_pairs), dict(new_pairs)
            return Alteration(
                function,
                old,
                new,
                added=tuple(k for k in after if k not in before),
                removed=tuple(k for k in before if k not in after),
                changed=tuple(k for k in before if k in after and before[k] != after[k]),
            )
        case _:
            return Alteration(function, old, new)
