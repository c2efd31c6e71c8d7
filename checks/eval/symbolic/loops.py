"""Loops: bounded variables, and what a loop changes forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checks.eval.symbolic.affine import Linear, Range, number, symbol
from checks.eval.symbolic.evaluate import Evaluator
from checks.eval.symbolic.values import Pointer, State, assigned, postfix
from checks.lang.ir.expr import Const, Expr, Name, Unary, Unknown, dotted, root, walk
from checks.lang.ir.stmt import Assign, For, If, Stmt, With


class Loops(Evaluator):
    """The part of the run that goes through a loop once, for all of its rounds."""

    def loop(self, stmt: For, state: State) -> None:
        changed, places = assigned(stmt.body)
        carried = assigned(stmt.body, carried=True)[0]
        changed |= {v for s in stmt.body for v in _postfixes(s)}
        grows = {n for n in changed if _only_grows(n, stmt.body)}
        start = (
            self.number(self.value(stmt.start, state), state) if stmt.start is not None else None
        )
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
        for name in (
            (e.id for e in walk(stmt.target) if isinstance(e, Name))
            if stmt.target is not None
            else ()
        ):
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
    found = {
        p
        for e in exprs
        if e is not None
        for x in walk(e)
        if isinstance(x, Unknown) and (p := postfix(x))
    }
    for part in ("body", "then", "orelse"):
        for inner in getattr(stmt, part, ()):
            found |= _postfixes(inner)
    return found


def _only_grows(name: str, body: Iterable[Stmt]) -> bool:
    """Whether every assignment to `name` in `body` adds a positive number."""
    for stmt in body:
        match stmt:
            case Assign(target=Name(id=target), op=op, value=value) if target == name:
                if (
                    op != "+="
                    or not isinstance(value, Const)
                    or not isinstance(value.value, int)
                    or value.value < 0
                ):
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
