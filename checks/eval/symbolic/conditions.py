"""What holds where: bounds from conditions, and accesses measured against the index under them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from checks.eval.symbolic.affine import Linear, Symbol, offset
from checks.eval.symbolic.machine import Machine
from checks.eval.symbolic.values import Access, Pending, State, Value
from checks.lang.ir.expr import Binary, Expr, Unary

Where = tuple[str, int, str]


class Conditions(Machine):
    """The part of the run that knows how far a position can reach, and notes accesses."""

    def limits(self, test: Expr, state: State, *, holds: bool) -> list[Linear]:
        """Linear forms that are at most zero where `test` is `holds`."""
        match test:
            case Unary(op="not", operand=operand):
                return self.limits(operand, state, holds=not holds)
            case Binary(op="and" | "or" as op, left=left, right=right):
                if (op == "and") != holds:
                    return []
                return [g for e in (left, right) for g in self.limits(e, state, holds=holds)]
            case Binary(op=op, left=left, right=right) if op in _AT_MOST:
                a, b = (self.number(self.peek(e, state), state) for e in (left, right))
                if a is None or b is None:
                    return []
                op = op if holds else _FLIPPED[op]
                return [f(a, b) for f in _AT_MOST[op]]
            case _:
                return []

    def peek(self, expr: Expr, state: State) -> Value:
        """The value of `expr` without recording what it reads."""
        kept = len(self.accesses)
        value = self.value(expr, state)
        del self.accesses[kept:]
        return value

    def record(
        self,
        kind: str,
        buffer: str,
        low: Linear | None,
        high: Linear | None,
        line: int,
        state: State,
        where: Where | None = None,
    ) -> None:
        """Note a use of positions `low`..`high`, for every index that they move with."""
        if high is None or not state.cells:
            return
        top = self.top(high, state)
        moves = low is not None and low.index() is not None
        found = high.index() or (top.index() if top is not None else None)
        if found is None:
            return
        for index, cell in state.cells.items():
            current = cell.index()
            if current is None or current.source != found.source:
                continue
            where = where or (self.path, line, self.stack[-1].name if self.stack else "")
            rel = top - cell if top is not None else None
            lag = tuple((s.source, c) for s, c in high.terms if s.kind == "load" and c < 0)
            access = Access(kind, buffer, index, None, moves, lag, *where)
            if kind == "write":
                state.writes.append(Pending(access, rel))
            else:
                self.accesses.append(replace(access, high=offset(rel)))

    def top(self, form: Linear, state: State) -> Linear | None:
        """The largest value of `form`: the smallest of what its loops and the conditions that hold here allow."""
        steps = self.bounds.steps(form, top=True)
        found: list[Linear] = []
        for step in steps:
            loose = _loose(step)
            # A limit says something of what the form varies with, or nothing at all.
            bounded = (
                [step - limit for limit in state.limits if loose & {*limit.terms}] if loose else []
            )
            found += [f for f in bounded if not _loose(f)]
        # A condition says more than the bounds of a loop do, where the two cannot be compared.
        if not steps[-1].symbols("loop") and not (found and _loose(steps[-1])):
            found.insert(0, steps[-1])
        least = found[0] if found else None
        for other in found[1:]:
            gap = (other - least).number if least is not None else None
            if gap is None or gap < 0:
                least = other
        return least


_AT_MOST: dict[str, tuple[Callable[[Linear, Linear], Linear], ...]] = {
    "<": (lambda a, b: (a - b).plus(1),),
    "<=": (lambda a, b: a - b,),
    ">": (lambda a, b: (b - a).plus(1),),
    ">=": (lambda a, b: b - a,),
    "==": (lambda a, b: a - b, lambda a, b: b - a),
    "!=": (),
}
_FLIPPED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def _loose(form: Linear) -> set[tuple[Symbol, int]]:
    """The terms of `form` that have no one value."""
    return {term for term in form.terms if term[0].kind in ("loop", "opaque")}
