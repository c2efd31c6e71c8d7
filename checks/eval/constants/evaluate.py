"""What an expression comes to, where everything it needs is known.

`UNKNOWN` spreads through every operation that looks at it, and may stand inside a list. Nothing is
assumed about what is not given: an index out of range, a signed overflow of C, a division by zero
are `UNKNOWN` too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from checks.eval.constants.c_values import CRules
from checks.eval.constants.python_values import PythonRules
from checks.eval.constants.values import MOST_ITEMS, UNKNOWN, Rules, Unset, known
from checks.eval.linear import difference, fold, linear
from checks.lang.ir import expr as ir

__all__ = ["UNKNOWN", "Evaluator", "Unset", "difference", "evaluate", "fold", "known", "linear"]

Resolve = Callable[[ir.Expr], object]
_DEEPEST = 120


def evaluate(
    expr: ir.Expr,
    env: Mapping[str, object] | None = None,
    *,
    language: str = "python",
    types: Mapping[str, str] | None = None,
    resolve: Resolve | None = None,
) -> object:
    """The value of `expr`, or `UNKNOWN`.

    `env` gives values to names and dotted names (`self.k`); `a[1, 0]` and `a[1][0]` both read a
    list of lists. `resolve` is asked first for every name, attribute, index, call, `*x` and `&x`,
    and answers `UNKNOWN` to leave it. `language` is `python` or `cpp`; for C++, `types` maps names
    to their declared types, and aliases to types. A name without a type is a mathematical integer.
    """
    given = dict(types or {})
    rules: Rules = CRules(given) if language == "cpp" else PythonRules()
    return rules.plain(Evaluator(rules, env or {}, given, resolve).value(expr))


class Evaluator:
    """One evaluation; the values inside are those of `rules`. `bound` names are never asked of `resolve`."""

    def __init__(
        self,
        rules: Rules,
        env: Mapping[str, object],
        types: Mapping[str, str] | None = None,
        resolve: Resolve | None = None,
        bound: frozenset[str] = frozenset(),
        depth: int = 0,
    ) -> None:
        self.bound = bound
        self.rules = rules
        self.env = env
        self.types = types or {}
        self.resolve = resolve
        self.depth = depth

    def value(self, expr: ir.Expr) -> object:
        """`expr` in the terms of `rules`, or `UNKNOWN`."""
        if self.depth >= _DEEPEST:
            return UNKNOWN
        self.depth += 1
        try:
            return self._value(expr)
        finally:
            self.depth -= 1

    def _value(self, expr: ir.Expr) -> object:
        match expr:
            case ir.Const():
                return self.rules.constant(expr)
            case ir.Name() | ir.Attr() | ir.Index() | ir.Call() | ir.Unary(op="*" | "&"):
                return self._place(expr)
            case ir.Unary(op=op, operand=operand):
                return self.rules.unary(op, self.value(operand))
            case ir.Binary(op="and" | "or"):
                return self._logic(expr)
            case ir.Binary(op=op, left=left, right=right):
                return self.rules.binary(op, self.value(left), self.value(right))
            case ir.Ternary(test=test, then=then, orelse=orelse):
                truth = self.rules.truth(self.value(test))
                return UNKNOWN if truth is UNKNOWN else self.value(then if truth else orelse)
            case ir.Cast(type=declared, operand=operand):
                return self.rules.cast(declared, self.value(operand))
            case _:
                return self._collection(expr)

    def _place(self, expr: ir.Expr) -> object:
        if self.resolve is not None and not (isinstance(expr, ir.Name) and expr.id in self.bound):
            found = self.resolve(expr)
            if found is not UNKNOWN:
                return found
        match expr:
            case ir.Name(id=name):
                return self._named(name)
            case ir.Attr():
                whole = ir.dotted(expr)
                return UNKNOWN if whole is None else self._named(whole)
            case ir.Index(base=base, indices=indices):
                return self._index(self.value(base), indices)
            case ir.Call(func=ir.Name(id=name), args=args, keywords=()):
                return self.rules.call(name.removeprefix("std::"), [self.value(a) for a in args])
            case _:
                return UNKNOWN

    def _named(self, name: str) -> object:
        if name not in self.env:
            return UNKNOWN
        return self.rules.given(self.env[name], self.types.get(name, ""))

    def _logic(self, expr: ir.Binary) -> object:
        left = self.value(expr.left)
        truth = self.rules.truth(left)
        python = isinstance(self.rules, PythonRules)
        if truth is UNKNOWN:
            # C's result is only a truth: `x && 0` is 0 whatever x is. Python's is one of the
            # operands.
            right = UNKNOWN if python else self.rules.truth(self.value(expr.right))
            decided = right is not UNKNOWN and bool(right) == (expr.op == "or")
            return self.rules.given(right, "") if decided else UNKNOWN
        if truth == (expr.op == "or"):
            return left if python else self.rules.given(truth, "")
        if python:
            return self.value(expr.right)
        return self.rules.given(self.rules.truth(self.value(expr.right)), "")

    def _index(self, base: object, indices: tuple[ir.Expr, ...]) -> object:
        keys = [self._key(i) for i in indices]
        if isinstance(base, dict):
            whole = keys[0] if len(keys) == 1 else tuple(keys)
            return self.rules.item(base, whole)
        if len(keys) > 1 and any(isinstance(key, slice) for key in keys[:-1]):
            return UNKNOWN
        for key in keys:
            base = self.rules.item(base, key)
        return base

    def _key(self, index: ir.Expr) -> object:
        if not isinstance(index, ir.Slice):
            return self.value(index)
        ends = [
            None if e is None else self.value(e) for e in (index.lower, index.upper, index.step)
        ]
        return slice(*ends) if known(ends) else UNKNOWN

    def _collection(self, expr: ir.Expr) -> object:
        match expr:
            case ir.Sequence(kind=kind, items=items):
                if any(isinstance(i, ir.Unary) and i.op == "*" for i in items):
                    return UNKNOWN
                values = [self.value(i) for i in items]
                if kind == "set":
                    return _hashed(values)
                return tuple(values) if kind == "tuple" else values
            case ir.Mapping(items=pairs):
                return self._mapping(pairs)
            case ir.Comprehension(kind=kind, element=element, clauses=clauses):
                if not isinstance(self.rules, PythonRules):
                    return UNKNOWN
                found = self._comprehension(element, clauses)
                return found if found is UNKNOWN or kind in ("list", "generator") else UNKNOWN
            case _:
                return UNKNOWN

    def _mapping(self, pairs: tuple[tuple[ir.Expr | None, ir.Expr], ...]) -> object:
        result: dict[object, object] = {}
        for key, value in pairs:
            name = UNKNOWN if key is None else self.value(key)
            if not isinstance(name, int | float | str | None):
                return UNKNOWN
            result[name] = self.value(value)
        return result

    def _comprehension(
        self, element: ir.Expr, clauses: tuple[tuple[ir.Expr, ir.Expr, tuple[ir.Expr, ...]], ...]
    ) -> object:
        """A list, of one clause over a plain name; more than that is not followed."""
        target, iterable, conditions = clauses[0]
        if len(clauses) != 1 or not isinstance(target, ir.Name):
            return UNKNOWN
        items = self.value(iterable)
        if not isinstance(items, list | tuple | str) or len(items) > MOST_ITEMS:
            return UNKNOWN
        result: list[object] = []
        for item in items:
            env = {**self.env, target.id: item}
            inner = Evaluator(
                self.rules, env, self.types, self.resolve, self.bound | {target.id}, self.depth
            )
            for condition in conditions:
                truth = self.rules.truth(inner.value(condition))
                if truth is UNKNOWN:
                    return UNKNOWN
                if not truth:
                    break
            else:
                result.append(inner.value(element))
        return result


def _hashed(values: list[object]) -> object:
    simple = all(isinstance(v, int | float | str | None) for v in values)
    return frozenset(values) if simple else UNKNOWN
