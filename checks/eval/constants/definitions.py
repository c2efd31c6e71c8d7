"""Finds the definitions that a name may mean at the place where an expression stands."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from checks.core.finding import Location
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
from checks.eval.constants.scope import Scopes
from checks.lang.ir.expr import Expr
from checks.lang.ir.source_file import Constant, Function, SourceFile


@dataclass
class EvalScope:
    """Where an expression stands.

    `env` are the parameters of a macro or function that is being expanded, `site` the file that
    uses the macro. `trace` collects the definitions that the value rests on.
    """

    unit: SourceFile
    function: Function | None = None
    owner: str = ""
    env: dict[str, object] = field(default_factory=dict)
    site: SourceFile | None = None
    trace: list[Location] = field(default_factory=list)

    @property
    def function_name(self) -> str:
        """The qualified name of the function; empty outside of functions."""
        return self.function.qualname if self.function else ""


@dataclass(frozen=True, slots=True)
class DefinitionSite:
    """One definition: its expression and where that is to be read.

    A macro's names are looked up in its own file, then in the file that uses it (`site`).
    """

    name: str
    value: Expr | None
    unit: SourceFile
    function: Function | None
    owner: str
    type: str
    line: int
    env: dict[str, object] = field(default_factory=dict)
    site: SourceFile | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from every other definition, and from itself with other arguments."""
        site_path = self.site.path if self.site is not None else ""
        return self.unit.path, self.line, self.owner, self.name, repr(self.env), site_path


# None in it stands for a definition that cannot be followed: then the name has no certain value.
Definitions = list[DefinitionSite | None]


class DefinitionFinder:
    """Finds definitions over one side of a change.

    What it learns of functions and files it keeps: it is asked for many names of each.
    """

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._bindings: dict[tuple[str, str, int], Bindings] = {}
        self._globals: dict[str, frozenset[str]] = {}

    def of_name(self, name: str, scope: EvalScope) -> Definitions:
        """The definitions of a plain name: of the function, else of the class, else of the file.

        A parameter of a C++ template has a definition that cannot be followed.
        """
        unit = scope.unit
        function = scope.function
        while function is not None:
            if name in self._bindings_of(function):
                return self._local_definitions(name, function, unit)
            function = function_around(function, unit)
        if unit.language == "cpp" and is_template_parameter(
            name, scope.function, scope.owner, unit
        ):
            return [None]
        site = scope.site or unit
        return [self.of_constant(c, site=site) for c in self._constants_named(name, scope)]

    def _local_definitions(self, name: str, function: Function, unit: SourceFile) -> Definitions:
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
        constants = self._scopes.constants(unit, name, scope.function_name)
        if not constants and scope.site is not None:
            return self._scopes.constants(scope.site, name)
        return constants

    def of_dotted(self, path: str, scope: EvalScope) -> Definitions:
        """The definitions of a dotted name of Python."""
        unit = scope.unit
        parts = path.split(".")
        owner = class_of(scope.function, unit)
        if parts[0] in ("self", "cls") and owner:
            # Of `self.config.depth` the class says nothing.
            return self._of_own_attribute(owner, parts[1], scope) if len(parts) == 2 else [None]
        if len(parts) > 2 and parts[-1] == "value":
            # `Color.RED.value`
            members = self._scopes.attribute(unit, parts[:-1], scope.function_name)
            if members and all(_is_enum_member(member) for member in members):
                return [self.of_constant(member) for member in members]
        constants = self._scopes.attribute(unit, parts, scope.function_name)
        return [self.of_constant(constant) for constant in constants]

    def _of_own_attribute(self, owner: str, name: str, scope: EvalScope) -> Definitions:
        """`self.name`: class-level definitions, and assignments in the class's methods."""
        unit = scope.unit
        definitions: Definitions = []
        for constant in self._scopes.member((unit, owner), name):
            if constant is not None and is_set_per_instance(constant, unit):
                return [None]
            definitions.append(self.of_constant(constant))
        path = f"self.{name}"
        for method in unit.methods_of(owner):
            # Lowering a body costs; one without the words has no assignment to them.
            if path not in unit.text_of(method):
                continue
            for binding in self._bindings_of(method).get(path, []):
                definitions.append(
                    DefinitionSite(name, binding.value, unit, method, owner, "", binding.line)
                )
        return definitions

    def of_constant(
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
        unit = self._scopes.unit(constant.path)
        if unit is None:
            return None
        if not constant.owner and constant.name in self._globals_of(unit):
            return None
        definition = DefinitionSite(
            constant.name,
            value_of_member(constant, unit),
            unit,
            None,
            constant.owner,
            constant.type,
            constant.line,
            env or {},
        )
        if constant.kind == "define":
            return replace(definition, site=site)
        return definition

    def _bindings_of(self, function: Function) -> Bindings:
        key = (function.path, function.qualname, function.start_line)
        if key not in self._bindings:
            self._bindings[key] = find_bindings(function)
        return self._bindings[key]

    def _globals_of(self, unit: SourceFile) -> frozenset[str]:
        if unit.path not in self._globals:
            self._globals[unit.path] = global_names(unit)
        return self._globals[unit.path]


def _is_enum_member(constant: Constant | None) -> bool:
    return constant is not None and constant.kind == "enum"
