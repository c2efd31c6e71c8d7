"""Running a test in the head: its set-up, its statements, and the exceptions that certainly follow."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from checks.eval.interpreter import arrays, natives
from checks.eval.interpreter.expressions import key_of, plain
from checks.eval.interpreter.frames import Failure, Jump, Return
from checks.eval.interpreter.patches import Patches
from checks.eval.interpreter.program import is_fixture
from checks.eval.interpreter.setups import SetUp
from checks.eval.interpreter.values import (
    ANY,
    NONE,
    NOWHERE,
    Array,
    ClassRef,
    FuncRef,
    Instance,
    ModuleRef,
    Native,
    Origin,
    PyDict,
    PyList,
    Raised,
    V,
    truth,
)
from checks.lang.ir import expr as E
from checks.lang.ir import stmt as S
from checks.lang.ir.source_file import Function, SourceFile

TOLERANT = re.compile(r"raises|assertRaises|suppress|warns|catch")


class Machine(Patches):
    """Interprets one test."""

    def run(self, function: Function, unit: SourceFile) -> None:
        """Interpret the test `function`, collecting `failures`. Raises GaveUp beyond the budget."""
        self.decorated(function)
        names = {p.name: V(Instance(None, open=True)) for p in function.params}
        frame = self.entering(function, unit, names)
        frame.test = True
        self.frames.append(frame)
        owner = next((c for c in unit.classes if c.name == function.owner), None)
        if owner is not None and function.params:
            names[function.params[0].name] = self._prepared(ClassRef(owner, unit))
        for parameter in function.params:
            fixture = next(filter(is_fixture, unit.functions_named.get(parameter.name, ())), None)
            if fixture is not None:
                reference = FuncRef(fixture, unit)
                call_fixture = partial(self.call_function, reference, [], {})
                names[parameter.name] = self._quietly(call_fixture)
        try:
            self.block(function.body)
        except Return:
            pass
        finally:
            self.frames.pop()

    def _prepared(self, cls: ClassRef) -> V:
        """The test's object after its set-up, which is followed once for the tests that patch nothing before it."""
        known, key = self.program.modules.set_ups, (cls.unit.path, cls.cls.start_line)
        shared, budget = not self.program.overrides, self.budget
        if shared and key in known:
            return known[key].resume(self)
        me = V(Instance(cls, open=True))
        for prepare in ("setUp", "setup_method"):
            found = next(
                (f for f in cls.unit.functions if f.qualname == f"{cls.cls.name}.{prepare}"), None
            )
            if found is not None:
                self._quietly(lambda f=found: self.call_function(FuncRef(f, cls.unit, me), [], {}))  # type: ignore[misc]
        if shared and self.budget < budget:
            known[key] = SetUp.left(self, me, budget)
        return me

    def _quietly(self, action: Callable[[], V]) -> V:
        try:
            return action()
        except Raised:
            return ANY

    def block(self, body: tuple[S.Stmt, ...]) -> None:
        run = self._of_test if self.frames[-1].test else self.statement
        for stmt in body:
            run(stmt)

    def _of_test(self, stmt: S.Stmt) -> None:
        if isinstance(stmt, S.With | S.If | S.For | S.Return | S.Jump):
            self.statement(stmt)
        else:
            self._guarded(stmt)

    def _guarded(self, stmt: S.Stmt) -> None:
        """A statement of the test itself: a certain exception is a failure, and the test is followed beyond it."""
        self.reached.add(stmt.line)
        try:
            self.statement(stmt)
        except Raised as raised:
            self._record(raised, stmt.line)
            for name in _assigned((stmt,)):
                self.frame.names[name] = ANY

    def _record(self, raised: Raised, line: int) -> None:
        if raised.doubtful or any(f.maybe for f in self.frames):
            return
        where = raised.where or Origin(self.frame.unit.path, line)
        last = {t[0]: t for t in self.trace if t[0] in raised.origins}
        seen = tuple(t for t in self.trace if last.get(t[0]) is t)
        self.failures.append(Failure(raised.name, raised.detail, line, where, raised.origins, seen))

    def statement(self, stmt: S.Stmt) -> None:
        handler = _HANDLERS.get(stmt.__class__)
        try:
            if handler is not None:
                handler(self, stmt)
        except Raised as raised:
            if raised.where is None:
                raised.where = Origin(self.frame.unit.path, stmt.line)
            raise

    def _expression(self, stmt: S.ExprStmt) -> None:
        match stmt.value:
            case E.Call(func=E.Attr(base=E.Name(id="monkeypatch"), name="setattr")) as call:
                self.monkeypatch(call)
            case value:
                self.eval(value)

    def _return(self, stmt: S.Return) -> None:
        raise Return(self.eval(stmt.value) if stmt.value is not None else NONE)

    def _assert(self, stmt: S.Assert) -> None:
        if self.frame.test and truth(v := self.eval(stmt.test)) is False:
            raise Raised("AssertionError", self.frame.unit.text(stmt.line).strip(), v.origins)

    def _raise(self, stmt: S.Raise) -> None:
        raise Raised(_exception(stmt.value), "", NOWHERE)

    def _jump(self, stmt: S.Jump) -> None:
        if stmt.kind in ("break", "continue"):
            raise Jump(stmt.kind)

    def _opaque(self, stmt: S.Opaque) -> None:
        self.frame.maybe = self.frame.maybe or "return" in stmt.text

    def _defined(self, stmt: S.Define) -> None:
        name = stmt.name
        frame = self.frame
        inner = [
            f
            for f in frame.unit.functions
            if f.name == name and frame.function.covers(f.start_line)
        ]
        found = V(FuncRef(inner[0], frame.unit, None, frame.names)) if len(inner) == 1 else ANY
        frame.names[name] = found

    def _assign(self, stmt: S.Assign) -> None:
        if stmt.value is None:
            return
        value = self.eval(stmt.value)
        if stmt.op != "=":
            value = natives.binary(stmt.op[:-1], self.eval(stmt.target), value)
        self.store(stmt.target, self._mark(value, stmt))

    def _mark(self, value: V, stmt: S.Stmt) -> V:
        """Note that `value` came through this statement, if it stands in a test or on an altered line."""
        frame = self.frames[-1]
        path = frame.unit.path
        if frame.fixture:
            return value.through(Origin(path, stmt.line))
        if not frame.altered or not self.changed(path, stmt.line, stmt.end_line):
            return value
        origin = Origin(path, stmt.line)
        if isinstance(value.value, int):
            text = " ".join(self.frame.unit.text(stmt.line, stmt.end_line).split())
            self.trace.append((origin, text, repr(value.value)))
        return value.through(origin)

    def store(self, target: E.Expr, value: V) -> None:
        """`target = value`."""
        match target:
            case E.Name(id=name):
                self.frames[-1].names[name] = value
            case E.Attr(base=base, name=name):
                owner = self.eval(base)
                if isinstance(owner.value, Instance):
                    owner.value.attrs[name] = value
                elif isinstance(owner.value, ModuleRef) and owner.value.unit:
                    self.program.replace((owner.value.unit.path, name), value)
                self._stored(target, 1)
            case E.Index(base=base, indices=indices):
                self._store_item(self.eval(base), indices, value)
                self._stored(target, 2)
            case E.Sequence(items=items):
                self._unpack(items, value)

    def _stored(self, target: E.Expr, kind: int) -> None:
        frame = self.frames[-1]
        if frame.fixture:
            origin = Origin(frame.unit.path, target.line)
            self.stores[origin] = max(kind, self.stores.pop(origin, 0))

    def _store_item(self, owner: V, indices: tuple[E.Expr, ...], value: V) -> None:
        match owner.value:
            case Instance():
                setter = self.special(owner, "__setitem__")
                if setter is not None:
                    self.call_function(setter, [key_of(self.places(indices)), value], {})
            case Array() as array:
                places = self.places(indices)
                if plain(places):
                    arrays.assign(array, places, value)
                else:
                    array.forget()
            case PyList(items=list() as items):
                index = self.eval(indices[0])
                if isinstance(index.value, int) and -len(items) <= index.value < len(items):
                    items[index.value] = value
                else:
                    owner.value.items = None
            case PyDict() as mapping:
                key = self.eval(indices[0])
                if isinstance(key.value, natives.SCALARS):
                    mapping.items[key.value] = value
                else:
                    mapping.items.clear()
                    mapping.open = True

    def _unpack(self, targets: tuple[E.Expr, ...], value: V) -> None:
        items = natives.sequence(value)
        starred = any(isinstance(t, E.Unary) for t in targets)
        if items is not None and not starred and len(items) != len(targets):
            length = value.value.length if isinstance(value.value, PyList) else value.origins
            raise Raised("ValueError", f"expected {len(targets)} values, got {len(items)}", length)
        if items is None or starred:
            items = [ANY] * len(targets)
        for target, item in zip(targets, items, strict=True):
            self.store(target, item)

    def _if(self, stmt: S.If) -> None:
        known = truth(self.eval(stmt.test))
        if known is not None:
            self.block(stmt.then if known else stmt.orelse)
            return
        self._havoc((*stmt.then, *stmt.orelse))
        if _may_leave(stmt.then) or _may_leave(stmt.orelse):
            self.frame.maybe = True

    def _havoc(self, body: tuple[S.Stmt, ...]) -> None:
        """`body` may or may not run: forget what it writes."""
        for guarded in S.guarded_statements(body):
            stmt = guarded.stmt
            targets = (
                [stmt.target]
                if isinstance(stmt, S.Assign | S.For) and stmt.target is not None
                else []
            )
            for target in targets:
                try:
                    self.store(target, ANY)
                except Raised:
                    continue

    def _for(self, stmt: S.For) -> None:
        items = self._iterations(stmt)
        self.budget -= len(items or ())
        if items is None or self.budget < 0:
            self._havoc(stmt.body)
            if stmt.target is not None:
                self.store(stmt.target, ANY)
            if _may_leave(stmt.body):
                self.frame.maybe = True
            return
        for item in items:
            if stmt.target is not None:
                self.store(stmt.target, item)
            try:
                self.block(stmt.body)
            except Jump as jump:
                if jump.kind == "break":
                    return

    def _iterations(self, stmt: S.For) -> list[V] | None:
        if stmt.iterable is not None:
            return natives.sequence(self.eval(stmt.iterable))
        if stmt.stop is None:
            return None
        bounds = [
            self.eval(e) if e is not None else V(d)
            for e, d in ((stmt.start, 0), (stmt.stop, 0), (stmt.step, 1))
        ]
        return natives.sequence(natives.call(Native("range"), bounds, {}))

    def _with(self, stmt: S.With) -> None:
        undo = self.patched(stmt.items)
        tolerant = (stmt.kind == "try" and stmt.parts) or any(
            TOLERANT.search(_text(i)) for i in stmt.items
        )
        try:
            if not tolerant:
                self.block(stmt.body)
            else:
                self._try(stmt)
        finally:
            for key, old in reversed(undo):
                self.program.replace(key, old)

    def _try(self, stmt: S.With) -> None:
        """A body whose exceptions are handled: an unknown call in it may raise too."""
        was, self.frame.test = self.frame.test, False
        before = self.unknowns
        raised = True
        try:
            self.block(stmt.body)
            raised = False
        except Raised:
            self._havoc(stmt.body)
        finally:
            self.frame.test = was
            if raised or self.unknowns > before:
                for part in stmt.parts:
                    self._havoc(part)
                self.frame.maybe = self.frame.maybe or any(_may_leave(p) for p in stmt.parts)


