"""The cases of a `match` as conditions on its subject."""

from __future__ import annotations

import ast

from checks.lang.ir.expr import Binary, Const, Expr, Name, Unknown
from checks.lang.ir.stmt import Assign
from checks.lang.python.expressions import PythonExpressions


class MatchCases:
    """Lowers the cases of one `match` over `subject`."""

    def __init__(self, expressions: PythonExpressions, subject: Expr) -> None:
        self.expressions = expressions
        self.subject = subject

    def case(self, case: ast.match_case) -> tuple[Expr | None, tuple[Assign, ...]]:
        """The condition (None where it always holds) and what the pattern binds."""
        test = self._pattern(case.pattern)
        if case.guard is not None:
            guard = self.expressions.lower_conditional(case.guard)
            line = case.pattern.lineno
            test = guard if test is None else Binary("and", test, guard, line=line)
        return test, self._bound(case.pattern)

    def _pattern(self, pattern: ast.pattern) -> Expr | None:
        line = pattern.lineno
        match pattern:
            case ast.MatchValue(value=value):
                return Binary("==", self.subject, self.expressions.lower(value), line=line)
            case ast.MatchSingleton(value=constant):
                return Binary("is", self.subject, Const(constant, line=line), line=line)
            case ast.MatchAs(pattern=None):
                return None
            case ast.MatchAs(pattern=inner) if inner is not None:
                return self._pattern(inner)
            case ast.MatchOr(patterns=patterns):
                return self._any(patterns)
        return self.expressions.unknown(pattern)

    def _any(self, patterns: list[ast.pattern]) -> Expr | None:
        result: Expr | None = None
        for pattern in patterns:
            test = self._pattern(pattern)
            if test is None:
                return None
            result = test if result is None else Binary("or", result, test, line=pattern.lineno)
        return result

    def _bound(self, pattern: ast.pattern) -> tuple[Assign, ...]:
        """What the pattern sets: the subject where it takes it whole, else something unknown."""
        whole = pattern.name if isinstance(pattern, ast.MatchAs) else None
        result: list[Assign] = []
        for node in ast.walk(pattern):
            match node:
                case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                    pass
                case ast.MatchMapping(rest=str(name)):
                    pass
                case _:
                    continue
            line = node.lineno
            value = self.subject if name == whole else Unknown(name, line=line)
            result.append(Assign(Name(name, line=line), "=", value, line=line, end_line=line))
        return tuple(result)
