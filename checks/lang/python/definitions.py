"""What a Python file defines: functions, classes, constants and imports, each with its lines."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from checks.lang.ir.expr import Binary, Expr, Sequence
from checks.lang.ir.source_file import Class, Constant, Function, Import, Param, Ranges
from checks.lang.python.expressions import OPERATORS
from checks.lang.python.lower import Statements, end

_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})

_Definition = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class _Scope:
    """Where the walk is: the conditions around it, and the qualified name of its function."""

    prefix: str = ""
    owner: str = ""
    function: str = ""
    enum: bool = False
    guards: tuple[str, ...] = ()

    def under(self, guard: str) -> _Scope:
        return _Scope(self.prefix, self.owner, self.function, self.enum, (*self.guards, guard))


@dataclass
class Definitions:
    """The definitions of one file, in source order. `broken` are the lines that did not parse."""

    path: str
    statements: Statements
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
        start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        last = end(node)
        qualname = f"{scope.prefix}{node.name}"
        broken = tuple(r for r in self.broken if r[0] <= last and start <= r[1])
        self.functions.append(
            Function(
                name=node.name,
                qualname=qualname,
                path=self.path,
                params=self._params(node.args),
                start_line=start,
                end_line=last,
                lower=partial(self.statements.function, node),
                returns=self._text(node.returns),
                owner=scope.owner,
                marks=self._marks(node),
                find_broken=partial(tuple, broken),
                doc=_doc(node),
            )
        )
        inner = _Scope(f"{qualname}.", function=qualname, guards=scope.guards)
        self._block(node.body, inner)

    def _marks(self, node: _Definition) -> tuple[str, ...]:
        marks = tuple([self._text(d) for d in node.decorator_list])
        return (*marks, "async") if isinstance(node, ast.AsyncFunctionDef) else marks

    def _params(self, args: ast.arguments) -> tuple[Param, ...]:
        plain = [*args.posonlyargs, *args.args]
        missing: list[ast.expr | None] = [None] * (len(plain) - len(args.defaults))
        result = [
            self._param(a, d, "positional")
            for a, d in zip(plain, [*missing, *args.defaults], strict=False)
        ]
        if args.vararg:
            result.append(self._param(args.vararg, None, "args"))
        result += [
            self._param(a, d, "keyword")
            for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=False)
        ]
        if args.kwarg:
            result.append(self._param(args.kwarg, None, "kwargs"))
        return tuple(result)

    def _param(self, arg: ast.arg, default: ast.expr | None, kind: str) -> Param:
        value = self.statements.optional(default)
        return Param(arg.arg, self._text(arg.annotation), value, kind, arg.lineno)

    def _class(self, node: ast.ClassDef, scope: _Scope) -> None:
        name = f"{scope.prefix}{node.name}"
        start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        bases = tuple([self._text(b) for b in node.bases])
        decorators = tuple([self._text(d) for d in node.decorator_list])
        self.classes.append(Class(name, bases, self.path, start, end(node), decorators))
        enum = any(b.rsplit(".", 1)[-1] in self._enums for b in bases)
        if enum:
            self._enums.add(node.name)
        self._block(node.body, _Scope(f"{name}.", name, "", enum, scope.guards))

    def _assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, scope: _Scope) -> None:
        if scope.function:
            return
        kind = ("enum" if scope.enum else "field") if scope.owner else "assign"
        for target, value, type_ in self._values(node):
            if isinstance(target, ast.Name):
                self.constants.append(
                    Constant(
                        target.id, value, self.path, target.lineno, kind, scope.owner, type=type_
                    )
                )

    def _values(
        self, node: ast.Assign | ast.AnnAssign | ast.AugAssign
    ) -> list[tuple[ast.expr, Expr | None, str]]:
        """(target, value, annotation) of each name that `node` sets."""
        lower = self.statements.expressions.lower
        if isinstance(node, ast.AnnAssign):
            value = self.statements.optional(node.value)
            return [(node.target, value, self._text(node.annotation))]
        if isinstance(node, ast.AugAssign):
            # `X += 1`: a second definition of X, so that no reader takes the first for its value.
            op = OPERATORS[type(node.op)]
            changed = Binary(op, lower(node.target), lower(node.value), line=node.lineno)
            return [(node.target, changed, "")]
        value = lower(node.value)
        return [pair for target in node.targets for pair in _spread(target, value)]

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


def _spread(target: ast.expr, value: Expr) -> list[tuple[ast.expr, Expr | None, str]]:
    """`A, B = 1, 2` taken apart; a value that cannot be taken apart is not known."""
    if not isinstance(target, ast.Tuple | ast.List):
        return [(target, value, "")]
    if isinstance(value, Sequence) and len(value.items) == len(target.elts):
        pairs = zip(target.elts, value.items, strict=True)
        return [part for t, v in pairs for part in _spread(t, v)]
    return [(t, None, "") for t in target.elts]


def _doc(node: _Definition) -> str:
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        value = first.value.value
        return value.strip() if isinstance(value, str) else ""
    return ""


_HANDLERS: dict[type[ast.stmt], Callable[..., None]] = {
    ast.FunctionDef: Definitions._function,
    ast.AsyncFunctionDef: Definitions._function,
    ast.ClassDef: Definitions._class,
    ast.Import: Definitions._import,
    ast.ImportFrom: Definitions._import_from,
    ast.Assign: Definitions._assignment,
    ast.AnnAssign: Definitions._assignment,
    ast.AugAssign: Definitions._assignment,
    ast.If: Definitions._branches,
    ast.Try: Definitions._try,
    ast.TryStar: Definitions._try,
    ast.For: Definitions._loop,
    ast.AsyncFor: Definitions._loop,
    ast.While: Definitions._loop,
    ast.With: Definitions._with,
    ast.AsyncWith: Definitions._with,
    ast.Match: Definitions._match,
}
