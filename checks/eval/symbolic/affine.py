"""Exact linear arithmetic over typed unknowns: the position of an access, as `index + terms +
constant`.

`checks.eval.linear` also adds up terms, but for another purpose. There the unknowns are pieces of
source text, and products of them stay products, so that two written expressions can be compared.
Here every unknown has a kind (index, load, loop, row, opaque) which decides what may be done with
it, its text carries the moment of the run at which it was read, and a product of two unknowns
becomes one new unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

# A form has few loop symbols; the limit only stops two loops whose bounds name each other.
_MOST_BOUND_STEPS = 31


class Symbol(NamedTuple):
    """An unknown integer.

    `kind` is `index` (the watched index, or a later value of it), `load` (an element of another
    buffer), `loop` (a loop variable, with bounds kept in `Bounds`), `row` (a product: the start of
    a row), or `opaque`. `source` is the buffer that an `index` or `load` was read from.
    """

    kind: str
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Linear:
    """`sum(factor * symbol) + const`, in canonical order, so that equal forms are equal values."""

    terms: tuple[tuple[Symbol, int], ...] = ()
    const: int = 0

    def __add__(self, other: Linear) -> Linear:
        return _canonical([*self.terms, *other.terms], self.const + other.const)

    def __sub__(self, other: Linear) -> Linear:
        return self + other.times(-1)

    def times(self, factor: int) -> Linear:
        """This form multiplied by a number."""
        return _canonical([(s, c * factor) for s, c in self.terms], self.const * factor)

    def plus(self, number: int) -> Linear:
        """This form plus a number."""
        return Linear(self.terms, self.const + number)

    def factor(self, symbol: Symbol) -> int:
        """What `symbol` is multiplied by; 0 where it does not occur."""
        return dict(self.terms).get(symbol, 0)

    def replace(self, symbol: Symbol, value: Linear) -> Linear:
        """This form with `value` in place of `symbol`."""
        rest = Linear(tuple((s, c) for s, c in self.terms if s != symbol), self.const)
        return rest + value.times(self.factor(symbol))

    def symbols(self, kind: str) -> list[Symbol]:
        """The symbols of this kind, in canonical order."""
        return [s for s, _ in self.terms if s.kind == kind]

    def index(self) -> Symbol | None:
        """The index symbol this form moves with (factor 1), if there is exactly one."""
        indices = self.symbols("index")
        if len(indices) == 1 and self.factor(indices[0]) == 1:
            return indices[0]
        return None

    @property
    def number(self) -> int | None:
        """The value, where it does not depend on anything."""
        return None if self.terms else self.const

    def __str__(self) -> str:
        parts = []
        for symbol, factor in self.terms:
            parts.append(symbol.text if factor == 1 else f"{factor}*{symbol.text}")
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts)


def _canonical(terms: Iterable[tuple[Symbol, int]], const: int) -> Linear:
    """The form with equal symbols added up, zeros left out, and the terms in order."""
    total: dict[Symbol, int] = {}
    for symbol, factor in terms:
        total[symbol] = total.get(symbol, 0) + factor
    nonzero = [(s, c) for s, c in total.items() if c]
    return Linear(tuple(sorted(nonzero)), const)


def constant_form(value: int) -> Linear:
    """The form of a known number."""
    return Linear((), value)


def symbol_form(kind: str, text: str, source: str = "") -> Linear:
    """The form that is one unknown."""
    return Linear(((Symbol(kind, text, source), 1),), 0)


def multiply(left: Linear, right: Linear) -> Linear:
    """The product: linear where one side is a number, else one new symbol named by both sides.

    A product without the index is the start of a row (`batch * stride`), which positions are
    counted from.
    """
    if left.number is not None:
        return right.times(left.number)
    if right.number is not None:
        return left.times(right.number)
    moves = bool(left.symbols("index") or right.symbols("index"))
    kind = "opaque" if moves else "row"
    return symbol_form(kind, "*".join(sorted([f"({left})", f"({right})"])))


@dataclass(frozen=True, slots=True)
class LoopRange:
    """Inclusive bounds of a loop symbol, None where unknown, and how deep its loop is nested."""

    low: Linear | None
    high: Linear | None
    depth: int = 0


@dataclass
class Bounds:
    """The bounds of every loop symbol of one run."""

    ranges: dict[Symbol, LoopRange] = field(default_factory=dict)

    def extreme(self, form: Linear, *, top: bool) -> Linear | None:
        """The largest (or smallest) value of `form`; None where a loop's bound is unknown."""
        last = self.steps(form, top=top)[-1]
        return None if last.symbols("loop") else last

    def steps(self, form: Linear, *, top: bool) -> list[Linear]:
        """`form`, then `form` with its loops taken to their bounds one by one, as far as bounds are
        known.

        Inner loops come first, because their bounds may name an outer loop's variable.
        """
        forms = [form]
        for _ in range(_MOST_BOUND_STEPS):
            bounded = self._take_innermost(forms[-1], top=top)
            if bounded is None:
                break
            forms.append(bounded)
        return forms

    def _take_innermost(self, form: Linear, *, top: bool) -> Linear | None:
        """`form` with the symbol of its innermost loop replaced by a bound, or None."""
        loops = form.symbols("loop")
        if not loops:
            return None
        innermost = max(loops, key=lambda loop: (self._depth(loop), loop))
        loop_range = self.ranges.get(innermost)
        if loop_range is None:
            return None
        # A negative factor turns it round: the form is largest where the loop variable is smallest.
        wants_high = (form.factor(innermost) > 0) == top
        bound = loop_range.high if wants_high else loop_range.low
        if bound is None:
            return None
        return form.replace(innermost, bound)

    def _depth(self, symbol: Symbol) -> int:
        loop_range = self.ranges.get(symbol)
        return loop_range.depth if loop_range else 0


@dataclass(frozen=True, slots=True)
class Offset:
    """A position relative to the index: `const` plus loads of other buffers; starts of rows are
    left out.

    `const` of -1 on a last token means that the index is a count, 0 that it is the last valid
    position.
    """

    const: int
    loads: tuple[tuple[str, int], ...] = ()

    def renamed(self, names: Mapping[str, str]) -> Offset:
        """The same offset, with buffers called by other names."""
        loads = [(names.get(buffer, buffer), factor) for buffer, factor in self.loads]
        return Offset(self.const, tuple(sorted(loads)))

    def drift(self) -> tuple[tuple[str, int], ...]:
        """Loads that are subtracted: the position lags behind the index by this many."""
        return tuple((buffer, factor) for buffer, factor in self.loads if factor < 0)


def offset_of(form: Linear | None) -> Offset | None:
    """`form` as an offset; None where it depends on more than row starts and loads."""
    if form is None:
        return None
    loads: dict[str, int] = {}
    for symbol, factor in form.terms:
        if symbol.kind == "load":
            loads[symbol.source] = loads.get(symbol.source, 0) + factor
        elif symbol.kind != "row":
            return None
    nonzero = [(buffer, factor) for buffer, factor in loads.items() if factor]
    return Offset(form.const, tuple(sorted(nonzero)))
