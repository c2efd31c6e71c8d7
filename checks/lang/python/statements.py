"""Python statements (`ast`) to the common statement language.

Python's own forms that it has no node for: `del x` and `global x` are calls of `del` and `global`;
an import and `pass` are a `Jump("pass")` (imports stand in the unit); `a = b = v` is two
assignments; `with c as x` assigns `c.__enter__()`; the `else` of a loop follows it, under an
unknown condition where the loop has a `break`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from itertools import chain

from checks.lang.ir.expr import Attr, Call, Const, Expr, Name, Unary, Unknown, dotted, walk
from checks.lang.ir.stmt import (
    Assert,
    Assign,
    Define,
    ExprStmt,
    For,
    If,
    Jump,
    Opaque,
    Raise,
    Return,
    Stmt,
    With,
)
from checks.lang.python.expressions import OPERATORS, PythonExpressions
from checks.lang.python.patterns import MatchCases
from checks.lang.python.text import SourceText

DEEPEST = 60
# Loops of this shape count; Triton's are compiled to the same thing.
_RANGES = frozenset({"range", "xrange", "tl.range", "tl.static_range"})

Stmts = tuple[Stmt, ...]


class PythonStatements:
    """Lowers the statements of one file.

    `broken` maps a line to the original text of a statement that did not parse there and was
    replaced, so that it stays an `Opaque` (or an unknown condition) and not what replaced it.
    """

    def __init__(self, source: SourceText, broken: Mapping[int, str]) -> None:
        self.source = source
        self.expressions = PythonExpressions(source)
        self.broken = broken
        self._depth = 0

    def lower_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Stmts:
        """The body, without its docstring."""
        has_docstring = docstring(node) is not None
        return self.lower_block(node.body[1:] if has_docstring else node.body)

    def lower_block(self, nodes: list[ast.stmt]) -> Stmts:
        """The statements at `nodes`, in order."""
        statements: list[Stmt] = []
        for node in nodes:
            statements += self.lower_stmt(node)
        return tuple(statements)

    def lower_stmt(self, node: ast.stmt) -> Stmts:
        """`node` lowered, after the assignments that its expressions make."""
        handler = _HANDLERS.get(type(node))
        replaced = self.broken.get(node.lineno)
        stands_in = replaced is not None and replaced != "" and isinstance(node, ast.Pass)
        if handler is None or self._depth >= DEEPEST or stands_in:
            text = replaced or self.source.segment(node)
            return (Opaque(text, line=node.lineno, end_line=end_line(node)),)
        outer, self.expressions.hoisted = self.expressions.hoisted, []
        self._depth += 1
        try:
            lowered = handler(self, node)
            return (*self.expressions.hoisted, *lowered)
        finally:
            self._depth -= 1
            self.expressions.hoisted = outer

    def _test(self, node: ast.expr) -> Expr:
        """A condition, unknown where its line did not parse."""
        text = self.broken.get(node.lineno)
        return self.expressions.lower(node) if text is None else Unknown(text, line=node.lineno)

    def _assign(self, node: ast.Assign) -> Stmts:
        value = self.expressions.lower(node.value)
        has_call = any(isinstance(part, Call) for part in walk(value))
        result: list[Stmt] = []
        for target in node.targets:
            place = self.expressions.lower(target)
            result.append(Assign(place, "=", value, line=node.lineno, end_line=end_line(node)))
            # What is called once must not look as if it were called for each target.
            if has_call:
                value = place
        return tuple(result)

    def _annotated_assign(self, node: ast.AnnAssign) -> Stmts:
        target, value = (
            self.expressions.lower(node.target),
            self.expressions.lower_optional(node.value),
        )
        kind = self.source.segment(node.annotation)
        return (Assign(target, "=", value, kind, line=node.lineno, end_line=end_line(node)),)

    def _augmented_assign(self, node: ast.AugAssign) -> Stmts:
        op = OPERATORS[type(node.op)] + "="
        target, value = self.expressions.lower(node.target), self.expressions.lower(node.value)
        return (Assign(target, op, value, line=node.lineno, end_line=end_line(node)),)

    def _expression(self, node: ast.Expr) -> Stmts:
        return (
            ExprStmt(self.expressions.lower(node.value), line=node.lineno, end_line=end_line(node)),
        )

    def _return(self, node: ast.Return) -> Stmts:
        return (
            Return(
                self.expressions.lower_optional(node.value),
                line=node.lineno,
                end_line=end_line(node),
            ),
        )

    def _raise(self, node: ast.Raise) -> Stmts:
        return (
            Raise(
                self.expressions.lower_optional(node.exc), line=node.lineno, end_line=end_line(node)
            ),
        )

    def _assert(self, node: ast.Assert) -> Stmts:
        test = self.expressions.lower(node.test)
        return (Assert(test, "assert", line=node.lineno, end_line=end_line(node)),)

    def _jump(self, node: ast.stmt) -> Stmts:
        kind = {ast.Break: "break", ast.Continue: "continue"}.get(type(node), "pass")
        return (Jump(kind, line=node.lineno, end_line=end_line(node)),)

    def _delete(self, node: ast.Delete) -> Stmts:
        call = Call(Name("del"), self.expressions.lower_each(node.targets), line=node.lineno)
        return (ExprStmt(call, line=node.lineno, end_line=end_line(node)),)

    def _global(self, node: ast.Global | ast.Nonlocal) -> Stmts:
        word = Name("global" if isinstance(node, ast.Global) else "nonlocal")
        call = Call(word, tuple([Name(name) for name in node.names]), line=node.lineno)
        return (ExprStmt(call, line=node.lineno, end_line=end_line(node)),)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Stmts:
        return (Define(node.name, line=node.lineno, end_line=end_line(node)),)

    def _if(self, node: ast.If) -> Stmts:
        test = self._test(node.test)
        then, orelse = self.lower_block(node.body), self.lower_block(node.orelse)
        return (If(test, then, orelse, line=node.lineno, end_line=end_line(node)),)

    def _for(self, node: ast.For | ast.AsyncFor) -> Stmts:
        target, iterable = self.expressions.lower(node.target), self.expressions.lower(node.iter)
        body = self.lower_block(node.body)
        line, last = node.lineno, end_line(node)
        counts = _range(iterable)
        if counts is None:
            loop = For(target, body, iterable=iterable, line=line, end_line=last)
        else:
            loop = For(target, body, *counts, line=line, end_line=last)
        return (loop, *self._loop_else(node))

    def _while(self, node: ast.While) -> Stmts:
        test = self._test(node.test)
        again = tuple(self.expressions.hoisted)
        body = (*again, *self.lower_block(node.body))
        # `while x := f()` sets x before each test: once before the loop, again in each turn.
        loop = For(None, body, test=test, line=node.lineno, end_line=end_line(node))
        return (loop, *self._loop_else(node))

    def _loop_else(self, node: ast.For | ast.AsyncFor | ast.While) -> Stmts:
        """The `else` of a loop, which runs unless the loop ended in a `break`."""
        rest = self.lower_block(node.orelse)
        if not rest or not _has_break(node.body):
            return rest
        line = node.orelse[0].lineno
        return (If(Unknown("else", line=line), rest, line=line, end_line=end_line(node)),)

    def _with(self, node: ast.With | ast.AsyncWith) -> Stmts:
        items: list[Expr] = []
        bound: list[Stmt] = []
        for item in node.items:
            context = self.expressions.lower(item.context_expr)
            items.append(context)
            if item.optional_vars is not None:
                target = self.expressions.lower(item.optional_vars)
                value = Call(Attr(context, "__enter__"), line=node.lineno)
                bound.append(Assign(target, "=", value, line=node.lineno, end_line=node.lineno))
        body = (*bound, *self.lower_block(node.body))
        return (With("with", body, items=tuple(items), line=node.lineno, end_line=end_line(node)),)

    def _try(self, node: ast.Try | ast.TryStar) -> Stmts:
        """`items` are the exceptions that are caught, `parts` the handlers and then `finally`."""
        body = (*self.lower_block(node.body), *self.lower_block(node.orelse))
        parts = [self.lower_block(handler.body) for handler in node.handlers]
        if node.finalbody:
            parts.append(self.lower_block(node.finalbody))
        caught = [handler.type for handler in node.handlers if handler.type is not None]
        items = self.expressions.lower_each(caught)
        has_final = bool(node.finalbody)
        last = end_line(node)
        return (With("try", body, tuple(parts), items, has_final, line=node.lineno, end_line=last),)

    def _match(self, node: ast.Match) -> Stmts:
        subject = self.expressions.lower(node.subject)
        cases = MatchCases(self.expressions, subject)
        rest: Stmts = ()
        for case in reversed(node.cases):
            test, bound = cases.case(case)
            body = (*bound, *self.lower_block(case.body))
            if test is None:
                rest = body
            else:
                line, last = case.pattern.lineno, end_line(case.body[-1])
                rest = (If(test, body, rest, line=line, end_line=last),)
        return rest


def end_line(node: ast.stmt) -> int:
    """The last line of `node`."""
    return node.end_lineno or node.lineno


def docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """The docstring as written, None where there is none."""
    first = node.body[0]
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return None
    value = first.value.value
    return value if isinstance(value, str) else None


def _has_break(body: list[ast.stmt]) -> bool:
    """Whether there is a `break` in `body`, be it of a loop inside it."""
    nodes = chain.from_iterable(map(ast.walk, body))
    return any(isinstance(node, ast.Break) for node in nodes)


def _range(iterable: Expr) -> tuple[Expr, Expr, Expr] | None:
    """(start, stop, step) of a call of `range`, None for anything else."""
    if not isinstance(iterable, Call) or dotted(iterable.func) not in _RANGES:
        return None
    zero, one = Const(0, line=iterable.line), Const(1, line=iterable.line)
    # `range(*bounds)`
    if any(map(_is_star, iterable.args)):
        return None
    match iterable.args:
        case (stop,):
            return zero, stop, one
        case (start, stop):
            return start, stop, one
        case (start, stop, step):
            return start, stop, step
    return None


def _is_star(argument: Expr) -> bool:
    return isinstance(argument, Unary) and argument.op == "*"


_HANDLERS: dict[type[ast.stmt], Callable[..., Stmts]] = {
    ast.Assign: PythonStatements._assign,
    ast.AnnAssign: PythonStatements._annotated_assign,
    ast.AugAssign: PythonStatements._augmented_assign,
    ast.Expr: PythonStatements._expression,
    ast.Return: PythonStatements._return,
    ast.Raise: PythonStatements._raise,
    ast.Assert: PythonStatements._assert,
    ast.Break: PythonStatements._jump,
    ast.Continue: PythonStatements._jump,
    ast.Pass: PythonStatements._jump,
    ast.Import: PythonStatements._jump,
    ast.ImportFrom: PythonStatements._jump,
    ast.Delete: PythonStatements._delete,
    ast.Global: PythonStatements._global,
    ast.Nonlocal: PythonStatements._global,
    ast.FunctionDef: PythonStatements._define,
    ast.AsyncFunctionDef: PythonStatements._define,
    ast.ClassDef: PythonStatements._define,
    ast.If: PythonStatements._if,
    ast.For: PythonStatements._for,
    ast.AsyncFor: PythonStatements._for,
    ast.While: PythonStatements._while,
    ast.With: PythonStatements._with,
    ast.AsyncWith: PythonStatements._with,
    ast.Try: PythonStatements._try,
    ast.TryStar: PythonStatements._try,
    ast.Match: PythonStatements._match,
}
