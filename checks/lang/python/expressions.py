"""Python expressions (`ast`) to the common expression language.

Python's own forms that it has no node for: `*x` is `Unary("*", x)`, `**x` in a call a keyword named
`**`; `await x` is `x`; the parts of an f-string and of `yield` are the arguments of a call of
`Unknown`; a matrix product is `Binary("@", ...)`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from checks.lang.ir.expr import (
    Attr,
    Binary,
    Call,
    Comprehension,
    Const,
    Expr,
    Index,
    Mapping,
    Name,
    Sequence,
    Slice,
    Ternary,
    Unary,
    Unknown,
)
from checks.lang.ir.stmt import Assign
from checks.lang.python.text import Source

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not-in",
    ast.Is: "is",
    ast.IsNot: "is-not",
}
UNARY: dict[type[ast.unaryop], str] = {
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
}

# Readers of the IR walk it recursively; a deeper expression than any person writes would end them.
DEEPEST = 100


class Expressions:
    """Lowers the expressions of one file.

    Assignments made inside an expression (`:=`) are left in `hoisted`, for the statement to put
    before itself; one that runs only on a condition gets an unknown value.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.hoisted: list[Assign] = []
        self._depth = 0
        self._conditional = 0

    def lower(self, node: ast.expr) -> Expr:
        """`node` in the common language; `Unknown` with its text where there is no form for it."""
        handler = _HANDLERS.get(type(node))
        if handler is None or self._depth >= DEEPEST:
            return self.unknown(node)
        self._depth += 1
        try:
            return handler(self, node)
        finally:
            self._depth -= 1

    def unknown(self, node: ast.expr | ast.pattern) -> Unknown:
        return Unknown(self.source.segment(node), line=node.lineno)

    def each(self, nodes: list[ast.expr]) -> tuple[Expr, ...]:
        return tuple([self.lower(node) for node in nodes])

    def perhaps(self, node: ast.expr) -> Expr:
        """Lower what Python evaluates only on a condition."""
        self._conditional += 1
        try:
            return self.lower(node)
        finally:
            self._conditional -= 1

    def constant(self, node: ast.Constant) -> Expr:
        value = node.value
        if value is None or isinstance(value, int | float | str):
            return Const(value, line=node.lineno)
        return Name("...", line=node.lineno) if value is ... else self.unknown(node)

    def name(self, node: ast.Name) -> Expr:
        return Name(node.id, line=node.lineno)

    def attribute(self, node: ast.Attribute) -> Expr:
        return Attr(self.lower(node.value), node.attr, line=node.lineno)

    def subscript(self, node: ast.Subscript) -> Expr:
        inner = node.slice
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        return Index(self.lower(node.value), self.each(parts), line=node.lineno)

    def slice(self, node: ast.Slice) -> Expr:
        ends = [None if e is None else self.lower(e) for e in (node.lower, node.upper, node.step)]
        return Slice(*ends, line=node.lineno)

    def call(self, node: ast.Call) -> Expr:
        words = tuple([(k.arg or "**", self.lower(k.value)) for k in node.keywords])
        return Call(self.lower(node.func), self.each(node.args), words, line=node.lineno)

    def unary(self, node: ast.UnaryOp) -> Expr:
        return Unary(UNARY[type(node.op)], self.lower(node.operand), line=node.lineno)

    def binary(self, node: ast.BinOp) -> Expr:
        return Binary(
            OPERATORS[type(node.op)],
            self.lower(node.left),
            self.lower(node.right),
            line=node.lineno,
        )

    def logic(self, node: ast.BoolOp) -> Expr:
        if len(node.values) > DEEPEST:
            return self.unknown(node)
        op = "and" if isinstance(node.op, ast.And) else "or"
        result = self.lower(node.values[0])
        for value in node.values[1:]:
            result = Binary(op, result, self.perhaps(value), line=node.lineno)
        return result

    def compare(self, node: ast.Compare) -> Expr:
        if len(node.ops) > DEEPEST:
            return self.unknown(node)
        operands = [self.lower(node.left), *self.each(node.comparators)]
        result: Expr | None = None
        for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
            test = Binary(COMPARISONS[type(op)], left, right, line=node.lineno)
            result = test if result is None else Binary("and", result, test, line=node.lineno)
        return self.unknown(node) if result is None else result

    def ternary(self, node: ast.IfExp) -> Expr:
        return Ternary(
            self.lower(node.test),
            self.perhaps(node.body),
            self.perhaps(node.orelse),
            line=node.lineno,
        )

    def display(self, node: ast.Tuple | ast.List | ast.Set) -> Expr:
        return Sequence(type(node).__name__.lower(), self.each(node.elts), line=node.lineno)

    def mapping(self, node: ast.Dict) -> Expr:
        pairs = zip(node.keys, node.values, strict=False)
        items = [(None if k is None else self.lower(k), self.lower(v)) for k, v in pairs]
        return Mapping(tuple(items), line=node.lineno)

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Expr:
        kind = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "generator")
        return Comprehension(
            kind, self.perhaps(node.elt), self._clauses(node.generators), line=node.lineno
        )

    def dict_comprehension(self, node: ast.DictComp) -> Expr:
        pair = Sequence(
            "tuple", (self.perhaps(node.key), self.perhaps(node.value)), line=node.lineno
        )
        return Comprehension("dict", pair, self._clauses(node.generators), line=node.lineno)

    def _clauses(
        self, generators: list[ast.comprehension]
    ) -> tuple[tuple[Expr, Expr, tuple[Expr, ...]], ...]:
        return tuple(
            (self.perhaps(g.target), self.perhaps(g.iter), tuple([self.perhaps(i) for i in g.ifs]))
            for g in generators
        )

    def starred(self, node: ast.Starred) -> Expr:
        return Unary("*", self.lower(node.value), line=node.lineno)

    def awaited(self, node: ast.Await) -> Expr:
        return self.lower(node.value)

    def assigned(self, node: ast.NamedExpr) -> Expr:
        value = self.unknown(node.value) if self._conditional else self.lower(node.value)
        target = Name(node.target.id, line=node.lineno)
        end = node.end_lineno or node.lineno
        self.hoisted.append(Assign(target, "=", value, line=node.lineno, end_line=end))
        return target

    def yielded(self, node: ast.Yield | ast.YieldFrom) -> Expr:
        args = () if node.value is None else (self.lower(node.value),)
        return Call(Unknown("yield", line=node.lineno), args, line=node.lineno)

    def formatted(self, node: ast.JoinedStr) -> Expr:
        parts = [v.value for v in node.values if isinstance(v, ast.FormattedValue)]
        return Call(self.unknown(node), self.each(parts), line=node.lineno)


_HANDLERS: dict[type[ast.expr], Callable[..., Expr]] = {
    ast.Constant: Expressions.constant,
    ast.Name: Expressions.name,
    ast.Attribute: Expressions.attribute,
    ast.Subscript: Expressions.subscript,
    ast.Slice: Expressions.slice,
    ast.Call: Expressions.call,
    ast.UnaryOp: Expressions.unary,
    ast.BinOp: Expressions.binary,
    ast.BoolOp: Expressions.logic,
    ast.Compare: Expressions.compare,
    ast.IfExp: Expressions.ternary,
    ast.Tuple: Expressions.display,
    ast.List: Expressions.display,
    ast.Set: Expressions.display,
    ast.Dict: Expressions.mapping,
    ast.ListComp: Expressions.comprehension,
    ast.SetComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.DictComp: Expressions.dict_comprehension,
    ast.Starred: Expressions.starred,
    ast.Await: Expressions.awaited,
    ast.NamedExpr: Expressions.assigned,
    ast.Yield: Expressions.yielded,
    ast.YieldFrom: Expressions.yielded,
    ast.JoinedStr: Expressions.formatted,
}
