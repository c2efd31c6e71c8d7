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
from checks.lang.python.expressions import OPERATORS, Expressions
from checks.lang.python.patterns import Cases
from checks.lang.python.text import Source

DEEPEST = 60
# Loops of this shape count; Triton's are compiled to the same thing.
_RANGES = frozenset({"range", "xrange", "tl.range", "tl.static_range"})

Body = tuple[Stmt, ...]


class Statements:
    """Lowers the statements of one file.

    `broken` maps a line to the original text of a statement that did not parse there and was
    replaced, so that it stays an `Opaque` (or an unknown condition) and not what replaced it.
    """

    def __init__(self, source: Source, broken: Mapping[int, str]) -> None:
        self.source = source
        self.expressions = Expressions(source)
        self.broken = broken
        self._depth = 0

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Body:
        """The body, without its docstring."""
        body = node.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:] if isinstance(body[0].value.value, str) else body
        return self.block(body)

    def block(self, nodes: list[ast.stmt]) -> Body:
        return tuple(chain.from_iterable([self.statement(node) for node in nodes]))

    def statement(self, node: ast.stmt) -> Body:
        """`node` lowered, after the assignments that its expressions make."""
        handler = _HANDLERS.get(type(node))
        replaced = self.broken.get(node.lineno)
        if handler is None or self._depth >= DEEPEST or (replaced and isinstance(node, ast.Pass)):
            text = replaced or self.source.segment(node)
            return (Opaque(text, line=node.lineno, end_line=end(node)),)
        outer, self.expressions.hoisted = self.expressions.hoisted, []
        self._depth += 1
        try:
            lowered = handler(self, node)
            return (*self.expressions.hoisted, *lowered)
        finally:
            self._depth -= 1
            self.expressions.hoisted = outer

    def optional(self, node: ast.expr | None) -> Expr | None:
        return None if node is None else self.expressions.lower(node)

    def test(self, node: ast.expr) -> Expr:
        """A condition, unknown where its line did not parse."""
        text = self.broken.get(node.lineno)
        return self.expressions.lower(node) if text is None else Unknown(text, line=node.lineno)

    def assign(self, node: ast.Assign) -> Body:
        value = self.expressions.lower(node.value)
        calls = len(node.targets) > 1 and any(isinstance(e, Call) for e in walk(value))
        result: list[Stmt] = []
        for target in node.targets:
            place = self.expressions.lower(target)
            result.append(Assign(place, "=", value, line=node.lineno, end_line=end(node)))
            # What is called once must not look as if it were called for each target.
            value = place if calls else value
        return tuple(result)

    def annotated(self, node: ast.AnnAssign) -> Body:
        target, value = self.expressions.lower(node.target), self.optional(node.value)
        kind = self.source.segment(node.annotation)
        return (Assign(target, "=", value, kind, line=node.lineno, end_line=end(node)),)

    def augmented(self, node: ast.AugAssign) -> Body:
        op = OPERATORS[type(node.op)] + "="
        target, value = self.expressions.lower(node.target), self.expressions.lower(node.value)
        return (Assign(target, op, value, line=node.lineno, end_line=end(node)),)

    def expression(self, node: ast.Expr) -> Body:
        return (ExprStmt(self.expressions.lower(node.value), line=node.lineno, end_line=end(node)),)

    def returned(self, node: ast.Return) -> Body:
        return (Return(self.optional(node.value), line=node.lineno, end_line=end(node)),)

    def raised(self, node: ast.Raise) -> Body:
        return (Raise(self.optional(node.exc), line=node.lineno, end_line=end(node)),)

    def asserted(self, node: ast.Assert) -> Body:
        test = self.expressions.lower(node.test)
        return (Assert(test, "assert", line=node.lineno, end_line=end(node)),)

    def jump(self, node: ast.stmt) -> Body:
        kind = {ast.Break: "break", ast.Continue: "continue"}.get(type(node), "pass")
        return (Jump(kind, line=node.lineno, end_line=end(node)),)

    def deleted(self, node: ast.Delete) -> Body:
        call = Call(Name("del"), self.expressions.each(node.targets), line=node.lineno)
        return (ExprStmt(call, line=node.lineno, end_line=end(node)),)

    def scoped(self, node: ast.Global | ast.Nonlocal) -> Body:
        word = Name("global" if isinstance(node, ast.Global) else "nonlocal")
        call = Call(word, tuple([Name(name) for name in node.names]), line=node.lineno)
        return (ExprStmt(call, line=node.lineno, end_line=end(node)),)

    def defined(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Body:
        return (Define(node.name, line=node.lineno, end_line=end(node)),)

    def branch(self, node: ast.If) -> Body:
        test = self.test(node.test)
        then, orelse = self.block(node.body), self.block(node.orelse)
        return (If(test, then, orelse, line=node.lineno, end_line=end(node)),)

    def loop(self, node: ast.For | ast.AsyncFor) -> Body:
        target, iterable = self.expressions.lower(node.target), self.expressions.lower(node.iter)
        body = self.block(node.body)
        line, last = node.lineno, end(node)
        ends = _range(iterable)
        if ends is None:
            loop = For(target, body, iterable=iterable, line=line, end_line=last)
        else:
            loop = For(target, body, *ends, line=line, end_line=last)
        return (loop, *self._after(node))

    def repeat(self, node: ast.While) -> Body:
        test = self.test(node.test)
        again = tuple(self.expressions.hoisted)
        body = (*again, *self.block(node.body))
        # `while x := f()` sets x before each test: once before the loop, again in each turn.
        loop = For(None, body, test=test, line=node.lineno, end_line=end(node))
        return (loop, *self._after(node))

    def _after(self, node: ast.For | ast.AsyncFor | ast.While) -> Body:
        rest = self.block(node.orelse)
        if not rest or not any(isinstance(n, ast.Break) for s in node.body for n in ast.walk(s)):
            return rest
        line = node.orelse[0].lineno
        return (If(Unknown("else", line=line), rest, line=line, end_line=end(node)),)

    def within(self, node: ast.With | ast.AsyncWith) -> Body:
        items: list[Expr] = []
        bound: list[Stmt] = []
        for item in node.items:
            context = self.expressions.lower(item.context_expr)
            items.append(context)
            if item.optional_vars is not None:
                target = self.expressions.lower(item.optional_vars)
                value = Call(Attr(context, "__enter__"), line=node.lineno)
                bound.append(Assign(target, "=", value, line=node.lineno, end_line=node.lineno))
        body = (*bound, *self.block(node.body))
        return (With("with", body, items=tuple(items), line=node.lineno, end_line=end(node)),)

    def attempt(self, node: ast.Try | ast.TryStar) -> Body:
        """`items` are the exceptions that are caught, `parts` the handlers and then `finally`."""
        body = (*self.block(node.body), *self.block(node.orelse))
        parts = [self.block(handler.body) for handler in node.handlers]
        if node.finalbody:
            parts.append(self.block(node.finalbody))
        caught = tuple(
            [self.expressions.lower(h.type) for h in node.handlers if h.type is not None]
        )
        return (With("try", body, tuple(parts), caught, line=node.lineno, end_line=end(node)),)

    def match(self, node: ast.Match) -> Body:
        subject = self.expressions.lower(node.subject)
        cases = Cases(self.expressions, subject)
        rest: Body = ()
        for case in reversed(node.cases):
            test, bound = cases.case(case)
            body = (*bound, *self.block(case.body))
            if test is None:
                rest = body
            else:
                line, last = case.pattern.lineno, end(case.body[-1])
                rest = (If(test, body, rest, line=line, end_line=last),)
        return rest


def end(node: ast.stmt) -> int:
    """The last line of `node`."""
    return node.end_lineno or node.lineno


def _range(iterable: Expr) -> tuple[Expr, Expr, Expr] | None:
    """(start, stop, step) of a call of `range`, None for anything else."""
    if not isinstance(iterable, Call) or dotted(iterable.func) not in _RANGES:
        return None
    zero, one = Const(0, line=iterable.line), Const(1, line=iterable.line)
    match iterable.args:
        case (stop,) if not _is_star(stop):
            return zero, stop, one
        case (start, stop) if not (_is_star(start) or _is_star(stop)):
            return start, stop, one
        case (start, stop, step) if not any(map(_is_star, iterable.args)):
            return start, stop, step
    return None


def _is_star(argument: Expr) -> bool:
    return isinstance(argument, Unary) and argument.op == "*"


_HANDLERS: dict[type[ast.stmt], Callable[..., Body]] = {
    ast.Assign: Statements.assign,
    ast.AnnAssign: Statements.annotated,
    ast.AugAssign: Statements.augmented,
    ast.Expr: Statements.expression,
    ast.Return: Statements.returned,
    ast.Raise: Statements.raised,
    ast.Assert: Statements.asserted,
    ast.Break: Statements.jump,
    ast.Continue: Statements.jump,
    ast.Pass: Statements.jump,
    ast.Import: Statements.jump,
    ast.ImportFrom: Statements.jump,
    ast.Delete: Statements.deleted,
    ast.Global: Statements.scoped,
    ast.Nonlocal: Statements.scoped,
    ast.FunctionDef: Statements.defined,
    ast.AsyncFunctionDef: Statements.defined,
    ast.ClassDef: Statements.defined,
    ast.If: Statements.branch,
    ast.For: Statements.loop,
    ast.AsyncFor: Statements.loop,
    ast.While: Statements.repeat,
    ast.With: Statements.within,
    ast.AsyncWith: Statements.within,
    ast.Try: Statements.attempt,
    ast.TryStar: Statements.attempt,
    ast.Match: Statements.match,
}