_HANDLERS: dict[type[S.Stmt], Callable[[Machine, Any], None]] = {
    S.Assign: Machine._assign,
    S.ExprStmt: Machine._expression,
    S.Return: Machine._return,
    S.If: Machine._if,
    S.For: Machine._for,
    S.With: Machine._with,
    S.Assert: Machine._assert,
    S.Raise: Machine._raise,
    S.Jump: Machine._jump,
    S.Define: Machine._defined,
    S.Opaque: Machine._opaque,
}


def _assigned(body: tuple[S.Stmt, ...]) -> set[str]:
    return {
        name
        for g in S.guarded_statements(body)
        if isinstance(g.stmt, S.Assign)
        for name in E.names(g.stmt.target)
    }


def _may_leave(body: tuple[S.Stmt, ...]) -> bool:
    return any(
        isinstance(g.stmt, S.Return | S.Raise)
        or (isinstance(g.stmt, S.Jump) and g.stmt.kind in ("break", "continue"))
        for g in S.guarded_statements(body)
    )


def _exception(value: E.Expr | None) -> str:
    if isinstance(value, E.Call):
        return E.dotted(value.func) or "Exception"
    return (E.dotted(value) if value is not None else None) or "Exception"


def _text(e: E.Expr) -> str:
    return (E.dotted(e.func) or "") if isinstance(e, E.Call) else ""
