"""Whether a value was masked before: in a local, in the elements of a tensor, or through a view of
it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from checks.core.code import equal_code
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, GuardedStmt, negate

# These give another shape or place, or other copies, of the same elements.
_KEEPS_ELEMENTS = frozenset(
    {
        "clone",
        "contiguous",
        "copy",
        "cpu",
        "cuda",
        "expand",
        "flatten",
        "permute",
        "ravel",
        "repeat",
        "reshape",
        "squeeze",
        "t",
        "to",
        "transpose",
        "unsqueeze",
        "view",
    }
)


@dataclass(frozen=True, slots=True)
class MaskedValues:
    """The statements of a function in their order."""

    statements: list[GuardedStmt]
    # The locals that are being followed, each with the statement at which it is asked for.
    _followed: frozenset[tuple[str, int]] = frozenset()

    def holds(self, expr: E.Expr, at: GuardedStmt) -> bool:
        """Whether every value that `expr` can have at the statement `at` was masked.

        A tensor of which parts were masked in place counts as masked: that the parts are all of it
        is not proved.
        """
        match expr:
            case E.Binary(op="&"):
                return True
            case E.Name(id=name):
                return self._is_masked_local(name, at)
            case E.Index(base=base) | E.Cast(operand=base) | E.Attr(base=base, name="T"):
                return self.holds(base, at)
            case E.Call(func=E.Attr(base=base, name=name)) if name in _KEEPS_ELEMENTS:
                return self.holds(base, at)
            case _:
                return False

    def _is_masked_local(self, name: str, at: GuardedStmt) -> bool:
        """Follows the stores into `name` from `at` back to one that sets it whole on every way."""
        number = self._number_of(at)
        # What comes round in a loop is masked where all that enters the loop is.
        if (name, number) in self._followed:
            return True
        return replace(self, _followed=self._followed | {(name, number)})._follow(name, number, at)

    def _follow(self, name: str, number: int, at: GuardedStmt) -> bool:
        # In a loop, what stands behind the statement comes before its next round.
        later = [s for s in self.statements[number:] if _stores(s, name) and _shares_loop(s, at)]
        if not all(self._stores_masked(store) for store in later if store.stmt is not at.stmt):
            return False
        is_any_part_masked = False
        for store in reversed(self.statements[:number]):
            if not _stores(store, name) or _excludes(store, at):
                continue
            assert isinstance(store.stmt, Assign)
            if store.stmt.op == "=" and store.stmt.value is None:
                continue
            is_whole = isinstance(store.stmt.target, E.Name)
            is_masked = self._stores_masked(store)
            is_certain = set(store.guards) <= set(at.guards)
            if is_whole and is_certain:
                return is_masked or is_any_part_masked
            if not is_masked:
                return False
            is_any_part_masked = is_any_part_masked or is_certain
        return is_any_part_masked

    def _stores_masked(self, store: GuardedStmt) -> bool:
        stmt = store.stmt
        if not isinstance(stmt, Assign) or stmt.value is None:
            return False
        # `x &= 15` masks, and what any other operator makes is not known.
        if stmt.op != "=":
            return stmt.op in ("&=", "&")
        return self.holds(stmt.value, store)

    def _number_of(self, at: GuardedStmt) -> int:
        for number, guarded in enumerate(self.statements):
            if guarded.stmt is at.stmt:
                return number
        return len(self.statements)


def _stores(guarded: GuardedStmt, name: str) -> bool:
    """Whether a statement gives the local, or elements of it, a value."""
    match guarded.stmt:
        case Assign(target=E.Name(id=target)) | Assign(target=E.Index(base=E.Name(id=target))):
            return target == name
        case Assign(target=E.Sequence(items=items)):
            return E.Name(name) in items
        case _:
            return False


def _shares_loop(store: GuardedStmt, at: GuardedStmt) -> bool:
    return any(loop is other for loop in store.loops for other in at.loops)


def _excludes(store: GuardedStmt, at: GuardedStmt) -> bool:
    """Whether the store stands on a branch that never leads to `at`."""
    opposites = [negate(guard) for guard in at.guards]
    return any(equal_code(guard, other) for guard in store.guards for other in opposites)
