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
from checks.lang.python.text import SourceText

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


# A clause of a comprehension: its target, what it runs over, its conditions.
_Clause = tuple[Expr, Expr, tuple[Expr, ...]]


class PythonExpressions:
    """Lowers the expressions of one file.

    Assignments made inside an expression (`:=`) are left in `hoisted`, for the statement to put
    before itself; one that runs only on a condition gets an unknown value.
    """

    def __init__(self, source: SourceText) -> None:
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
        """`node` as text."""
        return Unknown(self.source.segment(node), line=node.lineno)

    def lower_each(self, nodes: list[ast.expr]) -> tuple[Expr, ...]:
        """The expressions at `nodes`, in order."""
        return tuple([self.lower(node) for node in nodes])

    def lower_optional(self, node: ast.expr | None) -> Expr | None:
        """The expression at `node`, None where there is none."""
        return None if node is None else self.lower(node)

    def lower_conditional(self, node: ast.expr) -> Expr:
        """An expression that Python evaluates only on a condition."""
        self._conditional += 1
        try:
            return self.lower(node)
        finally:
            self._conditional -= 1

    def _constant(self, node: ast.Constant) -> Expr:
        value = node.value
        if value is None or isinstance(value, int | float | str):
            return Const(value, line=node.lineno)
        if value is ...:
            return Name("...", line=node.lineno)
        return self.unknown(node)

    def _name(self, node: ast.Name) -> Expr:
        return Name(node.id, line=node.lineno)

    def _attribute(self, node: ast.Attribute) -> Expr:
        return Attr(self.lower(node.value), node.attr, line=node.lineno)

    def _subscript(self, node: ast.Subscript) -> Expr:
        inner = node.slice
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        return Index(self.lower(node.value), self.lower_each(parts), line=node.lineno)

    def _slice(self, node: ast.Slice) -> Expr:
        return Slice(
            self.lower_optional(node.lower),
            self.lower_optional(node.upper),
            self.lower_optional(node.step),
            line=node.lineno,
        )

    def _call(self, node: ast.Call) -> Expr:
        keywords: list[tuple[str, Expr]] = []
        for keyword in node.keywords:
            keywords.append((keyword.arg or "**", self.lower(keyword.value)))
        func, args = self.lower(node.func), self.lower_each(node.args)
        return Call(func, args, tuple(keywords), line=node.lineno)

    def _unary(self, node: ast.UnaryOp) -> Expr:
        return Unary(UNARY[type(node.op)], self.lower(node.operand), line=node.lineno)

    def _binary(self, node: ast.BinOp) -> Expr:
        return Binary(
            OPERATORS[type(node.op)],
            self.lower(node.left),
            self.lower(node.right),
            line=node.lineno,
        )

    def _logic(self, node: ast.BoolOp) -> Expr:
        if len(node.values) > DEEPEST:
            return self.unknown(node)
        op = "and" if isinstance(node.op, ast.And) else "or"
        result = self.lower(node.values[0])
        for value in node.values[1:]:
            result = Binary(op, result, self.lower_conditional(value), line=node.lineno)
        return result

    def _compare(self, node: ast.Compare) -> Expr:
        if len(node.ops) > DEEPEST:
            return self.unknown(node)
        left = self.lower(node.left)
        operands = self.lower_each(node.comparators)
        result: Expr | None = None
        for op, right in zip(node.ops, operands, strict=True):
            test = Binary(COMPARISONS[type(op)], left, right, line=node.lineno)
            result = test if result is None else Binary("and", result, test, line=node.lineno)
            left = right
        return self.unknown(node) if result is None else result

    def _ternary(self, node: ast.IfExp) -> Expr:
        return Ternary(
            self.lower(node.test),
            self.lower_conditional(node.body),
            self.lower_conditional(node.orelse),
            line=node.lineno,
        )

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> Expr:
        return Sequence(type(node).__name__.lower(), self.lower_each(node.elts), line=node.lineno)

    def _mapping(self, node: ast.Dict) -> Expr:
        items: list[tuple[Expr | None, Expr]] = []
        for key, value in zip(node.keys, node.values, strict=True):
            items.append((self.lower_optional(key), self.lower(value)))
        return Mapping(tuple(items), line=node.lineno)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Expr:
        kind = {ast.ListComp: "list", ast.SetComp: "set"}.get(type(node), "generator")
        element = self.lower_conditional(node.elt)
        return Comprehension(kind, element, self._clauses(node.generators), line=node.lineno)

    def _dict_comprehension(self, node: ast.DictComp) -> Expr:
        key, value = self.lower_conditional(node.key), self.lower_conditional(node.value)
        pair = Sequence("tuple", (key, value), line=node.lineno)
        return Comprehension("dict", pair, self._clauses(node.generators), line=node.lineno)

    def _clauses(self, generators: list[ast.comprehension]) -> tuple[_Clause, ...]:
        clauses: list[_Clause] = []
        for generator in generators:
            target = self.lower_conditional(generator.target)
            iterable = self.lower_conditional(generator.iter)
            conditions = tuple([self.lower_conditional(test) for test in generator.ifs])
            clauses.append((target, iterable, conditions))
        return tuple(clauses)

    def _starred(self, node: ast.Starred) -> Expr:
        return Unary("*", self.lower(node.value), line=node.lineno)

    def _await(self, node: ast.Await) -> Expr:
        return self.lower(node.value)

    def _walrus(self, node: ast.NamedExpr) -> Expr:
        # `a and (x := f())`: whether x is set is not known.
        value = self.unknown(node.value) if self._conditional else self.lower(node.value)
        target = Name(node.target.id, line=node.lineno)
        end = node.end_lineno or node.lineno
        self.hoisted.append(Assign(target, "=", value, line=node.lineno, end_line=end))
        return target

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> Expr:
        args = () if node.value is None else (self.lower(node.value),)
        return Call(Unknown("yield", line=node.lineno), args, line=node.lineno)

    def _f_string(self, node: ast.JoinedStr) -> Expr:
        parts = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        return Call(self.unknown(node), self.lower_each(parts), line=node.lineno)


_HANDLERS: dict[type[ast.expr], Callable[..., Expr]] = {
    ast.Constant: PythonExpressions._constant,
    ast.Name: PythonExpressions._name,
    ast.Attribute: PythonExpressions._attribute,
    ast.Subscript: PythonExpressions._subscript,
    ast.Slice: PythonExpressions._slice,
    ast.Call: PythonExpressions._call,
    ast.UnaryOp: PythonExpressions._unary,
    ast.BinOp: PythonExpressions._binary,
    ast.BoolOp: PythonExpressions._logic,
    ast.Compare: PythonExpressions._compare,
    ast.IfExp: PythonExpressions._ternary,
    ast.Tuple: PythonExpressions._display,
    ast.List: PythonExpressions._display,
    ast.Set: PythonExpressions._display,
    ast.Dict: PythonExpressions._mapping,
    ast.ListComp: PythonExpressions._comprehension,
    ast.SetComp: PythonExpressions._comprehension,
    ast.GeneratorExp: PythonExpressions._comprehension,
    ast.DictComp: PythonExpressions._dict_comprehension,
    ast.Starred: PythonExpressions._starred,
    ast.Await: PythonExpressions._await,
    ast.NamedExpr: PythonExpressions._walrus,
    ast.Yield: PythonExpressions._yield,
    ast.YieldFrom: PythonExpressions._yield,
    ast.JoinedStr: PythonExpressions._f_string,
}
