"""What a Python file defines: functions, classes, constants and imports, each with its lines."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from checks.lang.ir.expr import Binary, Expr, Sequence
from checks.lang.ir.source_file import Class, Constant, Function, Import, Param, Ranges
from checks.lang.python.expressions import OPERATORS
from checks.lang.python.statements import PythonStatements, docstring, end_line

_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where the walk is.

    `prefix` goes before a name to make it a qualified one, `owner` is the class and `function` the
    qualified name of the function around, `guards` are the conditions.
    """

    prefix: str = ""
    owner: str = ""
    function: str = ""
    enum: bool = False
    guards: tuple[str, ...] = ()

    def under(self, guard: str) -> _Scope:
        """The same scope under one more condition."""
        return replace(self, guards=(*self.guards, guard))


@dataclass
class PythonDefinitions:
    """The definitions of one file, in source order. `broken` are the lines that did not parse."""

    path: str
    statements: PythonStatements
    broken: Ranges = ()
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    _enums: set[str] = field(default_factory=lambda: set(_ENUMS))

    def collect(self, module: ast.Module) -> None:
        """Walk `module` and fill the lists."""
        self._block(module.body, _Scope())

    def _block(self, nodes: list[ast.stmt], scope: _Scope) -> None:
        for stmt in nodes:
            handler = _HANDLERS.get(type(stmt))
            if handler is not None:
                handler(self, stmt, scope)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, scope: _Scope) -> None:
        self._block(node.body, scope)
        self._block(node.orelse, scope)

    def _with(self, node: ast.With | ast.AsyncWith, scope: _Scope) -> None:
        self._block(node.body, scope)

    def _match(self, node: ast.Match, scope: _Scope) -> None:
        for case in node.cases:
            self._block(case.body, scope)

    def _branches(self, node: ast.If, scope: _Scope) -> None:
        """The arms of `if ... elif ... else`, without recursion: each `elif` nests one deeper."""
        while True:
            test = self._text(node.test)
            self._block(node.body, scope.under(test))
            scope = scope.under(f"not ({test})")
            match node.orelse:
                case [ast.If() as node]:
                    continue
                case rest:
                    self._block(rest, scope)
                    return

    def _try(self, node: ast.Try | ast.TryStar, scope: _Scope) -> None:
        self._block(node.body, scope.under("try"))
        for handler in node.handlers:
            kind = f" {self._text(handler.type)}" if handler.type is not None else ""
            self._block(handler.body, scope.under(f"except{kind}"))
        self._block(node.orelse, scope.under("try"))
        self._block(node.finalbody, scope)

    def _function(self, node: _Definition, scope: _Scope) -> None:
        start, last = _start_line(node), end_line(node)
        qualname = f"{scope.prefix}{node.name}"
        broken = tuple([lines for lines in self.broken if lines[0] <= last and start <= lines[1]])
        self.functions.append(
            Function(
                name=node.name,
                qualname=qualname,
                path=self.path,
                params=self._params(node.args),
                start_line=start,
                end_line=last,
                lower=partial(self.statements.lower_function, node),
                returns=self._text(node.returns),
                owner=scope.owner,
                marks=self._marks(node),
                find_broken=lambda: broken,
                doc=(docstring(node) or "").strip(),
            )
        )
        inner = _Scope(f"{qualname}.", function=qualname, guards=scope.guards)
        self._block(node.body, inner)

    def _marks(self, node: _Definition) -> tuple[str, ...]:
        marks = [self._text(decorator) for decorator in node.decorator_list]
        if isinstance(node, ast.AsyncFunctionDef):
            marks.append("async")
        return tuple(marks)

    def _params(self, args: ast.arguments) -> tuple[Param, ...]:
        params: list[Param] = []
        positional = [*args.posonlyargs, *args.args]
        # The defaults are those of the last parameters.
        without_default = len(positional) - len(args.defaults)
        defaults: list[ast.expr | None] = [*[None] * without_default, *args.defaults]
        for arg, default in zip(positional, defaults, strict=True):
            params.append(self._param(arg, default, "positional"))
        if args.vararg:
            params.append(self._param(args.vararg, None, "args"))
        for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            params.append(self._param(arg, default, "keyword"))
        if args.kwarg:
            params.append(self._param(args.kwarg, None, "kwargs"))
        return tuple(params)

    def _param(self, arg: ast.arg, default: ast.expr | None, kind: str) -> Param:
        value = self.statements.expressions.lower_optional(default)
        return Param(arg.arg, self._text(arg.annotation), value, kind, arg.lineno)

    def _class(self, node: ast.ClassDef, scope: _Scope) -> None:
        name = f"{scope.prefix}{node.name}"
        bases = tuple([self._text(base) for base in node.bases])
        decorators = tuple([self._text(decorator) for decorator in node.decorator_list])
        start, last = _start_line(node), end_line(node)
        self.classes.append(Class(name, bases, self.path, start, last, decorators))
        enum = any(base.rsplit(".", 1)[-1] in self._enums for base in bases)
        if enum:
            self._enums.add(node.name)
        self._block(node.body, _Scope(f"{name}.", name, "", enum, scope.guards))

    def _assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: _Scope) -> None:
        if scope.function:
            return
        kind = "assign"
        if scope.owner:
            kind = "enum" if scope.enum else "field"
        for target, value, annotation in self._values(node):
            if isinstance(target, ast.Name):
                name, line = target.id, target.lineno
                self.constants.append(
                    Constant(name, value, self.path, line, kind, scope.owner, type=annotation)
                )

    def _values(
        self, node: ast.Assign | ast.AnnAssign | ast.AugAssign
    ) -> list[tuple[ast.expr, Expr | None, str]]:
        """(target, value, annotation) of each name that `node` sets."""
        lower = self.statements.expressions.lower
        if isinstance(node, ast.AnnAssign):
            value = self.statements.expressions.lower_optional(node.value)
            return [(node.target, value, self._text(node.annotation))]
        if isinstance(node, ast.AugAssign):
            # `X += 1`: a second definition of X, so that no reader takes the first for its value.
            op = OPERATORS[type(node.op)]
            changed = Binary(op, lower(node.target), lower(node.value), line=node.lineno)
            return [(node.target, changed, "")]
        value = lower(node.value)
        values: list[tuple[ast.expr, Expr | None, str]] = []
        for target in node.targets:
            values += [(part, part_value, "") for part, part_value in _unpack(target, value)]
        return values

    def _import(self, node: ast.Import, scope: _Scope) -> None:
        guard = " and ".join(scope.guards)
        for alias in node.names:
            self.imports.append(
                Import(alias.name, "", alias.asname or "", node.lineno, guard, scope.function)
            )

    def _import_from(self, node: ast.ImportFrom, scope: _Scope) -> None:
        module = "." * node.level + (node.module or "")
        guard = " and ".join(scope.guards)
        for alias in node.names:
            self.imports.append(
                Import(module, alias.name, alias.asname or "", node.lineno, guard, scope.function)
            )

    def _text(self, node: ast.expr | None) -> str:
        return "" if node is None else self.statements.source.segment(node)


