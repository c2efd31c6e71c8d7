"""Runs a function on symbols: which positions of which buffers it touches, relative to a watched index.

It follows paths in source order, joins them after branches, forgets what a loop changes, and steps into helpers and
kernels that the `Library` can find. What it cannot follow becomes a fresh unknown, so that a derived constant is exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import count

from checks.ir.expr import (
    Attr,
    Binary,
    Const,
    Expr,
    Index,
    Name,
    Sequence,
    Unary,
    Unknown,
    dotted,
    names,
    root,
    walk,
)
from checks.ir.stmt import Assert, Assign, ExprStmt, For, If, Jump, Return, Stmt, With
from checks.ir.unit import Function
from checks.semantics.affine import Bounds, Linear, Range, number, offset, symbol
from checks.semantics.evaluate import Evaluator
from checks.semantics.values import Access, Pending, Pointer, Reference, State, Value, assigned, postfix

DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Watch:
    """Which names are indices: a buffer whose name is one of `names`, or ends in `_` and one of them."""

    names: tuple[str, ...]

    def __call__(self, name: str) -> bool:
        last = name.rsplit(".", 1)[-1]
        return any(last == n or last.endswith(f"_{n}") for n in self.names)


Finder = Callable[[str, str, int], Function | None]


class Interpreter(Evaluator):
    """One run over one entry function. `find(name, path, arity)` gives the function that `name`
    means in the file `path`, called with `arity` arguments."""

    def __init__(self, watch: Watch, find: Finder, python: bool = False) -> None:
        super().__init__(python)
        self.watch = watch
        self.find = find
        self.bounds = Bounds()
        self.accesses: list[Access] = []
        self.advances: dict[str, tuple[str, int]] = {}
        self.fresh = count(1)
        self.stack: list[Function] = []
        self.breaks: list[list[State]] = []
        self.returns: list[list[tuple[State, Value]]] = []
        self.depth = 0

    def enter(self, function: Function) -> list[Access]:
        """Every access of `function` called with its own parameters as buffers."""
        state = State()
        for param in function.params:
            state.env[param.name] = self.parameter(param.name, param.type, state)
        for final, _ in self.call_body(function, state):
            self.finish(final.writes)
        return list(dict.fromkeys(self.accesses))

    def parameter(self, name: str, kind: str, state: State) -> Value:
        """A buffer for a pointer, a tensor or any Python argument; an unknown number for the rest."""
        if not self.python and not any(mark in kind for mark in ("*", "Tensor", "[")):
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
            case _:
                state.left = type(stmt).__name__ == "Raise"

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
        first = live[0]
        state.writes = list(dict.fromkeys(w for s in live for w in s.writes))
        state.limits = [g for g in first.limits if all(g in s.limits for s in live)]
        known = {n for s in live for n in s.env}
        state.env = {n: self.meet(n, [s.env.get(n) for s in live]) for n in sorted(known)}
        for name in first.cells:
            values = {s.cells[name] for s in live if name in s.cells}
            same = len(values) == 1
            state.cells[name] = values.pop() if same else self.later(name)

    def meet(self, name: str, values: list[Value]) -> Value:
        first = values[0]
        if all(v == first for v in values):
            return first
        if all(isinstance(v, Pointer) for v in values):
            pointers = [v for v in values if isinstance(v, Pointer)]
            if len({(p.buffer, p.row) for p in pointers}) == 1:
                return replace(pointers[0], offset=self.unknown(name))
        if all(isinstance(v, Linear) for v in values):
            sources = {s.source for v in values if isinstance(v, Linear) and (s := v.index()) is not None}
            return self.later(sources.pop()) if len(sources) == 1 else self.unknown(name)
        return None

    def later(self, index: str) -> Linear:
        """A later value of the index `index`, not known how much later."""
        return symbol("index", f"{index}#{next(self.fresh)}", index)

    def unknown(self, name: str) -> Linear:
        return symbol("opaque", f"{name}#{next(self.fresh)}")

    def loop(self, stmt: For, state: State) -> None:
        changed, places = assigned(stmt.body)
        carried = assigned(stmt.body, carried=True)[0]
        changed |= {v for s in stmt.body for v in _postfixes(s)}
        grows = {n for n in changed if _only_grows(n, stmt.body)}
        start = self.number(self.value(stmt.start, state), state) if stmt.start is not None else None
        stop = self.number(self.value(stmt.stop, state), state) if stmt.stop is not None else None
        if stmt.iterable is not None:
            self.value(stmt.iterable, state)
        self.depth += 1
        self.forget(changed & (carried | grows), places, grows, state)
        body = state.copy()
        self.enter_loop(stmt, body, start, stop)
        self.breaks.append([])
        self.block(stmt.body, body)
        ends = [s for s in (*self.breaks.pop(), body) if not s.left]
        self.depth -= 1
        state.writes = list(dict.fromkeys(w for s in (*ends, state) for w in s.writes))
        self.forget(changed, places, set(), state)
        if stmt.target is not None and (name := dotted(stmt.target)):
            state.env[name] = self.unknown(name)

    def enter_loop(self, stmt: For, body: State, start: Linear | None, stop: Linear | None) -> None:
        """Bind the loop variable and what holds while the loop runs."""
        if stmt.test is not None:
            self.value(stmt.test, body)
            body.limits += self.limits(stmt.test, body, holds=True)
        for name in (e.id for e in walk(stmt.target) if isinstance(e, Name)) if stmt.target is not None else ():
            body.env[name] = self.counter(name, stmt, start, stop)

    def counter(self, name: str, stmt: For, start: Linear | None, stop: Linear | None) -> Linear:
        form = symbol("loop", f"{name}#{next(self.fresh)}")
        low = start
        if stmt.start is None and stmt.stop is not None and self.python:
            low = number(0)
        last = stop.plus(-1) if stop is not None else None
        if _negative(stmt.step):
            low, last = (stop.plus(1) if stop is not None else None), low
        self.bounds.of[form.terms[0][0]] = Range(low, last, self.depth)
        return form

    def forget(self, changed: set[str], places: list[Expr], grows: set[str], state: State) -> None:
        """Replace what a loop changes by unknowns; a variable that only grows keeps its first value as lower bound."""
        for name in sorted(changed & state.env.keys()):
            old = state.env[name]
            if isinstance(old, Linear) and (found := old.index()) is not None:
                state.env[name] = self.later(found.source)
            elif isinstance(old, Linear) and name in grows:
                form = symbol("loop", f"{name}#{next(self.fresh)}")
                self.bounds.of[form.terms[0][0]] = Range(old, None, self.depth)
                state.env[name] = form
            elif isinstance(old, Linear):
                state.env[name] = self.unknown(name)
            elif isinstance(old, Pointer):
                state.env[name] = replace(old, offset=self.unknown(name))
        for place in places:
            held = state.env.get(root(place) or "")
            if isinstance(held, Pointer) and held.buffer in state.cells:
                state.cells[held.buffer] = self.later(held.buffer)

    def inline(
        self, function: Function, args: list[Value], words: dict[str, Value], template: str, state: State
    ) -> Value:
        """Run `function` on these arguments, in this state; its result, where every way out gives the same."""
        inner = State({}, state.cells, state.writes, list(state.limits))
        inner.env.update(bind(function, args, words, template))
        for param in function.params:
            if param.name not in inner.env:
                inner.env[param.name] = self.value(param.default, state) if param.default else None
        outs = self.call_body(function, inner)
        if not outs:
            state.left = True
            return None
        ends = [out for out, _ in outs]
        merged = State()
        self.join(merged, [State({}, e.cells, e.writes, state.limits) for e in ends])
        state.cells, state.writes = merged.cells, merged.writes
        first = outs[0][1]
        return first if all(v == first for _, v in outs) else self.unknown(function.name)

    def advanced(self, buffer: str, line: int) -> None:
        self.advances.setdefault(buffer, (self.path, line))

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

    def assign(self, stmt: Assign, state: State) -> None:
        value = self.value(stmt.value, state) if stmt.value is not None else None
        targets = stmt.target.items if isinstance(stmt.target, Sequence) else (stmt.target,)
        parts = stmt.value.items if isinstance(stmt.value, Sequence) and len(targets) > 1 else ()
        for i, target in enumerate(targets):
            part = self.value(parts[i], state) if i < len(parts) else value if len(targets) == 1 else None
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
        moving = {n for n in used if isinstance(v := state.env.get(n), Linear) and v.symbols("index")}
        return min((n for v in moving if line - 8 <= (n := state.lines.get(v, line)) <= line), default=line)

    def record(
        self,
        kind: str,
        buffer: str,
        low: Linear | None,
        high: Linear | None,
        line: int,
        state: State,
        where: tuple[str, int, str] | None = None,
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
        found = [f - limit for f in steps for limit in state.limits if _shares(f, limit)]
        found = [f for f in found if _settled(f)]
        # A condition says more than the bounds of a loop do, where the two cannot be compared.
        if not steps[-1].symbols("loop") and (_settled(steps[-1]) or not found):
            found.insert(0, steps[-1])
        least = found[0] if found else None
        for other in found[1:]:
            gap = (other - least).number if least is not None else None
            if gap is None or gap < 0:
                least = other
        return least

    def finish(self, writes: Iterable[Pending]) -> None:
        self.accesses += [replace(w.access, high=offset(w.high)) for w in writes]

    @property
    def path(self) -> str:
        return self.stack[-1].path if self.stack else ""


_AT_MOST: dict[str, tuple[Callable[[Linear, Linear], Linear], ...]] = {
    "<": (lambda a, b: (a - b).plus(1),),
    "<=": (lambda a, b: a - b,),
    ">": (lambda a, b: (b - a).plus(1),),
    ">=": (lambda a, b: b - a,),
    "==": (lambda a, b: a - b, lambda a, b: b - a),
    "!=": (),
}
_FLIPPED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def bind(function: Function, args: list[Value], words: dict[str, Value], template: str) -> dict[str, Value]:
    """The parameters of `function` with these arguments; integer template arguments too."""
    params = [p.name for p in function.params if p.name not in ("self", "cls")]
    bound = dict(zip(params, args, strict=False))
    bound.update({k: v for k, v in words.items() if k in params})
    heads = [m for m in function.marks if m.startswith("template")]
    if template and heads:
        wanted = re.findall(r"(?:int|size_t|unsigned|int64_t|uint32_t)\s+(\w+)", heads[0])
        given = [t.strip() for t in template.split(",")]
        bound.update({n: number(int(t)) for n, t in zip(wanted, given, strict=False) if t.isdigit()})
    return bound


def _shares(form: Linear, limit: Linear) -> bool:
    """Whether `limit` bounds something that `form` varies with."""
    loose = {(s, c) for s, c in form.terms if s.kind in ("loop", "opaque")}
    return bool(loose & set(limit.terms))


def _settled(form: Linear) -> bool:
    return not any(s.kind in ("loop", "opaque") for s, _ in form.terms)


def _negative(step: Expr | None) -> bool:
    match step:
        case Unary(op="-"):
            return True
        case Const(value=value):
            return isinstance(value, int) and value < 0
        case _:
            return False


def _postfixes(stmt: Stmt) -> set[str]:
    exprs = [getattr(stmt, name, None) for name in ("test", "value", "target")]
    found = {p for e in exprs if e is not None for x in walk(e) if isinstance(x, Unknown) and (p := postfix(x))}
    for part in ("body", "then", "orelse"):
        for inner in getattr(stmt, part, ()):
            found |= _postfixes(inner)
    return found


def _only_grows(name: str, body: Iterable[Stmt]) -> bool:
    """Whether every assignment to `name` in `body` adds a positive number."""
    for stmt in body:
        match stmt:
            case Assign(target=Name(id=target), op=op, value=value) if target == name:
                if op != "+=" or not isinstance(value, Const) or not isinstance(value.value, int) or value.value < 0:
                    return False
            case If(then=then, orelse=orelse):
                if not _only_grows(name, (*then, *orelse)):
                    return False
            case For(body=inner) | With(body=inner):
                if not _only_grows(name, inner):
                    return False
            case _:
                pass
    return True


__all__ = ["Attr", "Binary", "Index", "Interpreter", "Reference", "Watch"]
