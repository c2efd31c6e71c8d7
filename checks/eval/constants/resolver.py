"""The evaluation of names: a definition is found, evaluated where it stands, and cited."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from checks.core.change import ChangeSet
from checks.core.finding import Location, Side
from checks.eval.constants.bindings import (
    Bindings,
    class_of,
    find_bindings,
    function_around,
    global_names,
    is_set_per_instance,
    is_template_parameter,
    value_of_member,
)
from checks.eval.constants.c_values import CRules
from checks.eval.constants.definitions import DefinitionSite, EvalScope
from checks.eval.constants.evaluate import Evaluator
from checks.eval.constants.python_values import PythonRules
from checks.eval.constants.scope import Scopes
from checks.eval.constants.values import UNKNOWN, LanguageRules
from checks.eval.integers import CIntType, Typed, integer_type
from checks.lang.ir.expr import Attr, Call, Expr, Name, dotted
from checks.lang.ir.source_file import Constant, Function, SourceFile
from checks.lang.ir.stmt import Return

# Definitions that rest on definitions, at most.
_DEEPEST = 25
_SIZE_T = CIntType(64, False)
_FLOAT_SIZES = {"float": 4, "double": 8}


class Resolver:
    """Evaluates expressions in their scopes over one side of a change."""

    def __init__(self, change: ChangeSet, side: Side) -> None:
        self.scopes = Scopes(change, side)
        self._side = side
        self._evaluator: Evaluator | None = None
        # The definitions being evaluated, and those that were.
        self._active: set[tuple[object, ...]] = set()
        self._values: dict[tuple[object, ...], tuple[object, tuple[Location, ...]]] = {}
        # What was found out of each function and file.
        self._bindings: dict[tuple[str, str, int], Bindings] = {}
        self._rules: dict[str, LanguageRules] = {}
        self._globals: dict[str, frozenset[str]] = {}

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
                return self._resolve_name(name, scope)
            case Attr():
                path = dotted(expr)
                return UNKNOWN if path is None else self._resolve_dotted(path, scope)
            case Call(func=Name(id=name), keywords=()):
                return self._resolve_call(expr, name, scope)
            case _:
                return UNKNOWN

    def _resolve_name(self, name: str, scope: EvalScope) -> object:
        unit = scope.unit
        function = scope.function
        while function is not None:
            if name in self._bindings_of(function):
                return self.single_value(self._local_definitions(name, function, unit), scope)
            function = function_around(function, unit)
        if unit.language == "cpp" and is_template_parameter(
            name, scope.function, scope.owner, unit
        ):
            return UNKNOWN
        site = scope.site or unit
        constants = self._constants_named(name, scope)
        return self.single_value([self.definition_of(c, site=site) for c in constants], scope)

    def _local_definitions(
        self, name: str, function: Function, unit: SourceFile
    ) -> list[DefinitionSite]:
        """Every place in `function` that sets `name`."""
        return [
            DefinitionSite(
                name, binding.value, unit, function, function.owner, binding.type, binding.line
            )
            for binding in self._bindings_of(function)[name]
        ]

    def _constants_named(self, name: str, scope: EvalScope) -> list[Constant | None]:
        """The definitions outside of functions: of the class, the file, or the macro's user."""
        unit = scope.unit
        # Python's methods do not see the names of their class.
        sees_class = unit.language == "cpp" or scope.function is None
        if scope.owner and sees_class:
            members = unit.constants_named.get((scope.owner, name))
            if members:
                return [*members]
        found = self.scopes.constants(unit, name, scope.function_name)
        if not found and scope.site is not None:
            return self.scopes.constants(scope.site, name)
        return found

    def _resolve_dotted(self, path: str, scope: EvalScope) -> object:
        """A dotted name of Python."""
        unit = scope.unit
        if unit.language != "python":
            return UNKNOWN
        parts = path.split(".")
        owner = class_of(scope.function, unit)
        if parts[0] in ("self", "cls") and owner:
            return self._resolve_own(owner, parts[1], scope) if len(parts) == 2 else UNKNOWN
        if len(parts) > 2 and parts[-1] == "value":
            # `Color.RED.value`
            members = self.scopes.attribute(unit, parts[:-1], scope.function_name)
            if members and all(_is_enum_member(member) for member in members):
                return self.single_value(map(self.definition_of, members), scope)
        found = self.scopes.attribute(unit, parts, scope.function_name)
        return self.single_value(map(self.definition_of, found), scope)

    def _resolve_own(self, owner: str, name: str, scope: EvalScope) -> object:
        """`self.name`: every class-level definition, and every assignment in the class's
        methods."""
        unit = scope.unit
        definitions: list[DefinitionSite | None] = []
        for constant in self.scopes.member((unit, owner), name):
            if constant is not None and is_set_per_instance(constant, unit):
                return UNKNOWN
            definitions.append(self.definition_of(constant))
        path = f"self.{name}"
        for method in unit.functions:
            if method.owner != owner:
                continue
            # Lowering a body costs; one without the words has no assignment to them.
            if path not in unit.text(method.start_line, method.end_line):
                continue
            for binding in self._bindings_of(method).get(path, []):
                definitions.append(
                    DefinitionSite(name, binding.value, unit, method, owner, "", binding.line)
                )
        return self.single_value(definitions, scope)

    def _resolve_call(self, call: Call, name: str, scope: EvalScope) -> object:
        """A macro with parameters, or a function that only returns an expression."""
        if name == "sizeof" and scope.unit.language == "cpp":
            return _evaluate_sizeof(call)
        args = [self.evaluate(arg, scope) for arg in call.args]
        if any(arg is UNKNOWN for arg in args):
            return UNKNOWN
        site = scope.site or scope.unit
        expansions: list[DefinitionSite | None] = []
        for macro in self.scopes.constants(scope.unit, name, scope.function_name):
            if macro is not None and macro.params is not None:
                env = dict(zip(macro.params, args, strict=False))
                expansions.append(self.definition_of(macro, env, site))
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
            env[param.name] = rules.cast(param.type, arg) if integer_type(param.type) else arg
        value = None
        if len(function.body) == 1 and isinstance(function.body[0], Return):
            value = function.body[0].value
        line = function.start_line
        return DefinitionSite(function.name, value, unit, None, "", function.returns, line, env)

    def _bindings_of(self, function: Function) -> Bindings:
        key = (function.path, function.qualname, function.start_line)
        if key not in self._bindings:
            self._bindings[key] = find_bindings(function)
        return self._bindings[key]

    def definition_of(
        self,
        constant: Constant | None,
        env: dict[str, object] | None = None,
        site: SourceFile | None = None,
    ) -> DefinitionSite | None:
        """How to evaluate `constant`, used in the file `site`, with the arguments `env` of a macro.

        None for what may change while the program runs.
        """
        if constant is None or (constant.params is not None and env is None):
            return None
        unit = self.scopes.unit(constant.path)
        if unit is None:
            return None
        if not constant.owner and constant.name in self._globals_of(unit):
            return None
        return DefinitionSite(
            constant.name,
            value_of_member(constant, unit),
            unit,
            None,
            constant.owner,
            constant.type,
            constant.line,
            env or {},
            site if constant.kind == "define" else None,
        )

    def _globals_of(self, unit: SourceFile) -> frozenset[str]:
        if unit.path not in self._globals:
            self._globals[unit.path] = global_names(unit)
        return self._globals[unit.path]

    def single_value(
        self, definitions: Iterable[DefinitionSite | None], scope: EvalScope
    ) -> object:
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


def _is_enum_member(constant: Constant | None) -> bool:
    return constant is not None and constant.kind == "enum"


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