def _unpack(target: ast.expr, value: Expr) -> list[tuple[ast.expr, Expr | None]]:
    """`A, B = 1, 2` taken apart; a value that cannot be taken apart is not known."""
    if not isinstance(target, ast.Tuple | ast.List):
        return [(target, value)]
    if not isinstance(value, Sequence) or len(value.items) != len(target.elts):
        return [(part, None) for part in target.elts]
    pairs: list[tuple[ast.expr, Expr | None]] = []
    for part, part_value in zip(target.elts, value.items, strict=True):
        pairs += _unpack(part, part_value)
    return pairs


def _start_line(node: _Definition | ast.ClassDef) -> int:
    """Where a definition begins: at its first decorator, if it has one."""
    return min([node.lineno, *[decorator.lineno for decorator in node.decorator_list]])


_HANDLERS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.FunctionDef: PythonDefinitions._function,
    ast.AsyncFunctionDef: PythonDefinitions._function,
    ast.ClassDef: PythonDefinitions._class,
    ast.Import: PythonDefinitions._import,
    ast.ImportFrom: PythonDefinitions._import_from,
    ast.Assign: PythonDefinitions._assignment,
    ast.AnnAssign: PythonDefinitions._assignment,
    ast.AugAssign: PythonDefinitions._assignment,
    ast.If: PythonDefinitions._branches,
    ast.Try: PythonDefinitions._try,
    ast.TryStar: PythonDefinitions._try,
    ast.For: PythonDefinitions._loop,
    ast.AsyncFor: PythonDefinitions._loop,
    ast.While: PythonDefinitions._loop,
    ast.With: PythonDefinitions._with,
    ast.AsyncWith: PythonDefinitions._with,
    ast.Match: PythonDefinitions._match,
}
