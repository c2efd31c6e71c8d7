"""Places in buffers: pointers, subscripts and slices of C++ and Python, and what is read there."""

from __future__ import annotations

from dataclasses import replace

from checks.eval.symbolic.affine import Linear, number, symbol
from checks.eval.symbolic.conditions import Conditions
from checks.eval.symbolic.values import Pointer, State, Table, Value
from checks.lang.ir.expr import Cast, Const, Expr, Index, Slice, Unary, dotted


class Places(Conditions):
    """The part of the run that follows an expression to a buffer."""

    def shifted(self, place: Pointer, shift: Linear, line: int) -> Pointer:
        """`place` moved by `shift`; where that brings the index in, the place is remembered."""
        where = (
            (self.path, line, self.stack[-1].name)
            if shift.symbols("index") and self.stack
            else place.where
        )
        return replace(place, offset=place.offset + shift, where=where)

    def place(self, expr: Expr, state: State) -> Pointer | None:
        """Where `expr` lies in a buffer, without reading it."""
        match expr:
            case Index(base=base, indices=indices):
                held = self.value(base, state)
                if not isinstance(held, Pointer):
                    return None
                return self.moved(held, indices, state)
            case Unary(op="*", operand=operand) | Cast(operand=operand):
                held = self.value(operand, state)
                return held if isinstance(held, Pointer) else None
            case _:
                held = self.value(expr, state)
                return held if isinstance(held, Pointer) else None

    def moved(self, held: Pointer, indices: tuple[Expr, ...], state: State) -> Pointer | None:
        """`held[indices]` as a place; in Python the first index of a whole array chooses the row."""
        parts = list(indices)
        if self.python and not held.row:
            self.value(parts.pop(0), state)
            held = replace(held, row=True)
        if not parts:
            return held
        part = parts[-1]
        if isinstance(part, Slice):
            low = (
                self.number(self.value(part.lower, state), state)
                if part.lower is not None
                else number(0)
            )
        else:
            low = self.number(self.value(part, state), state)
        return self.shifted(held, low, part.line) if low is not None else None

    def span(self, expr: Expr, place: Pointer, state: State) -> tuple[Linear, Linear | None]:
        """The first and last position of `expr`: a slice has two, anything else one."""
        part = expr.indices[-1] if isinstance(expr, Index) else None
        if not isinstance(part, Slice):
            return place.offset, place.offset
        base = self.value(expr.base, state) if isinstance(expr, Index) else None
        upper = (
            self.number(self.value(part.upper, state), state) if part.upper is not None else None
        )
        if upper is None or not isinstance(base, Pointer):
            return place.offset, None
        return place.offset, (base.offset + upper).plus(-1)

    def element(self, expr: Index, state: State) -> Value:
        base = self.value(expr.base, state)
        if isinstance(base, Table):
            key = expr.indices[0]
            return (
                base.get(key.value)
                if isinstance(key, Const) and isinstance(key.value, str)
                else None
            )
        if not isinstance(base, Pointer):
            for index in expr.indices:
                self.value(index, state)
            return symbol("opaque", f"{dotted(expr.base) or 'element'}[{expr.line}]")
        place = self.moved(base, expr.indices, state)
        if place is None:
            return symbol("load", base.buffer, base.buffer)
        sliced = isinstance(expr.indices[-1], Slice)
        whole = self.python and not base.row and len(expr.indices) == 1
        if whole or sliced:
            low, high = self.span(expr, place, state)
            if sliced and not whole and high is not None:
                self.record("read", base.buffer, low, high, expr.line, state, place.where)
            return replace(base, row=True) if whole and sliced else place
        return self.load(place, expr.line, state)

    def load(self, place: Pointer, line: int, state: State) -> Linear:
        """The element at `place`: an index cell's value, or an unknown number of that buffer."""
        if place.buffer in state.cells:
            return state.cells[place.buffer]
        self.record("read", place.buffer, place.offset, place.offset, line, state, place.where)
        return symbol("load", f"{place.buffer}[{place.offset}]", place.buffer)
