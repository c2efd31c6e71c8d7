"""Exact linear arithmetic over named unknowns: where in a buffer an access lands, as `index + terms + constant`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Symbol(NamedTuple):
    """An unknown integer.

    `kind` is `index` (the watched index, or a later value of it), `load` (an element of another buffer), `loop`
    (a loop variable, with bounds kept by the interpreter), `row` (a product: the start of a row), or `opaque`.
    `source` is the buffer that an `index` or `load` was read from.
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
        if not other.terms or not self.terms:
            return Linear(self.terms or other.terms, self.const + other.const)
        return _make([*self.terms, *other.terms], self.const + other.const)

    def __sub__(self, other: Linear) -> Linear:
        return self + other.times(-1)

    def times(self, factor: int) -> Linear:
        return _make(((s, c * factor) for s, c in self.terms), self.const * factor)

    def plus(self, number: int) -> Linear:
        return Linear(self.terms, self.const + number)

    def factor(self, symbol: Symbol) -> int:
        return next((c for s, c in self.terms if s == symbol), 0)

    def replace(self, symbol: Symbol, value: Linear) -> Linear:
        """This form with `value` in place of `symbol`."""
        rest = Linear(tuple((s, c) for s, c in self.terms if s != symbol), self.const)
        return rest + value.times(self.factor(symbol))

    def symbols(self, kind: str) -> list[Symbol]:
        return [s for s, _ in self.terms if s.kind == kind]

    def index(self) -> Symbol | None:
        """The index symbol this form moves with (factor 1), if there is exactly one."""
        found = [(s, c) for s, c in self.terms if s.kind == "index"]
        return found[0][0] if len(found) == 1 and found[0][1] == 1 else None

    @property
    def number(self) -> int | None:
        """The value, where it does not depend on anything."""
        return None if self.terms else self.const

    def __str__(self) -> str:
        parts = [f"{c}*{s.text}" if c != 1 else s.text for s, c in self.terms]
        return " + ".join([*parts, str(self.const)] if self.const or not parts else parts)


def _make(terms: Iterable[tuple[Symbol, int]], const: int) -> Linear:
    total: dict[Symbol, int] = {}
    for symbol, factor in terms:
        total[symbol] = total.get(symbol, 0) + factor
    kept = sorted((s, c) for s, c in total.items() if c)
    return Linear(tuple(kept), const)


def number(value: int) -> Linear:
    return Linear((), value)


def symbol(kind: str, text: str, source: str = "") -> Linear:
    return Linear(((Symbol(kind, text, source), 1),), 0)


def product(left: Linear, right: Linear) -> Linear:
    """The product: linear where one side is a number, else one `row` symbol named by both sides."""
    if left.number is not None:
        return right.times(left.number)
    if right.number is not None:
        return left.times(right.number)
    kind = "opaque" if left.symbols("index") or right.symbols("index") else "row"
    return symbol(kind, "*".join(sorted((f"({left})", f"({right})"))))


@dataclass(frozen=True, slots=True)
class Range:
    """Inclusive bounds of a loop symbol, None where unknown, and how deep its loop is nested."""

    low: Linear | None
    high: Linear | None
    depth: int = 0


@dataclass
class Bounds:
    """What is known about every loop symbol of one run."""

    of: dict[Symbol, Range] = field(default_factory=dict)

    def extreme(self, form: Linear, *, top: bool) -> Linear | None:
        """The largest (or smallest) value of `form` over its loops; None where a bound is unknown."""
        steps = self.steps(form, top=top)
        return None if steps[-1].symbols("loop") else steps[-1]

    def steps(self, form: Linear, *, top: bool) -> list[Linear]:
        """`form`, then with its loops taken to their bounds one by one, inner first, as far as bounds are known."""
        forms = [form]
        while (loops := forms[-1].symbols("loop")) and len(forms) < 32:
            inner = max(loops, key=lambda s: (self._depth(s), s))
            known = self.of.get(inner)
            up = (forms[-1].factor(inner) > 0) == top
            bound = None if known is None else known.high if up else known.low
            if bound is None:
                break
            forms.append(forms[-1].replace(inner, bound))
        return forms

    def _depth(self, symbol: Symbol) -> int:
        known = self.of.get(symbol)
        return known.depth if known else 0


@dataclass(frozen=True, slots=True)
class Offset:
    """A position relative to the index: `const` plus loads of other buffers; starts of rows are left out.

    `const` of -1 on a last token means that the index is a count, 0 that it is the last valid position.
    """

    const: int
    loads: tuple[tuple[str, int], ...] = ()

    def renamed(self, names: Mapping[str, str]) -> Offset:
        """With buffers called by other names."""
        return Offset(self.const, tuple(sorted((names.get(n, n), c) for n, c in self.loads)))

    def drift(self) -> tuple[tuple[str, int], ...]:
        """Loads that are subtracted: the position lags behind the index by this many."""
        return tuple((n, c) for n, c in self.loads if c < 0)


def offset(form: Linear | None) -> Offset | None:
    """`form` as an offset, or None where it depends on anything that is not a row start or a load."""
    if form is None or any(s.kind not in ("row", "load") for s, _ in form.terms):
        return None
    loads: dict[str, int] = {}
    for found, factor in form.terms:
        if found.kind == "load":
            loads[found.source] = loads.get(found.source, 0) + factor
    return Offset(form.const, tuple(sorted((n, c) for n, c in loads.items() if c)))
