"""The value of an expression, where everything it needs is known.

`UNKNOWN` spreads through every operation that looks at it, and may stand inside a list. Nothing is
assumed about what is not given: an index out of range, a signed overflow of C, a division by zero
are `UNKNOWN` too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from checks.eval.constants.c_values import CRules
from checks.eval.constants.python_values import PythonRules
from checks.eval.constants.values import MOST_ITEMS, UNKNOWN, LanguageRules, known
from checks.lang.ir import expr as ir

Resolve = Callable[[ir.Expr], object]
# Expressions inside expressions, at most: Python's own stack is not much deeper.
_DEEPEST = 120
# The Python values that may be elements of a set and keys of a dict here.
_SIMPLE = int | float | str | None


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
    declared = dict(types or {})
    rules: LanguageRules = CRules(declared) if language == "cpp" else PythonRules()
    return rules.plain(Evaluator(rules, env or {}, declared, resolve).value(expr))


class Evaluator:
    """One evaluation; the values inside are those of `rules`.

    `bound` names are those of comprehensions, which are never asked of `resolve`. `depth` counts
    the expressions around the one that is being evaluated.
    """

    def __init__(
        self,
        rules: LanguageRules,
        env: Mapping[str, object],
        types: Mapping[str, str] | None = None,
        resolve: Resolve | None = None,
        bound: frozenset[str] = frozenset(),
        depth: int = 0,
    ) -> None:
        self.rules = rules
        self.env = env
        self.types = types or {}
        self.resolve = resolve
        self.bound = bound
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
                if truth is UNKNOWN:
                    return UNKNOWN
                return self.value(then if truth else orelse)
            case ir.Cast(type=declared, operand=operand):
                return self.rules.cast(declared, self.value(operand))
            case ir.Sequence():
                return self._sequence(expr)
            case ir.Mapping():
                return self._mapping(expr)
            case ir.Comprehension():
                return self._comprehension(expr)
            case _:
                return UNKNOWN

    def _place(self, expr: ir.Expr) -> object:
        """A name, a place or a call: `resolve` answers first."""
        is_bound = isinstance(expr, ir.Name) and expr.id in self.bound
        if self.resolve is not None and not is_bound:
            resolved = self.resolve(expr)
            if resolved is not UNKNOWN:
                return resolved
        match expr:
            case ir.Name(id=name):
                return self._named(name)
            case ir.Attr():
                path = ir.dotted(expr)
                return UNKNOWN if path is None else self._named(path)
            case ir.Index(base=base, indices=indices):
                return self._index(self.value(base), indices)
            case ir.Call(func=ir.Name(id=name), args=args, keywords=()):
                values = [self.value(arg) for arg in args]
                return self.rules.call(name.removeprefix("std::"), values)
            case _:
                return UNKNOWN

    def _named(self, name: str) -> object:
        if name not in self.env:
            return UNKNOWN
        return self.rules.given(self.env[name], self.types.get(name, ""))

    def _logic(self, expr: ir.Binary) -> object:
        left = self.value(expr.left)
        truth = self.rules.truth(left)
        if isinstance(self.rules, PythonRules):
            return self._python_logic(expr, left, truth)
        return self._c_logic(expr, truth)

    def _python_logic(self, expr: ir.Binary, left: object, truth: object) -> object:
        """Python's result is one of the operands."""
        if truth is UNKNOWN:
            return UNKNOWN
        if truth == (expr.op == "or"):
            return left
        return self.value(expr.right)

    def _c_logic(self, expr: ir.Binary, left_truth: object) -> object:
        """C's result is only a truth: `x && 0` is 0 whatever x is."""
        deciding = expr.op == "or"
        if left_truth is not UNKNOWN and left_truth == deciding:
            return self.rules.given(left_truth, "")
        right_truth = self.rules.truth(self.value(expr.right))
        if left_truth is UNKNOWN and right_truth is not deciding:
            return UNKNOWN
        return self.rules.given(right_truth, "")

    def _index(self, base: object, indices: tuple[ir.Expr, ...]) -> object:
        keys = [self._key(index) for index in indices]
        if isinstance(base, dict):
            key = keys[0] if len(keys) == 1 else tuple(keys)
            return self.rules.item(base, key)
        # Of nested lists only the last index may be a slice: `a[1:, 0]` is numpy's.
        if any(isinstance(key, slice) for key in keys[:-1]):
            return UNKNOWN
        for key in keys:
            base = self.rules.item(base, key)
        return base

    def _key(self, index: ir.Expr) -> object:
        if not isinstance(index, ir.Slice):
            return self.value(index)
        ends: list[object] = []
        for end in (index.lower, index.upper, index.step):
            ends.append(None if end is None else self.value(end))
        return slice(*ends) if known(ends) else UNKNOWN

    def _sequence(self, expr: ir.Sequence) -> object:
        for item in expr.items:
            if isinstance(item, ir.Unary) and item.op == "*":
                return UNKNOWN
        values = [self.value(item) for item in expr.items]
        match expr.kind:
            case "set":
                return _make_set(values)
            case "tuple":
                return tuple(values)
            case _:
                return values

    def _mapping(self, expr: ir.Mapping) -> object:
        result: dict[object, object] = {}
        for key_expr, value_expr in expr.items:
            key = UNKNOWN if key_expr is None else self.value(key_expr)
            if not isinstance(key, _SIMPLE):
                return UNKNOWN
            result[key] = self.value(value_expr)
        return result

    def _comprehension(self, expr: ir.Comprehension) -> object:
        """A list, of one clause over a plain name; more than that is not followed."""
        if not isinstance(self.rules, PythonRules) or expr.kind not in ("list", "generator"):
            return UNKNOWN
        if len(expr.clauses) != 1:
            return UNKNOWN
        target, iterable, conditions = expr.clauses[0]
        if not isinstance(target, ir.Name):
            return UNKNOWN
        items = self.value(iterable)
        if not isinstance(items, list | tuple | str) or len(items) > MOST_ITEMS:
            return UNKNOWN
        result: list[object] = []
        for item in items:
            inner = self._with_name(target.id, item)
            taken = inner._all_hold(conditions)
            if taken is UNKNOWN:
                return UNKNOWN
            if taken:
                result.append(inner.value(expr.element))
        return result

    def _with_name(self, name: str, value: object) -> Evaluator:
        """The evaluation inside a comprehension, with its variable."""
        return Evaluator(
            self.rules,
            {**self.env, name: value},
            self.types,
            self.resolve,
            self.bound | {name},
            self.depth,
        )

    def _all_hold(self, conditions: tuple[ir.Expr, ...]) -> object:
        """Whether all conditions hold, or `UNKNOWN`."""
        for condition in conditions:
            truth = self.rules.truth(self.value(condition))
            if truth is UNKNOWN or not truth:
                return truth
        return True


def _make_set(values: list[object]) -> object:
    if all(isinstance(value, _SIMPLE) for value in values):
        return frozenset(values)
    return UNKNOWN
