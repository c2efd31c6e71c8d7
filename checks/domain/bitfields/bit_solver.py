"""Bit vectors of a fixed width, and a solver that finds values for them: Bitwuzla behind the
operators that Python's integers have, so that one function packs numbers and unknowns alike.

Bitwuzla decides exactly the logic that packed words need, in 7 MB; a general solver is 58 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from bitwuzla import Bitwuzla, Kind, Option, Options, Result, Term, TermManager

_TIMEOUT_MS = 2000
"""The time for one question; a question without an answer is not proved."""


class BitVector:
    """A term of one solver; numbers beside it are taken in its width, two's complement."""

    def __init__(self, manager: TermManager, term: Term) -> None:
        self._manager = manager
        self.term = term

    def __and__(self, other: BitVector | int) -> BitVector:
        return self._combine(Kind.BV_AND, other)

    def __or__(self, other: BitVector | int) -> BitVector:
        return self._combine(Kind.BV_OR, other)

    def __add__(self, other: BitVector | int) -> BitVector:
        return self._combine(Kind.BV_ADD, other)

    def __sub__(self, other: BitVector | int) -> BitVector:
        return self._combine(Kind.BV_SUB, other)

    def __lshift__(self, other: int) -> BitVector:
        return self._combine(Kind.BV_SHL, other)

    def __rshift__(self, other: int) -> BitVector:
        """An arithmetic shift, as of a signed integer: the sign fills the room."""
        return self._combine(Kind.BV_ASHR, other)

    def equals(self, other: BitVector | int) -> Condition:
        return self._compare(Kind.EQUAL, other)

    def less(self, other: BitVector | int) -> Condition:
        """Signed `<`."""
        return self._compare(Kind.BV_SLT, other)

    def at_most(self, other: BitVector | int) -> Condition:
        """Signed `<=`."""
        return self._compare(Kind.BV_SLE, other)

    def with_sign(self, bits: int) -> BitVector:
        """`bits` bits wider, of the same signed value."""
        return self._widen(Kind.BV_SIGN_EXTEND, bits)

    def with_zeros(self, bits: int) -> BitVector:
        """`bits` bits wider, of the same unsigned value."""
        return self._widen(Kind.BV_ZERO_EXTEND, bits)

    def _combine(self, kind: Kind, other: BitVector | int) -> BitVector:
        pair = [self.term, self._operand(other)]
        return BitVector(self._manager, self._manager.mk_term(kind, pair))

    def _compare(self, kind: Kind, other: BitVector | int) -> Condition:
        pair = [self.term, self._operand(other)]
        return Condition(self._manager, self._manager.mk_term(kind, pair))

    def _widen(self, kind: Kind, bits: int) -> BitVector:
        return BitVector(self._manager, self._manager.mk_term(kind, [self.term], [bits]))

    def _operand(self, other: BitVector | int) -> Term:
        if isinstance(other, BitVector):
            return other.term
        return _number(self._manager, other, self.term.sort().bv_size())


Word = TypeVar("Word", int, BitVector)
"""A number, or a term that stands for one."""


class Condition:
    """Something that is true or false of the unknowns of one solver."""

    def __init__(self, manager: TermManager, term: Term) -> None:
        self._manager = manager
        self.term = term

    def negation(self) -> Condition:
        return Condition(self._manager, self._manager.mk_term(Kind.NOT, [self.term]))

    def either(self, other: Condition) -> Condition:
        """This or the other."""
        return Condition(self._manager, self._manager.mk_term(Kind.OR, [self.term, other.term]))

    def both(self, other: Condition) -> Condition:
        """This and the other."""
        return Condition(self._manager, self._manager.mk_term(Kind.AND, [self.term, other.term]))


class BitSolver:
    """Unknowns, the conditions on them, and values that satisfy these."""

    def __init__(self) -> None:
        options = Options()
        options.set(Option.PRODUCE_MODELS, True)
        options.set(Option.TIME_LIMIT_PER, _TIMEOUT_MS)
        self._manager = TermManager()
        self._solver = Bitwuzla(self._manager, options)

    def unknown(self, name: str, bits: int) -> BitVector:
        """A variable of `bits` bits."""
        sort = self._manager.mk_bv_sort(bits)
        return BitVector(self._manager, self._manager.mk_const(sort, name))

    def number(self, value: int, bits: int) -> BitVector:
        """A constant; of a value that does not fit, the lowest `bits` bits."""
        return BitVector(self._manager, _number(self._manager, value, bits))

    def require(self, condition: Condition) -> None:
        """From now on only values count for which `condition` is true."""
        self._solver.assert_formula(condition.term)

    def solve(
        self, unknowns: Sequence[BitVector], *assumptions: Condition
    ) -> tuple[int, ...] | None:
        """Values of the unknowns, unsigned, that satisfy everything; None where none were found.

        The assumptions hold for this question alone.
        """
        terms = [assumption.term for assumption in assumptions]
        if self._solver.check_sat(*terms) != Result.SAT:
            return None
        values = [self._solver.get_value(unknown.term) for unknown in unknowns]
        return tuple(int(value.value(10)) for value in values)


def _number(manager: TermManager, value: int, bits: int) -> Term:
    return manager.mk_bv_value(manager.mk_bv_sort(bits), value % (1 << bits))
