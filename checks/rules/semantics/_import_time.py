"""What a Python file binds for certain, and what it evaluates, while it is imported."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LAZY_ANNOTATIONS = "annotations"
_BUILTINS = frozenset(dir(builtins))
_LEAVING = (ast.Raise, ast.Return)

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class PossibleBinding:
    """A name that only some ways through the file bind.

    `condition` is the test of the `if` around it, or empty where a `try` may pass over it.
    """

    name: str
    line: int
    condition: str


def possible_bindings(tree: ast.Module) -> dict[str, PossibleBinding]:
    """The names that the file binds on some ways only; none where `*` may bind anything."""
    if any(isinstance(node, ast.ImportFrom) and _binds_all(node) for node in ast.walk(tree)):
        return {}
    certain = _certain_names(tree.body)
    possible: dict[str, PossibleBinding] = {}
    for binding in _conditional(tree.body):
        if binding.name not in certain and binding.name not in _BUILTINS:
            possible.setdefault(binding.name, binding)
    return possible


def _binds_all(node: ast.ImportFrom) -> bool:
    return any(alias.name == "*" for alias in node.names)


def _conditional(body: Sequence[ast.stmt]) -> Iterator[PossibleBinding]:
    """What stands under an `if` or in a `try` of the file itself."""
    for stmt in body:
        match stmt:
            case ast.If(test=test, body=then, orelse=orelse):
                for name, line in _names_bound([*then, *orelse]):
                    yield PossibleBinding(name, line, ast.unparse(test))
            case ast.Try(body=tried, orelse=orelse):
                for name, line in _names_bound([*tried, *orelse]):
                    yield PossibleBinding(name, line, "")
            case ast.With(body=inner):
                yield from _conditional(inner)


def _names_bound(body: Sequence[ast.stmt]) -> Iterator[tuple[str, int]]:
    """(name, line) of what the statements bind on one way or another."""
    for stmt in body:
        for name in _binds_itself(stmt):
            yield name, stmt.lineno
        for inner in _bodies(stmt):
            yield from _names_bound(inner)


def _certain_names(body: Sequence[ast.stmt]) -> set[str]:
    """What is bound however the statements are gone through to their end."""
    certain: set[str] = set()
    for stmt in body:
        certain |= _binds_itself(stmt)
        match stmt:
            case ast.If(body=then, orelse=orelse):
                certain |= _common_names([then, orelse])
            case ast.Try(body=tried, orelse=orelse, handlers=handlers, finalbody=last):
                ways = [[*tried, *orelse], *[handler.body for handler in handlers]]
                certain |= _common_names(ways) | _certain_names(last)
            case _:
                # A loop that binds runs, as far as anybody can tell.
                for inner in _bodies(stmt):
                    certain |= _certain_names(inner)
    return certain


def _common_names(ways: Sequence[Sequence[ast.stmt]]) -> set[str]:
    """What every way binds that goes on to the next statement."""
    going_on = [way for way in ways if not _leaves(way)]
    return set.intersection(*map(_certain_names, going_on)) if going_on else set()


def _leaves(body: Sequence[ast.stmt]) -> bool:
    """Whether nothing after the statements is reached."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return ast.unparse(last.value.func) in ("sys.exit", "exit", "os._exit")
    return isinstance(last, _LEAVING)


def _binds_itself(stmt: ast.stmt) -> set[str]:
    """The names that a statement binds, without those that its parts do."""
    match stmt:
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {alias.asname or alias.name.partition(".")[0] for alias in names}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Assign(targets=targets):
            return {name for target in targets for name in _stored(target)}
        case ast.AnnAssign(target=target, value=ast.expr()):
            return _stored(target)
        case ast.For(target=target):
            return _stored(target)
        case ast.With(items=items):
            return {name for item in items for name in _stored(item.optional_vars)}
        case _:
            return set()


def _stored(target: ast.expr | None) -> set[str]:
    if target is None:
        return set()
    names = [node for node in ast.walk(target) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


def _bodies(stmt: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement that belong to the same scope."""
    match stmt:
        case ast.If() | ast.For() | ast.While():
            yield stmt.body
            yield stmt.orelse
        case ast.With():
            yield stmt.body
        case ast.Try():
            yield stmt.body
            for handler in stmt.handlers:
                yield handler.body
            yield stmt.orelse
            yield stmt.finalbody


def names_needed(tree: ast.Module) -> Iterator[ast.Name]:
    """The names that are read whenever the file is imported, whatever its conditions say."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    lazy = any(
        node.module == "__future__" and any(alias.name == _LAZY_ANNOTATIONS for alias in node.names)
        for node in imports
    )
    yield from _needed(tree.body, frozenset(), lazy=lazy)


def _needed(body: Sequence[ast.stmt], own: frozenset[str], *, lazy: bool) -> Iterator[ast.Name]:
    """What the statements read; `own` are the names of the class around them."""
    for stmt in body:
        for expr in _evaluated(stmt, lazy=lazy):
            for name in _names_read(expr):
                if name.id not in own:
                    yield name
        if isinstance(stmt, ast.ClassDef):
            inside = own | {name for name, _ in _names_bound(stmt.body)}
            yield from _needed(stmt.body, inside, lazy=lazy)


def _evaluated(stmt: ast.stmt, *, lazy: bool) -> Iterator[ast.expr]:
    """The expressions of a statement that are worked out when it is reached."""
    match stmt:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from stmt.decorator_list
            yield from stmt.args.defaults
            yield from [default for default in stmt.args.kw_defaults if default is not None]
            if not lazy:
                yield from _annotations(stmt)
        case ast.ClassDef():
            yield from stmt.bases
            yield from stmt.decorator_list
            yield from [keyword.value for keyword in stmt.keywords]
        case ast.AnnAssign(annotation=annotation, value=value):
            if not lazy:
                yield annotation
            if value is not None:
                yield value
        case ast.Assign(value=value) | ast.Expr(value=value):
            yield value


def _annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.expr]:
    args = function.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    yield from [arg.annotation for arg in every if arg is not None and arg.annotation is not None]
    if function.returns is not None:
        yield function.returns


def _names_read(expr: ast.expr) -> Iterator[ast.Name]:
    """The names that an expression reads for certain: no body of a `lambda`, and nothing that a
    condition may leave out."""
    match expr:
        case ast.Name(ctx=ast.Load()):
            yield expr
        case ast.Lambda() | ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            return
        case ast.IfExp(test=test):
            yield from _names_read(test)
        case ast.BoolOp(values=values):
            yield from _names_read(values[0])
        case _:
            for child in ast.iter_child_nodes(expr):
                if isinstance(child, ast.expr):
                    yield from _names_read(child)
                elif isinstance(child, ast.keyword):
                    yield from _names_read(child.value)
