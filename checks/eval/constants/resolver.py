"""The evaluation of names: a definition is found, evaluated where it stands, and cited."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from checks.core.change import ChangeSet
from checks.core.finding import Location, Side
from checks.eval.constants.bindings import (
    Bound,
    around,
    automatic,
    bindings,
    class_of,
    global_names,
    is_template_parameter,
    per_instance,
)
from checks.eval.constants.c_values import CRules
from checks.eval.constants.evaluate import Evaluator
from checks.eval.constants.python_values import PythonRules
from checks.eval.constants.scope import Scopes
from checks.eval.constants.values import UNKNOWN, Rules
from checks.eval.integers import IntType, Typed, integer_type
from checks.lang.ir.expr import Attr, Call, Expr, Name, dotted
from checks.lang.ir.source_file import Constant, Function, SourceFile
from checks.lang.ir.stmt import Return

_DEEPEST = 25
_SIZE_T = IntType(64, False)


@dataclass
class Frame:
    """Where an expression stands: `env` are the parameters of a macro or function that is being expanded."""

    unit: SourceFile
    function: Function | None = None
    owner: str = ""
    env: dict[str, object] = field(default_factory=dict)
    site: SourceFile | None = None
    trace: list[Location] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.function.qualname if self.function else ""


@dataclass(frozen=True, slots=True)
class Source:
    """One definition: its expression and where that is to be read. A macro's names are looked up in
    its own file, then in the file that uses it (`site`)."""

    name: str
    value: Expr | None
    unit: SourceFile
    function: Function | None
    owner: str
    type: str
    line: int
    env: dict[str, object] = field(default_factory=dict)
    site: SourceFile | None = None


class Resolver:
    """Evaluates expressions in their frames over one side of a change."""

    def __init__(self, change: ChangeSet, side: Side) -> None:
        self.scopes = Scopes(change, side)
        self._side = side
        self._evaluator: Evaluator | None = None
        self._active: set[tuple[object, ...]] = set()
        self._known: dict[tuple[object, ...], tuple[object, tuple[Location, ...]]] = {}
        self._bindings: dict[tuple[str, str, int], dict[str, list[Bound]]] = {}
        self._rules: dict[str, Rules] = {}
        self._globals: dict[str, frozenset[str]] = {}

    def rules_of(self, unit: SourceFile) -> Rules:
        if unit.language == "python":
            return self._rules.setdefault("", PythonRules())
        if unit.path not in self._rules:
            aliases = {c.name: c.type for c in unit.constants if c.kind == "alias"}
            self._rules[unit.path] = CRules(aliases)
        return self._rules[unit.path]

    def run(self, expr: Expr, frame: Frame) -> object:
        if len(self._active) >= _DEEPEST:
            return UNKNOWN
        rules = self.rules_of(frame.unit)
        # One definition leads to the next from inside an evaluation: their depths add up.
        outer, depth = self._evaluator, self._evaluator.depth if self._evaluator else 0
        look = partial(self._look, frame)
        self._evaluator = Evaluator(rules, frame.env, resolve=look, depth=depth)
        try:
            return self._evaluator.value(expr)
        finally:
            self._evaluator = outer

    def _look(self, frame: Frame, expr: Expr) -> object:
        """What the evaluator asks: the value of a name, a dotted name or a call."""
        match expr:
            case Name(id=name) if name not in frame.env:
                return self._name(name, frame)
            case Attr():
                whole = dotted(expr)
                return UNKNOWN if whole is None else self._attribute(whole, frame)
            case Call(func=Name(id=name), keywords=()):
                return self._call(expr, name, frame)
        return UNKNOWN

    def _name(self, name: str, frame: Frame) -> object:
        unit, function = frame.unit, frame.function
        while function is not None:
            places = self._places(function).get(name)
            if places is not None:
                inside = partial(Source, name, unit=unit, function=function, owner=function.owner)
                return self.agree(
                    [inside(p.value, type=p.type, line=p.line) for p in places], frame
                )
            function = around(function, unit)
        if unit.language == "cpp" and is_template_parameter(
            name, frame.function, frame.owner, unit
        ):
            return UNKNOWN
        found: list[Constant | None] = []
        if frame.owner and (unit.language == "cpp" or frame.function is None):
            found = [c for c in unit.constants if (c.name, c.owner) == (name, frame.owner)]
        found = found or self.scopes.constants(unit, name, frame.name)
        if not found and frame.site is not None:
            found = self.scopes.constants(frame.site, name)
        site = frame.site or unit
        return self.agree((self.source(c, site=site) for c in found), frame)

    def _attribute(self, whole: str, frame: Frame) -> object:
        """A dotted name of Python."""
        if frame.unit.language != "python":
            return UNKNOWN
        parts = whole.split(".")
        owner = class_of(frame.function, frame.unit)
        if parts[0] in ("self", "cls") and owner:
            return self._own(owner, parts[1], frame) if len(parts) == 2 else UNKNOWN
        if len(parts) > 2 and parts[-1] == "value":
            members = self.scopes.attribute(frame.unit, parts[:-1], frame.name)
            if members and all(c is not None and c.kind == "enum" for c in members):
                return self.agree(map(self.source, members), frame)
        found = self.scopes.attribute(frame.unit, parts, frame.name)
        return self.agree(map(self.source, found), frame)

    def _own(self, owner: str, name: str, frame: Frame) -> object:
        """`self.name`: every class-level definition and every assignment in the class's methods."""
        found = self.scopes.member((frame.unit, owner), name)
        if any(c is not None and per_instance(c, frame.unit) for c in found):
            return UNKNOWN
        sources = [self.source(c) for c in found]
        word = f"self.{name}"
        for method in frame.unit.functions:
            text = (
                frame.unit.text(method.start_line, method.end_line) if method.owner == owner else ""
            )
            for place in self._places(method).get(word, []) if word in text else []:
                inside = partial(Source, name, unit=frame.unit, function=method, owner=owner)
                sources.append(inside(place.value, type="", line=place.line))
        return self.agree(sources, frame)

    def _call(self, call: Call, name: str, frame: Frame) -> object:
        """A macro with parameters, or a function that only returns an expression."""
        if name == "sizeof" and frame.unit.language == "cpp":
            return _sizeof(call)
        args = [self.run(arg, frame) for arg in call.args]
        if any(arg is UNKNOWN for arg in args):
            return UNKNOWN
        found = self.scopes.constants(frame.unit, name, frame.name)
        macros = [c for c in found if c is not None and c.params is not None]
        site = frame.site or frame.unit
        sources = [
            self.source(c, dict(zip(c.params or (), args, strict=False)), site) for c in macros
        ]
        if not macros:
            functions = self.scopes.functions(frame.unit, name, frame.name)
            sources = [self._returned(f, args) for f in functions]
        return self.agree(sources, frame)

    def _returned(self, function: Function | None, args: list[object]) -> Source | None:
        unit = self.scopes.unit(function.path) if function is not None else None
        if function is None or unit is None or len(args) != len(function.params):
            return None
        if unit.language == "python" and function.marks:
            return None
        rules = self.rules_of(unit)
        env: dict[str, object] = {}
        for param, arg in zip(function.params, args, strict=True):
            env[param.name] = rules.cast(param.type, arg) if integer_type(param.type) else arg
        value = None
        if len(function.body) == 1 and isinstance(function.body[0], Return):
            value = function.body[0].value
        line = function.start_line
        return Source(function.name, value, unit, None, "", function.returns, line, env)

    def _places(self, function: Function) -> dict[str, list[Bound]]:
        key = (function.path, function.qualname, function.start_line)
        if key not in self._bindings:
            self._bindings[key] = bindings(function)
        return self._bindings[key]

    def source(
        self,
        constant: Constant | None,
        env: dict[str, object] | None = None,
        site: SourceFile | None = None,
    ) -> Source | None:
        """How to evaluate `constant`, used in the file `site`; None for what may change as it runs."""
        unit = self.scopes.unit(constant.path) if constant is not None else None
        if constant is None or unit is None or (constant.params is not None and env is None):
            return None
        if not constant.owner and constant.name in self._changing(unit):
            return None
        value, owner, line = automatic(constant, unit), constant.owner, constant.line
        source = Source(constant.name, value, unit, None, owner, constant.type, line, env or {})
        return replace(source, site=site) if constant.kind == "define" else source

    def _changing(self, unit: SourceFile) -> frozenset[str]:
        if unit.path not in self._globals:
            self._globals[unit.path] = global_names(unit)
        return self._globals[unit.path]

    def agree(self, sources: Iterable[Source | None], frame: Frame) -> object:
        """The one value of all `sources`; unknown where there are none, or two values."""
        result: object = UNKNOWN
        trace: list[Location] = []
        for source in sources:
            value, places = (UNKNOWN, ()) if source is None else self._evaluated(source)
            if value is UNKNOWN or not (result is UNKNOWN or _same(result, value)):
                return UNKNOWN
            # Of one value in two types the type is not known.
            both = isinstance(result, Typed) and isinstance(value, Typed) and result != value
            result = Typed(value.value) if both and isinstance(value, Typed) else value
            trace += places
        frame.trace += trace
        return result

    def _evaluated(self, source: Source) -> tuple[object, tuple[Location, ...]]:
        site = source.site.path if source.site is not None else ""
        key = (source.unit.path, source.line, source.owner, source.name, repr(source.env), site)
        if key in self._known:
            return self._known[key]
        if key in self._active or source.value is None:
            return UNKNOWN, ()
        self._active.add(key)
        try:
            frame = Frame(source.unit, source.function, source.owner, source.env, source.site)
            value = self.run(source.value, frame)
            if integer_type(source.type) and source.unit.language == "cpp":
                value = self.rules_of(source.unit).cast(source.type, value)
        finally:
            self._active.discard(key)
        here = Location(source.unit.path, source.line, side=self._side)
        self._known[key] = (value, tuple(dict.fromkeys((here, *frame.trace))))
        return self._known[key]


def _same(left: object, right: object) -> bool:
    """Equal, and of one kind: `1`, `1.0` and `True` are three values. C's types may differ."""
    if isinstance(left, Typed) and isinstance(right, Typed):
        return left.value == right.value
    return type(left) is type(right) and left == right


def _sizeof(call: Call) -> object:
    name = dotted(call.args[0]) if len(call.args) == 1 else None
    kind = integer_type(name or "")
    size = {"float": 4, "double": 8}.get(name or "", kind.bits // 8 or 1 if kind else 0)
    return Typed(size, _SIZE_T) if size else UNKNOWN
