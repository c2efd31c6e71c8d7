"""The value of names: each definition is evaluated where it stands, and cited."""

from __future__ import annotations

from functools import partial

from checks.core.change import ChangeSet
from checks.core.finding import Location, Side
from checks.eval.constants.c_values import CRules
from checks.eval.constants.definitions import (
    DefinitionFinder,
    Definitions,
    DefinitionSite,
    EvalScope,
)
from checks.eval.constants.evaluate import Evaluator
from checks.eval.constants.python_values import PythonRules
from checks.eval.constants.scope import Scopes
from checks.eval.constants.values import UNKNOWN, LanguageRules
from checks.eval.integers import CIntType, Typed, integer_type
from checks.lang.ir.expr import Attr, Call, Expr, Name, dotted
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Return

# Definitions that rest on definitions, at most.
_DEEPEST = 25
_SIZE_T = CIntType(64, False)
_FLOAT_SIZES = {"float": 4, "double": 8}


class Resolver:
    """Evaluates expressions in their scopes over one side of a change."""

    def __init__(self, change: ChangeSet, side: Side) -> None:
        self.scopes = Scopes(change, side)
        self.definitions = DefinitionFinder(self.scopes)
        self._side = side
        self._evaluator: Evaluator | None = None
        # The definitions being evaluated, and those that were.
        self._active: set[tuple[object, ...]] = set()
        self._values: dict[tuple[object, ...], tuple[object, tuple[Location, ...]]] = {}
        self._rules: dict[str, LanguageRules] = {}

    def rules_of(self, unit: SourceFile) -> LanguageRules:
        """The rules of the file's language, with the type aliases of the file."""
        if unit.path not in self._rules:
            self._rules[unit.path] = _make_rules(unit)
        return self._rules[unit.path]

    def evaluate(self, expr: Expr, scope: EvalScope) -> object:
        """The value of `expr` in the terms of its language, or `UNKNOWN`."""
        if len(self._active) >= _DEEPEST:
            return UNKNOWN
        # One definition leads to the next from inside an evaluation: their depths add up.
        outer = self._evaluator
        depth = outer.depth if outer is not None else 0
        resolve = partial(self._resolve, scope)
        rules = self.rules_of(scope.unit)
        self._evaluator = Evaluator(rules, scope.env, resolve=resolve, depth=depth)
        try:
            return self._evaluator.value(expr)
        finally:
            self._evaluator = outer

    def _resolve(self, scope: EvalScope, expr: Expr) -> object:
        """What the evaluator asks: the value of a name, a dotted name or a call."""
        match expr:
            case Name(id=name) if name not in scope.env:
                return self.single_value(self.definitions.of_name(name, scope), scope)
            case Attr():
                path = dotted(expr)
                if path is None or scope.unit.language != "python":
                    return UNKNOWN
                return self.single_value(self.definitions.of_dotted(path, scope), scope)
            case Call(func=Name(id=name), keywords=()):
                return self._resolve_call(expr, name, scope)
            case _:
                return UNKNOWN

    def _resolve_call(self, call: Call, name: str, scope: EvalScope) -> object:
        """A macro with parameters, or a function that only returns an expression."""
        if name == "sizeof" and scope.unit.language == "cpp":
            return _evaluate_sizeof(call)
        args = [self.evaluate(arg, scope) for arg in call.args]
        if any(arg is UNKNOWN for arg in args):
            return UNKNOWN
        site = scope.site or scope.unit
        expansions: Definitions = []
        for macro in self.scopes.constants(scope.unit, name, scope.function_name):
            if macro is not None and macro.params is not None:
                env = dict(zip(macro.params, args, strict=False))
                expansions.append(self.definitions.of_constant(macro, env, site))
        if not expansions:
            functions = self.scopes.functions(scope.unit, name, scope.function_name)
            expansions = [self._returned_expression(f, args) for f in functions]
        return self.single_value(expansions, scope)

    def _returned_expression(
        self, function: Function | None, args: list[object]
    ) -> DefinitionSite | None:
        """What `function` returns for `args`; None for a decorated one or a wrong argument list."""
        if function is None or len(args) != len(function.params):
            return None
        unit = self.scopes.unit(function.path)
        if unit is None or (unit.language == "python" and function.marks):
            return None
        rules = self.rules_of(unit)
        env: dict[str, object] = {}
        for param, arg in zip(function.params, args, strict=True):
            env[param.name] = arg
            if integer_type(param.type):
                env[param.name] = rules.cast(param.type, arg)
        value = None
        if len(function.body) == 1 and isinstance(function.body[0], Return):
            value = function.body[0].value
        line = function.start_line
        return DefinitionSite(function.name, value, unit, None, "", function.returns, line, env)

    def single_value(self, definitions: Definitions, scope: EvalScope) -> object:
        """The one value of all `definitions`; unknown where there are none, or two values."""
        result: object = UNKNOWN
        trace: list[Location] = []
        for definition in definitions:
            if definition is None:
                return UNKNOWN
            value, places = self._evaluate_definition(definition)
            if value is UNKNOWN:
                return UNKNOWN
            result = value if result is UNKNOWN else _agree(result, value)
            if result is UNKNOWN:
                return UNKNOWN
            trace += places
        scope.trace += trace
        return result

    def _evaluate_definition(
        self, definition: DefinitionSite
    ) -> tuple[object, tuple[Location, ...]]:
        """The value, and the definitions that it rests on, itself first."""
        key = definition.key
        if key in self._values:
            return self._values[key]
        # A definition that is active needs its own value: two imports in a circle.
        if key in self._active or definition.value is None:
            return UNKNOWN, ()
        scope = EvalScope(
            definition.unit,
            definition.function,
            definition.owner,
            definition.env,
            definition.site,
        )
        self._active.add(key)
        try:
            value = self.evaluate(definition.value, scope)
            if integer_type(definition.type) and definition.unit.language == "cpp":
                value = self.rules_of(definition.unit).cast(definition.type, value)
        finally:
            self._active.discard(key)
        location = Location(definition.unit.path, definition.line, side=self._side)
        self._values[key] = (value, tuple(dict.fromkeys([location, *scope.trace])))
        return self._values[key]


def _make_rules(unit: SourceFile) -> LanguageRules:
    if unit.language == "python":
        return PythonRules()
    return CRules({c.name: c.type for c in unit.constants if c.kind == "alias"})


def _agree(left: object, right: object) -> object:
    """The value that both are, or `UNKNOWN`: `1`, `1.0` and `True` are three values.

    C's types may differ; then the type is not known.
    """
    if isinstance(left, Typed) and isinstance(right, Typed):
        if left.value != right.value:
            return UNKNOWN
        return right if left == right else Typed(right.value)
    if type(left) is type(right) and left == right:
        return right
    return UNKNOWN


def _evaluate_sizeof(call: Call) -> object:
    name = dotted(call.args[0]) if len(call.args) == 1 else None
    if name is None:
        return UNKNOWN
    if name in _FLOAT_SIZES:
        return Typed(_FLOAT_SIZES[name], _SIZE_T)
    kind = integer_type(name)
    if kind is None:
        return UNKNOWN
    # A `bool` has one bit and takes one byte.
    return Typed(max(kind.bits // 8, 1), _SIZE_T)
