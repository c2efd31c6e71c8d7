"""Runs a function on symbols: which positions of which buffers it touches, relative to a watched index.

It follows paths in source order, joins them after branches, forgets what a loop changes, and steps into helpers and
kernels that the `Library` can find. What it cannot follow becomes a fresh unknown, so that a derived constant is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checks.eval.symbolic.affine import Linear, offset, symbol
from checks.eval.symbolic.loops import Loops
from checks.eval.symbolic.machine import Watch
from checks.eval.symbolic.values import Access, Pending, Pointer, State, Table, Value
from checks.lang.ir.expr import Const, Expr, Index, Name, Sequence, dotted, names, walk
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import (
    Assert,
    Assign,
    ExprStmt,
    For,
    If,
    Jump,
    Raise,
    Return,
    Stmt,
    With,
    guarded_statements,
)


class Interpreter(Loops):
    """The whole run: statements, branches, stores; see `Machine` for how it is made."""

    def enter(self, function: Function) -> list[Access]:
        """Every access of `function` called with its own parameters as buffers."""
        state = State()
        tables = keys_of(function) if self.python else {}
        for param in function.params:
            if param.name in tables:
                held = {k: self.parameter(k, "", state) for k in sorted(tables[param.name])}
                state.env[param.name] = Table(tuple(held.items()))
            else:
                state.env[param.name] = self.parameter(param.name, param.type, state)
        for final, _ in self.call_body(function, state):
            self.finish(final.writes)
        return list(dict.fromkeys(self.accesses))

    def parameter(self, name: str, kind: str, state: State) -> Value:
        """A buffer for a pointer, a tensor or any Python argument; an unknown number for the rest."""
        if not self.python and not is_buffer(kind):
            return symbol("opaque", name)
        if self.watch(name):
            state.cells[name] = symbol("index", f"{name}#0", name)
        return Pointer(name)

    def call_body(self, function: Function, state: State) -> list[tuple[State, Value]]:
        """Every way out of `function`, with what it returns."""
        self.stack.append(function)
        self.returns.append([])
        self.block(function.body, state)
        out = self.returns.pop()
        self.stack.pop()
        if not state.left:
            out.append((state, None))
        return out

    def block(self, body: Iterable[Stmt], state: State) -> None:
        for stmt in body:
            if state.left:
                return
            self.step(stmt, state)

    def step(self, stmt: Stmt, state: State) -> None:
        match stmt:
            case Assign():
                self.assign(stmt, state)
            case ExprStmt(value=value):
                self.value(value, state)
            case Return(value=value):
                result = self.value(value, state) if value is not None else None
                self.returns[-1].append((state.copy(), result))
                state.left = True
            case If():
                self.branch(stmt, state)
            case For():
                self.loop(stmt, state)
            case With(body=body, parts=parts):
                self.block(body, state)
                for part in parts:
                    self.optional(part, state)
            case Assert(test=test):
                self.value(test, state)
                state.limits += self.limits(test, state, holds=True)
            case Jump(kind="break" | "continue"):
                if self.breaks:
                    self.breaks[-1].append(state.copy())
                state.left = True
            case Raise():
                state.left = True
            case _:
                pass

    def optional(self, body: tuple[Stmt, ...], state: State) -> None:
        """A handler or an `#else` arm: it may run or not."""
        other = state.copy()
        self.block(body, other)
        if not other.left:
            self.join(state, [state.copy(), other])

    def branch(self, stmt: If, state: State) -> None:
        self.value(stmt.test, state)
        then, other = state.copy(), state.copy()
        then.limits += self.limits(stmt.test, state, holds=True)
        other.limits += self.limits(stmt.test, state, holds=False)
        self.block(stmt.then, then)
        self.block(stmt.orelse, other)
        live = [s for s in (then, other) if not s.left]
        if not live:
            state.left = True
            return
        self.join(state, live)

    def join(self, state: State, live: list[State]) -> None:
        """Make `state` what is known after any one of `live`."""
        first, *others = live
        state.writes = list(dict.fromkeys(w for s in live for w in s.writes))
        state.limits = [g for g in first.limits if all(g in s.limits for s in others)]
        # Most names: no path gave them another value.
        state.env = {n: v for n, v in first.env.items() if all(s.env.get(n) is v for s in others)}
        for name in sorted({n for s in live for n in s.env} - state.env.keys()):
            state.env[name] = self.meet(name, [s.env.get(name) for s in live])
        for name in first.cells:
            values = {s.cells[name] for s in live if name in s.cells}
            same = len(values) == 1
            state.cells[name] = values.pop() if same else self.later(name)

    def meet(self, name: str, values: list[Value]) -> Value:
        """What `name` is after paths that gave it `values`; one that left it unset says nothing."""
        values = [v for v in values if v != _unset(name)] or values
        first = values[0]
        if all(v == first for v in values):
            return first
        if all(isinstance(v, Pointer) for v in values):
            pointers = [v for v in values if isinstance(v, Pointer)]
            if len({(p.buffer, p.row) for p in pointers}) == 1:
                return replace(pointers[0], offset=self.unknown(name))
        if all(isinstance(v, Linear) for v in values):
            sources = {
                s.source for v in values if isinstance(v, Linear) and (s := v.index()) is not None
            }
            return self.later(sources.pop()) if len(sources) == 1 else self.unknown(name)
        return None

    def assign(self, stmt: Assign, state: State) -> None:
        if stmt.value is None and stmt.declares and (name := dotted(stmt.target)):
            state.env[name] = _unset(name)
            return
        value = self.value(stmt.value, state) if stmt.value is not None else None
        targets = stmt.target.items if isinstance(stmt.target, Sequence) else (stmt.target,)
        parts = stmt.value.items if isinstance(stmt.value, Sequence) and len(targets) > 1 else ()
        for i, target in enumerate(targets):
            part = (
                self.value(parts[i], state)
                if i < len(parts)
                else value
                if len(targets) == 1
                else None
            )
            self.store(target, stmt.op, part, stmt.line, state)

    def store(self, target: Expr, op: str, value: Value, line: int, state: State) -> None:
        name = dotted(target)
        if name is not None:
            old = state.env.get(name)
            new = value if op == "=" else self.combine(op[:-1], old, value, state, line)
            state.env[name] = new if new is not None else self.unknown(name)
            state.lines[name] = line
            return
        place = self.place(target, state)
        if place is None:
            return
        if place.buffer in state.cells:
            old = state.cells[place.buffer]
            new = value if op == "=" else self.combine(op[:-1], old, value, state, line)
            new = self.number(new, state)
            state.set_cell(place.buffer, new if new is not None else self.later(place.buffer))
            if op != "-=":
                self.advanced(place.buffer, line)
            return
        low, high = self.span(target, place, state)
        before = len(state.writes)
        self.record("write", place.buffer, low, high, line, state)
        first = self.computed(target, line, state)
        state.writes[before:] = [
            replace(w, access=replace(w.access, first=first)) for w in state.writes[before:]
        ]

    def computed(self, target: Expr, line: int, state: State) -> int:
        """The line, a few above at most, where the subscript of `target` was computed."""
        used = {n for i in target.indices for n in names(i)} if isinstance(target, Index) else set()
        moving = {
            n for n in used if isinstance(v := state.env.get(n), Linear) and v.symbols("index")
        }
        return min(
            (n for v in moving if line - 8 <= (n := state.lines.get(v, line)) <= line), default=line
        )

    def finish(self, writes: Iterable[Pending]) -> None:
        self.accesses += [replace(w.access, high=offset(w.high)) for w in writes]


def is_buffer(kind: str) -> bool:
    """Whether a C++ parameter of the type `kind` is a pointer or a tensor."""
    return any(mark in kind for mark in ("*", "Tensor", "["))


def keys_of(function: Function) -> dict[str, set[str]]:
    """The parameters of a Python function that it takes for dicts of buffers, with the keys that it reads."""
    found: dict[str, set[str]] = {}
    params = {p.name for p in function.params}
    for item in guarded_statements(function.body):
        for part in ("target", "value", "test", "iterable", "start", "stop"):
            expr = getattr(item.stmt, part, None)
            for inner in walk(expr) if expr is not None else ():
                match inner:
                    case Index(base=Name(id=name), indices=(Const(value=str(key)),)) if (
                        name in params
                    ):
                        found.setdefault(name, set()).add(key)
                    case _:
                        pass
    return found


def _unset(name: str) -> Linear:
    return symbol("opaque", f"unset {name}")


__all__ = ["Interpreter", "Watch", "is_buffer", "keys_of"]
