"""Device ops: registration, kernel function and Python call sites, tied together by name and
position.

The lower half has what the rules ask of any function: its expressions, its calls, and what a call
passes for each parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.core.tree import Tree
from checks.core.words import as_bytes, word_regex
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

_BINDING = re.compile(r"\.def\(|m\.def|&")


@dataclass(frozen=True, slots=True)
class OpInfo:
    """An op that Python can call.

    `params` are its argument names in call order, and `function` the C++ function behind it (None
    where it was not found); argument n is the function's parameter n.
    """

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
        position = self.params.index(param)
        if position >= len(self.function.params):
            return param
        return self.function.params[position].name


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
    _by_name: dict[str, tuple[OpInfo, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, change: ChangeSet, side: Side = Side.HEAD) -> Ops:
        """The one table of this change."""
        return change.memo((cls, side), lambda: cls(change, side))

    def named(self, name: str) -> tuple[OpInfo, ...]:
        """Every op registered or bound under `name` (one for each hardware)."""
        # Kept, because many rules ask for the same op and each search parses files.
        if name not in self._by_name:
            self._by_name[name] = tuple(self._find(name))
        return self._by_name[name]

    def _find(self, name: str) -> Iterator[OpInfo]:
        for path in self._files_registering(name):
            unit = self.change.unit(path, self.side)
            if unit is None:
                continue
            lines: set[int] = set()
            for op in unit.ops:
                if op.name == name and op.line not in lines:
                    lines.add(op.line)
                    yield self._from_registration(op, unit)
            for binding in unit.bindings:
                if binding.name == name and binding.line not in lines:
                    lines.add(binding.line)
                    yield self._from_binding(binding, unit)

    def _files_registering(self, name: str) -> list[str]:
        """The C++ files in which `name` stands as a string or as the first argument of a macro."""
        word = re.escape(name)
        registered = re.compile(rf'"{word}"|(?:\(|^)\s*{word}\s*(?:[),]|$)')
        hits = self.change.tree(self.side).find(name, "cpp")
        return sorted({hit.path for hit in hits if registered.search(hit.text)})

    def _from_registration(self, op: Op, unit: SourceFile) -> OpInfo:
        functions = unit.named(op.kernel)
        attributes = [attribute.split(":")[0].strip() for attribute in op.attrs]
        return OpInfo(
            op.name,
            (*op.inputs, *attributes),
            unit,
            op.line,
            registration=op,
            function=functions[0] if functions else None,
        )

    def _from_binding(self, binding: Binding, unit: SourceFile) -> OpInfo:
        function = self.function(binding.function, unit)
        params = binding.args
        if not params and function is not None:
            params = tuple(param.name for param in function.params)
        return OpInfo(binding.name, params, unit, binding.line, binding=binding, function=function)

    def function(self, name: str, near: SourceFile) -> Function | None:
        """The definition of the C++ function `name`, in `near` or in the one file of its folder
        tree that has it."""
        plain = _without_scope(name)
        own = near.named(plain)
        if own:
            return own[0]
        root = near.path.split("/")[:2]
        definitions: list[Function] = []
        for path in self.change.tree(self.side).paths_containing(plain, "cpp"):
            if path.split("/")[:2] != root:
                continue
            unit = self.change.unit(path, self.side)
            if unit is not None:
                definitions += unit.named(plain)
        return definitions[0] if len(definitions) == 1 else None

    def of_function(self, function: Function) -> tuple[OpInfo, ...]:
        """The ops whose kernel function this is."""
        unit = self.change.unit(function.path, self.side)
        if unit is None:
            return ()
        names = [op.name for op in unit.ops if _without_scope(op.kernel) == function.name]
        names += self._bound_names(function)
        ops: list[OpInfo] = []
        for name in dict.fromkeys(names):
            for op in self.named(name):
                if op.function is None or op.function.path == function.path:
                    ops.append(op)
        return tuple(ops)

    def _bound_names(self, function: Function) -> Iterator[str]:
        """The names under which pybind11 binds `function`, in any file."""
        for hit in self.change.tree(self.side).find(function.name, "cpp"):
            # The function stands in its binding as `&Func`, often on a line below `m.def(`.
            if not _BINDING.search(hit.text):
                continue
            unit = self.change.unit(hit.path, self.side)
            if unit is None:
                continue
            for binding in unit.bindings:
                if _without_scope(binding.function) == function.name:
                    yield binding.name

    def calls(self, name: str) -> Iterator[OpCall]:
        """Every Python call of the op `name`, tests included."""
        ops = self.named(name)
        for path in files_calling(name, self.change.tree(self.side)):
            unit = self.change.unit(path, self.side)
            if unit is not None and ops:
                yield from _calls_in(unit, ops[0])


def _without_scope(name: str) -> str:
    return name.rsplit("::", 1)[-1]


def _calls_in(unit: SourceFile, op: OpInfo) -> Iterator[OpCall]:
    for function in functions_calling(op.name, unit):
        for call, guards in calls_of(function.body):
            if E.callee(call) == op.name:
                yield OpCall(op, call, function, unit, arguments(call, op.params), guards)


# Where a name may be called. These read text, so that only what has a call in it is parsed.


def files_calling(name: str, tree: Tree) -> list[str]:
    """The Python files in which `name` may be called."""
    call = re.compile(as_bytes(_call_pattern(name)))
    paths = tree.paths_containing(name, "python")
    return [path for path in paths if call.search(tree.read(path) or b"")]


def functions_calling(name: str, unit: SourceFile) -> list[Function]:
    """The functions of a Python file in which `name` may be called."""
    call = re.compile(_call_pattern(name))
    return [f for f in unit.functions_naming(name) if call.search(unit.text_of(f))]


def _call_pattern(name: str) -> str:
    """What every call of `name` in Python looks like: before a bracket, and not a definition."""
    plain = re.escape(name)
    return rf"{word_regex(name)}(?<!def {plain})(?<!class {plain})[\s\\)]*\("


# The expressions and calls of a function.


def calls_of(body: tuple[Stmt, ...]) -> Iterator[tuple[E.Call, tuple[E.Expr, ...]]]:
    """Every call in `body` with the conditions under which it runs, in source order."""
    for guarded, expressions in statement_expressions(body):
        for expr in expressions:
            if isinstance(expr, E.Call):
                yield expr, guarded.guards


def statement_expressions(body: tuple[Stmt, ...]) -> list[tuple[GuardedStmt, list[E.Expr]]]:
    """Every statement with the expressions that stand in it itself and all that is in those, outer
    first."""
    # Kept for the body of a function: most rules walk each function that changed.
    if isinstance(body, Body):
        return body.memo(statement_expressions, lambda: _statement_expressions(body))
    return _statement_expressions(body)


def _statement_expressions(body: tuple[Stmt, ...]) -> list[tuple[GuardedStmt, list[E.Expr]]]:
    found = []
    for guarded in guarded_statements(body):
        inside: list[E.Expr] = []
        for expr in expressions_of(guarded.stmt):
            inside += E.walk(expr)
        found.append((guarded, inside))
    return found


def expressions_of(stmt: Stmt) -> Sequence[E.Expr]:
    """The expressions that stand in `stmt` itself, not in the statements inside it."""
    parts: tuple[E.Expr | None, ...]
    match stmt:
        case Assign():
            parts = (stmt.target, stmt.value)
        case ExprStmt() | Return() | Raise():
            parts = (stmt.value,)
        case Assert() | If():
            parts = (stmt.test,)
        case For():
            bounds = (stmt.start, stmt.stop, stmt.step)
            parts = (stmt.target, *bounds, stmt.iterable, stmt.test)
        case With():
            parts = stmt.items
        case _:
            parts = ()
    return [part for part in parts if part is not None]


def arguments(call: E.Call, params: tuple[str, ...]) -> dict[str, E.Expr]:
    """What a call passes for each parameter; positions beyond the list are left out."""
    passed = dict(zip(params, call.args, strict=False))
    for name, value in call.keywords:
        if name in params:
            passed[name] = value
    return passed
