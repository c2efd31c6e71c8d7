"""Expressions on symbols: numbers become linear forms, buffers become places, element reads are recorded."""

from __future__ import annotations

from checks.eval.symbolic.affine import Linear, number, product, symbol
from checks.eval.symbolic.calls import Calls
from checks.eval.symbolic.values import Pointer, Reference, State, Table, Value, postfix
from checks.lang.ir.expr import (
    Attr,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Mapping,
    Name,
    Unary,
    Unknown,
    children,
    dotted,
)

COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


class Evaluator(Calls):
    """The expression half of the run."""

    def value(self, expr: Expr | None, state: State) -> Value:
        """What `expr` is; reads on the way are recorded."""
        match expr:
            case Const(value=value):
                return number(int(value)) if isinstance(value, int) else None
            case Name() | Attr():
                return self.named(expr, state)
            case Index():
                return self.element(expr, state)
            case Call():
                return self.call(expr, state)
            case Cast(operand=operand):
                return self.value(operand, state)
            case Unary(op=op, operand=operand):
                return self.unary(op, operand, expr.line, state)
            case Binary():
                return self.binary(expr, state)
            case Unknown():
                held = postfix(expr)
                return state.env.get(held) if held else None
            case Mapping(items=items):
                pairs = [(k.value, self.value(v, state)) for k, v in items if isinstance(k, Const)]
                return Table(tuple((k, v) for k, v in pairs if isinstance(k, str)))
            case None:
                return None
            case _:
                for child in children(expr):
                    self.value(child, state)
                return symbol("opaque", f"{type(expr).__name__}:{expr.line}")

    def named(self, expr: Name | Attr, state: State) -> Value:
        name = dotted(expr)
        if name is not None and name in state.env:
            return state.env[name]
        if isinstance(expr, Attr):
            base = self.value(expr.base, state)
            if isinstance(base, Table):
                return base.get(expr.name)
            return symbol("opaque", name or f"{expr.name}:{expr.line}")
        return symbol("opaque", expr.id)

    def unary(self, op: str, operand: Expr, line: int, state: State) -> Value:
        if op == "&":
            if isinstance(operand, Name) and not isinstance(state.env.get(operand.id), Pointer):
                return Reference(operand.id)
            return self.place(operand, state)
        held = self.value(operand, state)
        if op == "*" and isinstance(held, Pointer):
            return self.load(held, line, state)
        if op in ("-", "+"):
            form = self.number(held, state)
            return form.times(-1 if op == "-" else 1) if form is not None else None
        return symbol("opaque", f"{op}({held})") if op != "*" else None

    def binary(self, expr: Binary, state: State) -> Value:
        left, right = self.value(expr.left, state), self.value(expr.right, state)
        if expr.op in COMPARISONS:
            self.compare(left, right, expr, state)
        return self.combine(expr.op, left, right, state, expr.line)

    def compare(self, left: Value, right: Value, expr: Binary, state: State) -> None:
        """Note a comparison of the index (alone, or moved by other loads) with a load: a limit of the index."""
        a, b = self.number(left, state), self.number(right, state)
        if a is None or b is None:
            return
        for moving, limit in ((a, b), (b, a)):
            loads = limit.symbols("load")
            if moving.index() is not None and len(limit.terms) == 1 and len(loads) == 1:
                self.record("compare", loads[0].source, moving, moving, expr.line, state)

    def combine(self, op: str, left: Value, right: Value, state: State, line: int) -> Value:
        """`left op right`; None where nothing can be said."""
        if isinstance(left, Pointer) and op in ("+", "-") and not self.python:
            shift = self.number(right, state)
            if shift is None:
                return None
            return self.shifted(left, shift.times(1 if op == "+" else -1), line)
        if isinstance(right, Pointer) and op == "+" and not self.python:
            return self.combine(op, right, left, state, line)
        a, b = self.number(left, state), self.number(right, state)
        if a is None or b is None:
            return None
        match op:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return product(a, b)
            case _:
                return symbol("opaque", f"({a}) {op} ({b})")

    def number(self, value: Value, state: State | None) -> Linear | None:
        """`value` as a number: a Python element or array stands for what is loaded from it."""
        if isinstance(value, Linear):
            return value
        if isinstance(value, Pointer) and self.python:
            if state is not None and value.buffer in state.cells:
                return state.cells[value.buffer]
            return symbol("load", value.buffer, value.buffer)
        return None
