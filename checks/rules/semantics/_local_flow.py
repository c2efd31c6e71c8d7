"""Which locals of a Python function can have a value where they are read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)


@dataclass(frozen=True, slots=True)
class UnboundRead:
    """A read of a local, on `line`, that nothing in front of it can have set."""

    name: str
    line: int


def unbound_reads(function: FunctionNode) -> list[UnboundRead]:
    """The reads of locals that fail whenever they are reached: no way to them sets the local."""
    flow = _Flow(_locals_of(function))
    flow.block(function.body, frozenset(_parameters(function)))
    return flow.found


# The locals that may have a value at a place; None where no way leads there.
_State: TypeAlias = frozenset[str] | None


@dataclass
class _Flow:
    """Walks a function in the order in which it runs.

    Each way may be taken, a loop may have run before, and an exception may come anywhere: a local
    that is not in the state has no value on any way.
    """

    locals: frozenset[str]
    found: list[UnboundRead] = field(default_factory=list)

    def block(self, body: list[ast.stmt], state: _State) -> _State:
        """The state behind the statements."""
        for stmt in body:
            if state is None:
                return None
            state = self._statement(stmt, state)
        return state

    def _statement(self, stmt: ast.stmt, state: frozenset[str]) -> _State:
        match stmt:
            case ast.If():
                state = self._reads([stmt.test], state)
                return _either(self.block(stmt.body, state), self.block(stmt.orelse, state))
            case ast.For() | ast.AsyncFor():
                state = self._reads([stmt.iter], state)
                return self._loop(stmt, state | _bound_in([stmt]))
            case ast.While():
                looped = state | _bound_in([stmt])
                return self._loop(stmt, self._reads([stmt.test], looped))
            case ast.Try() | ast.TryStar():
                return self._try(stmt, state)
            case ast.With() | ast.AsyncWith():
                return self._with(stmt, state)
            case ast.Match():
                return self._match(stmt, state)
            case _:
                return self._simple(stmt, state)

    def _loop(self, stmt: ast.For | ast.AsyncFor | ast.While, state: frozenset[str]) -> _State:
        self.block(stmt.body, state)
        self.block(stmt.orelse, state)
        return state

    def _try(self, stmt: ast.Try | ast.TryStar, state: frozenset[str]) -> _State:
        ends = self.block(stmt.body, state)
        if ends is not None:
            ends = self.block(stmt.orelse, ends)
        failed = state | _bound_in(stmt.body)
        for handler in stmt.handlers:
            entered = failed | {handler.name} if handler.name else failed
            left = self.block(handler.body, entered)
            # Python takes the name of the exception away at the end of its handler.
            if left is not None and handler.name:
                left -= {handler.name}
            ends = _either(ends, left)
        if not stmt.finalbody:
            return ends
        anywhere = failed | _bound_in([*stmt.handlers, *stmt.orelse])
        finished = self.block(stmt.finalbody, anywhere if ends is None else anywhere | ends)
        if ends is None or finished is None:
            return None
        return ends | _bound_in(stmt.finalbody)

    def _with(self, stmt: ast.With | ast.AsyncWith, state: frozenset[str]) -> _State:
        for item in stmt.items:
            state = self._reads([item.context_expr], state)
            if item.optional_vars is not None:
                state |= _bound_in([item.optional_vars])
        self.block(stmt.body, state)
        # A manager may swallow what was raised inside.
        return state | _bound_in(stmt.body)

    def _match(self, stmt: ast.Match, state: frozenset[str]) -> _State:
        state = self._reads([stmt.subject], state)
        ends: _State = state
        for case in stmt.cases:
            entered = state | _bound_in([case.pattern])
            if case.guard is not None:
                entered = self._reads([case.guard], entered)
            ends = _either(ends, self.block(case.body, entered))
        return ends

    def _simple(self, stmt: ast.stmt, state: frozenset[str]) -> _State:
        if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
            self._read(stmt.target, state)
        state = self._reads(_evaluated(stmt), state)
        if isinstance(stmt, ast.Delete):
            gone = {target.id for target in stmt.targets if isinstance(target, ast.Name)}
            for target in stmt.targets:
                self._read(target, state)
            return state - gone
        if isinstance(stmt, ast.Return | ast.Raise | ast.Break | ast.Continue):
            return None
        return state | _bound_in([stmt])

    def _reads(self, nodes: Iterable[ast.AST], state: frozenset[str]) -> frozenset[str]:
        """The state after the expressions, whose reads are judged."""
        nodes = list(nodes)
        # `:=` binds where it stands: what it binds counts from the beginning of the expression.
        state |= _bound_in(nodes)
        for node in nodes:
            for name in _read_now(node):
                self._read(name, state)
        return state

    def _read(self, node: ast.expr, state: frozenset[str]) -> None:
        if isinstance(node, ast.Name) and node.id in self.locals and node.id not in state:
            self.found.append(UnboundRead(node.id, node.lineno))


def _either(first: _State, second: _State) -> _State:
    if first is None or second is None:
        return second if first is None else first
    return first | second


def _evaluated(stmt: ast.stmt) -> Iterator[ast.AST]:
    """What a simple statement evaluates: of a definition its decorators, defaults and bases."""
    match stmt:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from [*stmt.decorator_list, *stmt.args.defaults]
            yield from [default for default in stmt.args.kw_defaults if default is not None]
        case ast.ClassDef():
            yield from [*stmt.decorator_list, *stmt.bases, *stmt.keywords]
        case ast.AnnAssign():
            # Nobody evaluates the annotation of a local.
            yield from [stmt.target, stmt.value] if stmt.value is not None else []
        case ast.Delete():
            yield from [target for target in stmt.targets if not isinstance(target, ast.Name)]
        case _:
            yield stmt


def _read_now(node: ast.AST) -> Iterator[ast.Name]:
    """The names that are read when `node` is evaluated: not those of functions that it makes."""
    if isinstance(node, ast.Lambda):
        for default in (*node.args.defaults, *node.args.kw_defaults):
            yield from _read_now(default) if default is not None else ()
        return
    if isinstance(node, ast.GeneratorExp):
        yield from _read_now(node.generators[0].iter)
        return
    own: set[str] = set()
    if isinstance(node, _COMPREHENSIONS):
        for generator in node.generators:
            own |= {name.id for name in ast.walk(generator.target) if isinstance(name, ast.Name)}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from (name for name in _read_now(child) if name.id not in own)


def _parameters(function: FunctionNode) -> Iterator[str]:
    args = function.args
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if arg is not None:
            yield arg.arg


def _locals_of(function: FunctionNode) -> frozenset[str]:
    """What the function binds and nobody else can: no global, and nothing that a function inside
    may set."""
    shared: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Global | ast.Nonlocal):
            shared.update(node.names)
    declared: set[str] = set()
    for node in _own_nodes(function.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            declared.add(node.target.id)
    return (_bound_in(function.body) | declared) - shared


def _bound_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that the code binds in its own scope."""
    names: set[str] = set()
    for node in _own_nodes(nodes):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=None):
                # A declaration gives no value; its name was stored all the same.
                pass
            case ast.Name(id=name, ctx=ast.Store()):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name):
                names.add(name)
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                names.add(name)
            case ast.MatchStar(name=str() as name) | ast.MatchMapping(rest=str() as name):
                names.add(name)
            case ast.alias():
                names.add(node.asname or node.name.partition(".")[0])
            case _:
                pass
    return frozenset(names)


def _own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """`nodes` and what is in them, without the inside of functions, classes and comprehensions."""
    for node in nodes:
        yield node
        if isinstance(node, ast.AnnAssign) and node.value is None:
            continue
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, ast.comprehension):
            yield from _own_nodes([node.iter, *node.ifs])
            continue
        yield from _own_nodes(ast.iter_child_nodes(node))
