"""Expressions on symbols: numbers become linear forms, buffers become places, element reads are recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from checks.ir.expr import (
    Attr,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Mapping,
    Name,
    Sequence,
    Slice,
    Ternary,
    Unary,
    Unknown,
    callee,
    children,
    dotted,
)
from checks.semantics.affine import Linear, number, product, symbol
from checks.semantics.values import Pointer, Reference, State, Table, Value, postfix

if TYPE_CHECKING:
    from checks.ir.unit import Function

# Methods that give the same elements again: another view, type or place of them.
SAME = frozenset(
    "data cuda cpu clone copy contiguous numpy ravel reshape flatten squeeze view astype cast to tolist copy_to"
    " data_ptr detach get".split()
)
CASTS = frozenset("int float int64_t int32_t size_t long int64 int32 np.int64 np.int32 max0".split())
# Block copies: (source argument, destination argument). memcpy is C's, the others are Kunlun's local memory moves.
COPIES = {
    "memcpy": (1, 0), "GM2LM": (0, 1), "GM2LM_ASYNC": (0, 1), "LM2GM": (0, 1), "LM2GM_ASYNC": (0, 1),
}
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


class Evaluator:
    """The expression half of the interpreter; see `Interpreter` for the fields it uses."""

    record: Callable[..., None]
    find: Callable[[str, str, int], Function | None]
    stack: list[Function]
    path: str
    unknown: Callable[[str], Linear]

    def __init__(self, python: bool) -> None:
        self.python = python

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
            return self.load(held, held.offset, held.offset, line, state)
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
        if a is None or b is None or expr.op in ("==", "!="):
            return
        for moving, limit in ((a, b), (b, a)):
            loads = limit.symbols("load")
            if moving.index() is not None and len(limit.terms) == 1 and len(loads) == 1:
                self.record("compare", loads[0].source, moving, moving, expr.line, state)

    def shifted(self, place: Pointer, shift: Linear, line: int) -> Pointer:
        """`place` moved by `shift`; where that brings the index in, the place is remembered."""
        where = (self.path, line, self.stack[-1].name) if shift.symbols("index") and self.stack else place.where
        return replace(place, offset=place.offset + shift, where=where)

    def combine(
        self, op: str, left: Value, right: Value, state: State | None = None, line: int = 0
    ) -> Value:
        """`left op right`; None where nothing can be said."""
        if isinstance(left, Pointer) and op in ("+", "-") and (not self.python or left.row) and not self.python:
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
            low = self.number(self.value(part.lower, state), state) if part.lower is not None else number(0)
        else:
            low = self.number(self.value(part, state), state)
        return self.shifted(held, low, part.line) if low is not None else None

    def span(self, expr: Expr, place: Pointer, state: State) -> tuple[Linear, Linear | None]:
        """The first and last position of `expr`: a slice has two, anything else one."""
        part = expr.indices[-1] if isinstance(expr, Index) else None
        if not isinstance(part, Slice):
            return place.offset, place.offset
        base = self.value(expr.base, state) if isinstance(expr, Index) else None
        upper = self.number(self.value(part.upper, state), state) if part.upper is not None else None
        if upper is None or not isinstance(base, Pointer):
            return place.offset, None
        return place.offset, (base.offset + upper).plus(-1)

    def element(self, expr: Index, state: State) -> Value:
        base = self.value(expr.base, state)
        if isinstance(base, Table):
            key = expr.indices[0]
            return base.get(key.value) if isinstance(key, Const) and isinstance(key.value, str) else None
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
        return self.load(place, place.offset, place.offset, expr.line, state)

    def load(self, place: Pointer, low: Linear, high: Linear, line: int, state: State) -> Linear:
        """The element at `place`: an index cell's value, or an unknown number of that buffer."""
        if place.buffer in state.cells:
            return state.cells[place.buffer]
        self.record("read", place.buffer, low, high, line, state, place.where)
        return symbol("load", f"{place.buffer}[{place.offset}]", place.buffer)

    def call(self, expr: Call, state: State) -> Value:
        name = callee(expr)
        if isinstance(expr.func, Attr):
            base = self.value(expr.func.base, state)
            if isinstance(base, Pointer):
                if expr.func.name == "item":
                    return self.load(base, base.offset, base.offset, expr.line, state)
                return base if expr.func.name in SAME else symbol("opaque", f"{base.buffer}.{name}()")
        if name in COPIES and len(expr.args) >= 2:
            return self.copied(expr, state)
        args = [self.value(a, state) for a in expr.args]
        words = {k: self.value(v, state) for k, v in expr.keywords}
        if (dotted(expr.func) or "") in CASTS and len(args) == 1:
            return self.number(args[0], state)
        wanted = name and self.relevant(args, words, state)
        found = self.find(name, self.path, len(args) + len(words)) if wanted else None
        if found is not None and found not in self.stack and len(self.stack) < 8:
            return self.inline(found, args, words, expr.template, state)
        return symbol("opaque", f"{name}({', '.join(map(str, args))})")

    def relevant(self, args: list[Value], words: dict[str, Value], state: State) -> bool:
        """Whether a call is worth following: it gets the index, or a place or number that moves with it."""
        for value in (*args, *words.values()):
            form = value.offset if isinstance(value, Pointer) else value
            if isinstance(value, Pointer) and value.buffer in state.cells:
                return True
            if isinstance(form, Linear) and form.symbols("index"):
                return True
        return False

    def copied(self, expr: Call, state: State) -> Value:
        """A block copy of `size` bytes: reads the source, and gives a local its value or stores to the target."""
        src, dst = (expr.args[i] for i in COPIES[callee(expr)])
        extent = self.extent(expr.args[2], state) if len(expr.args) > 2 else number(1)
        source, target = self.value(src, state), self.value(dst, state)
        got: Value = None
        if isinstance(source, Pointer):
            high = (source.offset + extent).plus(-1) if extent is not None else None
            if source.buffer in state.cells:
                got = state.cells[source.buffer]
            else:
                self.record("read", source.buffer, source.offset, high, expr.line, state)
                got = symbol("load", f"{source.buffer}[{source.offset}]", source.buffer)
        elif isinstance(source, Reference):
            got = state.env.get(source.name)
        if isinstance(target, Reference):
            state.env[target.name] = got if got is not None else self.unknown(target.name)
        elif isinstance(target, Pointer):
            if target.buffer in state.cells:
                form = self.number(got, state)
                state.set_cell(target.buffer, form if form is not None else symbol("index", f"{target.buffer}#copy:{expr.line}", target.buffer))
                self.advanced(target.buffer, expr.line)
            else:
                high = (target.offset + extent).plus(-1) if extent is not None else None
                self.record("write", target.buffer, target.offset, high, expr.line, state)
        return None

    def extent(self, expr: Expr, state: State) -> Linear | None:
        """How many elements `n * sizeof(T)` bytes are."""
        match expr:
            case Call() if callee(expr) == "sizeof":
                return number(1)
            case Unknown(text=text) if text.startswith("sizeof"):
                return number(1)
            case Binary(op="*", left=left, right=right):
                a, b = self.extent(left, state), self.extent(right, state)
                return product(a, b) if a is not None and b is not None else None
            case _:
                return self.number(self.value(expr, state), state)

    def advanced(self, buffer: str, line: int) -> None:
        raise NotImplementedError

    def inline(
        self, function: Function, args: list[Value], words: dict[str, Value], template: str, state: State
    ) -> Value:
        raise NotImplementedError


__all__ = ["Evaluator", "Sequence", "Ternary"]
