"""What a change altered in a device function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.copies.device_effects import DeviceEffect, device_effects
from checks.domain.copies.symbols import count_common_symbols, count_symbols
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import negate

# A function of which more is gone was written anew: there is no old form that a copy should follow.
_MOST_GONE = 10
_MOST_SHARE_GONE = 0.5
# What takes the place of a gone effect (of the same kind and key) keeps this share of its symbols.
LEAST_SIMILARITY = 0.4
# How often names are replaced by the values that they were given.
_EXPANSION_DEPTH = 3
_ALLOCATORS = frozenset(
    {"empty", "full", "zeros", "ones", "empty_like", "full_like", "copy_to", "GetEmptyTensor"}
)


@dataclass(frozen=True, slots=True)
class DeviceAlteration:
    """What a change did to one effect of `base`, which is `function` now.

    `old` became `new` (None: it is gone), or gained the condition `guard`, or was `widened`: the
    same value in a wider type.
    """

    function: Function
    base: Function
    old: DeviceEffect
    new: DeviceEffect | None
    guard: E.Expr | None = None
    widened: bool = False

    @property
    def line(self) -> int:
        return self.new.line if self.new is not None else self.function.start_line


def device_alterations(base: Function, head: Function) -> list[DeviceAlteration]:
    """Effects of the base that are gone, with what stands in their place; new guards; wider types.

    An effect of which the old form still stands somewhere is left out, as are names that were only
    renamed and values that only got a name.
    """
    comparison = FunctionComparison.of(base, head)
    if len(comparison.gone) > max(_MOST_GONE, _MOST_SHARE_GONE * len(comparison.before)):
        return []
    alterations: list[DeviceAlteration] = []
    new_effects = list(comparison.new)
    for old in comparison.gone:
        successor = _find_successor(old, new_effects)
        if successor is not None:
            # Each new effect takes the place of one gone effect.
            new_effects.remove(successor)
            if not comparison.means_the_same(old, successor) and not _allocates(old.form):
                alterations.append(DeviceAlteration(head, base, old, successor))
        elif comparison.is_store_of_kept_names(old):
            alterations.append(DeviceAlteration(head, base, old, None))
    alterations += _guarded_stores(comparison)
    alterations += _widened_products(comparison)
    return alterations


@dataclass(frozen=True, slots=True)
class FunctionComparison:
    """A device function before and after a change, effect by effect."""

    base: Function
    head: Function
    before: list[DeviceEffect]
    after: list[DeviceEffect]
    gone: list[DeviceEffect]
    new: list[DeviceEffect]
    gone_names: set[str]
    new_names: set[str]

    @classmethod
    def of(cls, base: Function, head: Function) -> FunctionComparison:
        before, after = device_effects(base), device_effects(head)
        old_identities = {effect.identity for effect in before}
        new_identities = {effect.identity for effect in after}
        gone = [effect for effect in before if effect.identity not in new_identities]
        new = [effect for effect in after if effect.identity not in old_identities]
        old_names, new_names = _names_in(base, before), _names_in(head, after)
        return cls(
            base, head, before, after, gone, new, old_names - new_names, new_names - old_names
        )

    def means_the_same(self, old: DeviceEffect, new: DeviceEffect) -> bool:
        """Whether only names were changed, or a value got a name of its own or lost it."""
        if _skeleton(old, self.gone_names) == _skeleton(new, self.new_names):
            return True
        # The arms of a condition that is asked the other way round have changed places.
        if old.kind == "branch" and new.form == negate(old.form):
            return True
        old_form = _expand(old.form, _single_values(self.before))
        return old_form == _expand(new.form, _single_values(self.after))

    def is_store_of_kept_names(self, effect: DeviceEffect) -> bool:
        """Whether the effect writes an element, and no name of the place went with the change."""
        if effect.kind != "assign" or not isinstance(effect.key, E.Index):
            return False
        return not E.names(effect.key) & self.gone_names


def _names_in(function: Function, effects: list[DeviceEffect]) -> set[str]:
    names = {p.name for p in function.params}
    for effect in effects:
        names |= effect.names
    return names


def _find_successor(old: DeviceEffect, candidates: list[DeviceEffect]) -> DeviceEffect | None:
    """The new effect that took the place of a gone one.

    The most similar, of the same kind and key.
    """
    same = [c for c in candidates if c.kind == old.kind and c.key == old.key]
    if not same:
        return None

    def closeness(candidate: DeviceEffect) -> tuple[float, bool, int]:
        similarity = _similarity(old.form, candidate.form)
        return similarity, candidate.guards == old.guards, -candidate.line

    best = max(same, key=closeness)
    # The same place that gets a value is enough; a condition or call has to be alike.
    if old.kind != "assign" and _similarity(old.form, best.form) < LEAST_SIMILARITY:
        return None
    return best


def _similarity(left: E.Expr, right: E.Expr) -> float:
    """How much of the shorter one's names and constants the other has; 0 to 1."""
    shorter = min(count_symbols(left), count_symbols(right))
    return count_common_symbols(left, right) / max(1, shorter)


