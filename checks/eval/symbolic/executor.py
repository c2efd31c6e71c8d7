"""Runs a function on symbols: which positions of which buffers it touches, relative to a watched
index.

It follows paths in source order, joins them after branches, forgets what a loop changes, and steps
into helpers and kernels that `find` knows. What it cannot follow becomes a fresh unknown, so that a
derived constant is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checks.eval.symbolic.affine import Linear, symbol_form
from checks.eval.symbolic.calls import evaluate_call, moves_with_index
from checks.eval.symbolic.expressions import combine, convert_to_number, evaluate, look_up_name
from checks.eval.symbolic.limits import limits_of
from checks.eval.symbolic.loops import run_loop
from checks.eval.symbolic.parameters import find_dict_keys, is_buffer
from checks.eval.symbolic.paths import join_states, unset_value
from checks.eval.symbolic.places import find_place, find_span, load_element, read_element
from checks.eval.symbolic.run import FunctionExit, SymbolicRun
from checks.eval.symbolic.values import BufferAccess, BufferTable, PathState, Pointer, SymbolicValue
from checks.lang.ir.expr import Attr, Call, Expr, Index, Name, Sequence, dotted, names
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
)

# A subscript computed further above than this many lines is not shown with the write that uses it.
_LINES_ABOVE = 8


class SymbolicExecutor(SymbolicRun):
    """The whole run.

    What a subclass may want to do otherwise (a test's straight run) is a method.
    """

    def enter(self, function: Function) -> list[BufferAccess]:
        """Every access of `function` called with its own parameters as buffers."""
        state = PathState()
        tables = find_dict_keys(function) if self.python else {}
        for param in function.params:
            if param.name in tables:
                keys = sorted(tables[param.name])
                entries = [(key, self._parameter(key, "", state)) for key in keys]
                state.env[param.name] = BufferTable(tuple(entries))
            else:
                state.env[param.name] = self._parameter(param.name, param.type, state)
        for end, _ in self.call_body(function, state):
            self.recorder.finish_writes(end.writes)
        return list(dict.fromkeys(self.recorder.accesses))

    def _parameter(self, name: str, kind: str, state: PathState) -> SymbolicValue:
        """A buffer for a pointer, a tensor or any Python argument; an unknown for the rest."""
        if not self.python and not is_buffer(kind):
            return symbol_form("opaque", name)
        if self.watch(name):
            state.cells[name] = symbol_form("index", f"{name}#0", name)
        return Pointer(name)

    def call_body(self, function: Function, state: PathState) -> list[FunctionExit]:
        """Every way out of `function`, with what it returns."""
        self.stack.append(function)
        self.exits.append([])
        self.block(function.body, state)
        exits = self.exits.pop()
        self.stack.pop()
        if not state.left:
            exits.append((state, None))
        return exits

    def block(self, body: Iterable[Stmt], state: PathState) -> None:
        """Run statements in order, until the path leaves."""
        for stmt in body:
            if state.left:
                return
            self._step(stmt, state)

    def _step(self, stmt: Stmt, state: PathState) -> None:
        match stmt:
            case Assign():
                self._assign(stmt, state)
            case ExprStmt(value=value):
                self.value(value, state)
            case Return(value=value):
                result = self.value(value, state)
                self.exits[-1].append((state.copy(), result))
                state.left = True
            case If():
                self.branch(stmt, state)
            case For():
                self.loop(stmt, state)
            case With(body=body, parts=parts):
                self.block(body, state)
                for part in parts:
                    self._run_optional(part, state)
            case Assert(test=test):
                self.value(test, state)
                state.limits += limits_of(self, test, state, holds=True)
            # A `continue` ends this one run of the body, as a `break` does.
            case Jump(kind="break" | "continue"):
                if self.breaks:
                    self.breaks[-1].append(state.copy())
                state.left = True
            case Raise():
                state.left = True
            case _:
                pass

    def _run_optional(self, body: tuple[Stmt, ...], state: PathState) -> None:
        """A handler or an `#else` arm: it may run or not."""
        taken = state.copy()
        self.block(body, taken)
        if not taken.left:
            join_states(self, state, [state.copy(), taken])

    def branch(self, stmt: If, state: PathState) -> None:
        """Run both arms, and join what is left of them."""
        self.value(stmt.test, state)
        then = state.copy()
        orelse = state.copy()
        then.limits += limits_of(self, stmt.test, state, holds=True)
        orelse.limits += limits_of(self, stmt.test, state, holds=False)
        self.block(stmt.then, then)
        self.block(stmt.orelse, orelse)
        live = [arm for arm in (then, orelse) if not arm.left]
        if not live:
            state.left = True
            return
        join_states(self, state, live)

    def loop(self, stmt: For, state: PathState) -> None:
        """Run a loop once, for all of its rounds."""
        run_loop(self, stmt, state)

    def _assign(self, stmt: Assign, state: PathState) -> None:
        if stmt.value is None:
            name = dotted(stmt.target) if stmt.declares else None
            if name:
                state.env[name] = unset_value(name)
                return
        value = self.value(stmt.value, state)
        if not isinstance(stmt.target, Sequence):
            self.store(stmt.target, stmt.op, value, stmt.line, state)
            return
        targets = stmt.target.items
        if len(targets) == 1:
            self.store(targets[0], stmt.op, value, stmt.line, state)
            return
        parts = stmt.value.items if isinstance(stmt.value, Sequence) else ()
        for i, target in enumerate(targets):
            part = self.value(parts[i], state) if i < len(parts) else None
            self.store(target, stmt.op, part, stmt.line, state)

    def store(
        self, target: Expr, op: str, value: SymbolicValue, line: int, state: PathState
    ) -> None:
        """`target op value`, for a local, an index, or another buffer."""
        name = dotted(target)
        if name is not None:
            new = self._stored_value(state.env.get(name), op, value, line, state)
            if new is None:
                new = self.unknown(name)
            state.env[name] = new
            state.lines[name] = line
            return
        place = self.place(target, state)
        if place is None:
            return
        if place.buffer in state.cells:
            self._store_index(place.buffer, op, value, line, state)
        else:
            self._store_element(target, place, line, state)

    def _stored_value(
        self, old: SymbolicValue, op: str, value: SymbolicValue, line: int, state: PathState
    ) -> SymbolicValue:
        """What a target that held `old` holds after `target op value`."""
        if op == "=":
            return value
        return combine(self, op.removesuffix("="), old, value, line, state)

    def _store_index(
        self, index: str, op: str, value: SymbolicValue, line: int, state: PathState
    ) -> None:
        new = self._stored_value(state.cells[index], op, value, line, state)
        form = self.number(new, state)
        if form is None:
            form = self.later(index)
        state.set_cell(index, form)
        # An index that goes back is not a later value of it.
        if op != "-=":
            self.note_advance(index, line)

    def _store_element(self, target: Expr, place: Pointer, line: int, state: PathState) -> None:
        low, high = self.span(target, place, state)
        before = len(state.writes)
        self.record("write", place.buffer, low, high, line, state)
        first = _line_of_subscript(target, line, state)
        for i in range(before, len(state.writes)):
            write = state.writes[i]
            state.writes[i] = replace(write, access=replace(write.access, first=first))

    # How expressions are evaluated: the handlers' modules, one method each.

    def value(self, expr: Expr | None, state: PathState) -> SymbolicValue:
        return evaluate(self, expr, state)

    def named(self, expr: Name | Attr, state: PathState) -> SymbolicValue:
        return look_up_name(self, expr, state)

    def element(self, expr: Index, state: PathState) -> SymbolicValue:
        return read_element(self, expr, state)

    def call(self, expr: Call, state: PathState) -> SymbolicValue:
        return evaluate_call(self, expr, state)

    def number(self, value: SymbolicValue, state: PathState | None) -> Linear | None:
        return convert_to_number(self, value, state)

    def load(self, place: Pointer, line: int, state: PathState) -> Linear:
        return load_element(self, place, line, state)

    def place(self, expr: Expr, state: PathState) -> Pointer | None:
        return find_place(self, expr, state)

    def span(self, expr: Expr, place: Pointer, state: PathState) -> tuple[Linear, Linear | None]:
        """The first and last position of `expr`, which lies at `place`."""
        return find_span(self, expr, place, state)

    def relevant(
        self, args: list[SymbolicValue], words: dict[str, SymbolicValue], state: PathState
    ) -> bool:
        return moves_with_index(args, words, state)


def _line_of_subscript(target: Expr, line: int, state: PathState) -> int:
    """The line, a few above `line` at most, where the subscript of `target` was computed."""
    first = line
    indices = target.indices if isinstance(target, Index) else ()
    for index in indices:
        for name in names(index):
            value = state.env.get(name)
            if not isinstance(value, Linear) or not value.symbols("index"):
                continue
            assigned_at = state.lines.get(name, line)
            if line - _LINES_ABOVE <= assigned_at <= line:
                first = min(first, assigned_at)
    return first
