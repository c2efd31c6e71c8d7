"""Device ops: registration, kernel function and Python call sites, tied together by name and position."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.core.tree import Tree, word_regex
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Binding, Function, Op, SourceFile
from checks.lang.ir.stmt import (
    Assert,
    Assign,
    Body,
    ExprStmt,
    For,
    GuardedStmt,
    If,
    Raise,
    Return,
    Stmt,
    With,
    guarded_statements,
)


@dataclass(frozen=True, slots=True)
class OpInfo:
    """An op that Python can call. `params` are its argument names in call order, and `function` the C++ function
    behind it (None where it was not found); argument n is the function's parameter n."""

    name: str
    params: tuple[str, ...]
    unit: SourceFile
    line: int
    registration: Op | None = None
    binding: Binding | None = None
    function: Function | None = None

    def cpp_name(self, param: str) -> str:
        """What the C++ function calls the argument `param`."""
        if self.function is None or param not in self.params:
            return param
        place = self.params.index(param)
        return self.function.params[place].name if place < len(self.function.params) else param


@dataclass(frozen=True, slots=True)
class OpCall:
    """A call of an op from Python: `args` maps the op's argument names to what is passed."""

    op: OpInfo
    call: E.Call
    function: Function | None
    unit: SourceFile
    args: dict[str, E.Expr]
    guards: tuple[E.Expr, ...] = ()