def _allocates(form: E.Expr) -> bool:
    """Whether a value is a fresh tensor or opens one, which every hardware does in its own way."""
    if isinstance(form, E.Call) and E.callee(form) in _ALLOCATORS:
        return True
    return any(isinstance(e, E.Call) and E.callee(e) == "data" for e in E.walk(form))


def _single_values(effects: list[DeviceEffect]) -> dict[str, E.Expr]:
    """The names that are given a value once, with it."""
    values: dict[str, list[E.Expr]] = {}
    for effect in effects:
        if isinstance(effect.key, E.Name):
            values.setdefault(effect.key.id, []).append(effect.form)
    return {name: forms[0] for name, forms in values.items() if len(forms) == 1}


def _expand(form: E.Expr, values: dict[str, E.Expr], depth: int = _EXPANSION_DEPTH) -> E.Expr:
    """`form` with names replaced by the values they were given."""
    if not depth:
        return form

    def value_of(e: E.Expr) -> E.Expr | None:
        if isinstance(e, E.Name) and e.id in values:
            return _expand(values[e.id], values, depth - 1)
        return None

    return E.substitute(form, value_of)


def _skeleton(effect: DeviceEffect, names: set[str]) -> tuple[object, ...]:
    """The effect with `names` left blank."""

    def blank(e: E.Expr) -> E.Expr | None:
        return E.Name("_") if isinstance(e, E.Name) and e.id in names else None

    key = E.substitute(effect.key, blank) if effect.key is not None else None
    return effect.kind, key, E.substitute(effect.form, blank)


def _guarded_stores(comparison: FunctionComparison) -> Iterator[DeviceAlteration]:
    """Stores to memory that gained one condition which the base did not have anywhere."""
    stores: dict[tuple[object, ...], list[DeviceEffect]] = {}
    for effect in comparison.after:
        if effect.kind == "assign" and isinstance(effect.key, E.Index):
            stores.setdefault(effect.identity, []).append(effect)
    old_conditions = _conditions(comparison.before)
    for old in comparison.before:
        twins = stores.get(old.identity, [])
        if len(twins) != 1:
            continue
        guard = _only_new_guard(old, twins[0], old_conditions)
        if guard is not None:
            yield DeviceAlteration(comparison.head, comparison.base, old, twins[0], guard=guard)


def _only_new_guard(
    old: DeviceEffect, new: DeviceEffect, old_conditions: set[E.Expr]
) -> E.Expr | None:
    """The one condition that came to stand around an effect, which has all of its old ones."""
    if not set(old.guards) <= set(new.guards):
        return None
    new_guards = [g for g in new.guards if g not in old_conditions]
    # A condition of one name alone stands in many functions by chance.
    if len(new_guards) != 1 or len(E.names(new_guards[0])) < 2:
        return None
    return new_guards[0]


def _conditions(effects: list[DeviceEffect]) -> set[E.Expr]:
    conditions: set[E.Expr] = set()
    for effect in effects:
        conditions.update(effect.guards)
        if effect.kind == "branch":
            conditions.add(effect.form)
    return conditions


def _widened_products(comparison: FunctionComparison) -> Iterator[DeviceAlteration]:
    """Products that were kept in 32 bits and now are in 64."""
    narrow = {e.identity: e for e in comparison.before if e.bits == 32 and _multiplies(e.form)}
    for effect in comparison.after:
        if effect.bits == 64 and effect.identity in narrow:
            old = narrow[effect.identity]
            yield DeviceAlteration(comparison.head, comparison.base, old, effect, widened=True)


def _multiplies(form: E.Expr) -> bool:
    return any(isinstance(e, E.Binary) and e.op == "*" for e in E.walk(form))