@dataclass
class Ops:
    """The ops of one side of a change, found by name when asked for."""

    change: ChangeSet
    side: Side = Side.HEAD
    _known: dict[str, tuple[OpInfo, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, change: ChangeSet, side: Side = Side.HEAD) -> Ops:
        """The one table of this change."""
        return change.memo((cls, side), lambda: cls(change, side))

    def named(self, name: str) -> tuple[OpInfo, ...]:
        """Every op registered or bound under `name` (one for each hardware)."""
        if name not in self._known:
            self._known[name] = tuple(self._search(name))
        return self._known[name]

    def _search(self, name: str) -> Iterator[OpInfo]:
        # Where it is the first argument, or a string: most words are neither, and reading their files takes long.
        registered = re.compile(rf'"{re.escape(name)}"|(?:\(|^)\s*{re.escape(name)}\s*(?:[),]|$)')
        hits = self.change.tree(self.side).find(name, "cpp")
        paths = sorted({h.path for h in hits if registered.search(h.text)})
        seen: set[tuple[str, int]] = set()
        for path in paths:
            unit = self.change.unit(path, self.side)
            if unit is None:
                continue
            for op in unit.ops:
                if op.name == name and (path, op.line) not in seen:
                    seen.add((path, op.line))
                    yield self._registered(op, unit)
            for binding in unit.bindings:
                if binding.name == name and (path, binding.line) not in seen:
                    seen.add((path, binding.line))
                    yield self._bound(binding, unit)

    def _registered(self, op: Op, unit: SourceFile) -> OpInfo:
        function = next(iter(unit.named(op.kernel)), None)
        params = *op.inputs, *(a.split(":")[0].strip() for a in op.attrs)
        return OpInfo(op.name, params, unit, op.line, registration=op, function=function)

    def _bound(self, binding: Binding, unit: SourceFile) -> OpInfo:
        function = self.function(binding.function, unit)
        params = (
            binding.args or tuple(p.name for p in function.params if function)
            if function
            else binding.args
        )
        return OpInfo(
            binding.name, tuple(params), unit, binding.line, binding=binding, function=function
        )

    def function(self, name: str, near: SourceFile) -> Function | None:
        """The definition of the C++ function `name`, in `near` or in the one file of its folder tree that has it."""
        plain = name.rsplit("::", 1)[-1]
        own = near.named(plain)
        if own:
            return own[0]
        root = near.path.split("/")[:2]
        found: list[Function] = []
        for path in self.change.tree(self.side).paths_containing(plain, "cpp"):
            if (
                path.split("/")[:2] == root
                and (unit := self.change.unit(path, self.side)) is not None
            ):
                found += unit.named(plain)
        return found[0] if len(found) == 1 else None

    def of_function(self, function: Function) -> tuple[OpInfo, ...]:
        """The ops whose kernel function this is."""
        unit = self.change.unit(function.path, self.side)
        if unit is None:
            return ()
        names = [op.name for op in unit.ops if op.kernel.rsplit("::", 1)[-1] == function.name]
        for hit in self.change.tree(self.side).find(function.name):
            if ".def(" not in hit.text and "m.def" not in hit.text and "&" not in hit.text:
                continue
            other = self.change.unit(hit.path, self.side)
            names += [
                b.name
                for b in (other.bindings if other else ())
                if b.function.rsplit("::", 1)[-1] == function.name
            ]
        found = [o for n in dict.fromkeys(names) for o in self.named(n)]
        return tuple(o for o in found if o.function is None or o.function.path == function.path)

    def calls(self, name: str) -> Iterator[OpCall]:
        """Every Python call of the op `name`, tests included."""
        ops = self.named(name)
        for path in files_calling(name, self.change.tree(self.side)):
            unit = self.change.unit(path, self.side)
            for op in ops[:1] if unit is not None else ():
                yield from _calls_in(unit, op) if unit else ()


def files_calling(name: str, tree: Tree) -> list[str]:
    """The Python files in which `name` may be called."""
    written = re.compile(_call_of(name).encode())
    return [
        path
        for path in tree.paths_containing(name, "python")
        if written.search(tree.read(path) or b"")
    ]


def callers(name: str, unit: SourceFile) -> list[Function]:
    """The functions of a Python file in which `name` may be called; the others need not be looked into."""
    written = re.compile(_call_of(name))
    return [f for f in unit.functions if written.search(unit.text(f.start_line, f.end_line))]


def _call_of(name: str) -> str:
    """A pattern of what every call of `name` in Python looks like: it stands before a bracket and is not defined."""
    plain = re.escape(name)
    return rf"{word_regex(name)}(?<!def {plain})(?<!class {plain})[\s\\)]*\("


def _calls_in(unit: SourceFile, op: OpInfo) -> Iterator[OpCall]:
    for function in callers(op.name, unit):
        for call, guards in calls_of(function.body):
            if E.callee(call) == op.name:
                yield OpCall(op, call, function, unit, arguments(call, op.params), guards)


def calls_of(body: tuple[Stmt, ...]) -> Iterator[tuple[E.Call, tuple[E.Expr, ...]]]:
    """Every call in `body` with the conditions under which it runs, in source order."""
    if isinstance(body, Body):
        return iter(body.memo(calls_of, lambda: _calls_of(body)))
    return iter(_calls_of(body))


def _calls_of(body: tuple[Stmt, ...]) -> list[tuple[E.Call, tuple[E.Expr, ...]]]:
    return [
        (e, guarded.guards)
        for guarded, inside in statement_expressions(body)
        for e in inside
        if type(e) is E.Call
    ]


def statement_expressions(body: tuple[Stmt, ...]) -> list[tuple[GuardedStmt, list[E.Expr]]]:
    """Every statement with the expressions that stand in it itself and all that is in those, outer first."""

    def found() -> list[tuple[GuardedStmt, list[E.Expr]]]:
        return [
            (g, [e for top in expressions_of(g.stmt) for e in E.walk(top)])
            for g in guarded_statements(body)
        ]

    return body.memo(statement_expressions, found) if isinstance(body, Body) else found()


def expressions_of(stmt: Stmt) -> Sequence[E.Expr]:
    """The expressions that stand in `stmt` itself, not in the statements inside it."""
    fields = _EXPRESSIONS.get(type(stmt))
    if fields is None:
        return stmt.items if isinstance(stmt, With) else ()
    return [e for field in fields if (e := getattr(stmt, field)) is not None]


_EXPRESSIONS: dict[type[Stmt], tuple[str, ...]] = {
    Assign: ("target", "value"),
    ExprStmt: ("value",),
    Return: ("value",),
    Raise: ("value",),
    Assert: ("test",),
    If: ("test",),
    For: ("target", "start", "stop", "step", "iterable", "test"),
}


def arguments(call: E.Call, params: tuple[str, ...]) -> dict[str, E.Expr]:
    """What a call passes for each parameter; positions beyond the list are left out."""
    passed = dict(zip(params, call.args, strict=False))
    passed.update((k, v) for k, v in call.keywords if k in params)
    return passed
