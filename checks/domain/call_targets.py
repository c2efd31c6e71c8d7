"""What a Python call reaches: functions and classes of the tree, through imports, and whether its
arguments fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.eval.interpreter.modules import Modules
from checks.eval.interpreter.program import PatchedModules
from checks.eval.interpreter.values import ClassRef, FuncRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Import, Param, SourceFile
from checks.lang.ir.stmt import Assign, Define, For, Stmt, With, guarded_statements

# Decorators that leave the argument list as it is.
_TRANSPARENT = re.compile(
    r"^(staticmethod|classmethod|(abc\.)?abstractmethod|override)$|inference_mode|no_grad"
)


@dataclass(frozen=True, slots=True)
class CallTarget:
    """A Python function that a call reaches; `skip` leading parameters are bound (`self`)."""

    function: Function
    unit: SourceFile
    skip: int = 0

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters that the call's arguments are for."""
        return self.function.params[self.skip :]


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why an argument list does not fit.

    `kind` is `missing` (required parameters, in `name`), `unexpected` (a keyword, in `name`) or
    `many` (too many positional arguments).
    """

    kind: str
    name: str
    given: int
    wanted: int


class CallTargets:
    """Resolves calls on one side of a change."""

    def __init__(self, change: ChangeSet, side: Side = Side.HEAD) -> None:
        self._program = PatchedModules(Modules(lambda path: change.unit(path, side)))

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> CallTargets:
        """The one resolver of this change."""
        return change.memo((cls, side), lambda: cls(change, side))

    def of(self, call: E.Call, function: Function, unit: SourceFile) -> CallTarget | None:
        """The one function of the tree that `call`, standing in `function`, certainly reaches."""
        match call.func:
            case E.Name(id=name):
                return self._named(name, call, function, unit)
            case E.Attr(base=E.Name(id="self" | "cls"), name=name) if function.owner:
                return self._method(name, function, unit)
            case E.Attr(base=E.Name(id=module), name=name):
                return self._in_module(module, name, function, unit)
            case _:
                return None

    def _named(
        self, name: str, call: E.Call, function: Function, unit: SourceFile
    ) -> CallTarget | None:
        if _is_param(name, function) or name in assigned_names(function):
            return None
        imports = nearest_imports(name, call.line, function, unit)
        if len(imports) > 1:
            return None
        if imports:
            return self._target(self._program.imported(imports[0], unit).value)
        defined = self._program.defined(unit, name)
        return self._target(defined.value) if defined is not None else None

    def _in_module(
        self, module: str, name: str, function: Function, unit: SourceFile
    ) -> CallTarget | None:
        """The function `name` of an imported module."""
        imports = []
        for item in unit.imports:
            if (item.alias or item.name or item.module) == module and not item.guard:
                imports.append(item)
        if len(imports) != 1 or _is_param(module, function):
            return None
        value = self._program.imported(imports[0], unit).value
        if isinstance(value, ClassRef | FuncRef):
            return None
        module_unit = getattr(value, "unit", None)
        if module_unit is None:
            return None
        defined = self._program.defined(module_unit, name)
        return self._target(defined.value) if defined is not None else None

    def _method(self, name: str, function: Function, unit: SourceFile) -> CallTarget | None:
        """The method `name` of the class of `function`, or of the nearest class it inherits."""
        owner = next((cls for cls in unit.classes if cls.name == function.owner), None)
        if owner is None or "staticmethod" in function.marks:
            return None
        for ref in self._program.ancestors(ClassRef(owner, unit)):
            methods = _methods(ref, name)
            if len(methods) > 1:
                return None
            if methods:
                return _undecorated(CallTarget(methods[0], ref.unit, 1))
        return None

    def _target(self, value: object) -> CallTarget | None:
        if isinstance(value, FuncRef):
            return _undecorated(CallTarget(value.function, value.unit))
        if isinstance(value, ClassRef):
            return self._constructor(value)
        return None

    def _constructor(self, ref: ClassRef) -> CallTarget | None:
        """The `__init__` that a call of a class reaches."""
        # A decorator such as `dataclass` makes a constructor of its own.
        if ref.cls.decorators:
            return None
        for base in self._program.ancestors(ref):
            constructors = _methods(base, "__init__")
            if _methods(base, "__new__") or len(constructors) > 1:
                return None
            if constructors:
                return _undecorated(CallTarget(constructors[0], base.unit, 1))
        return None


def _methods(ref: ClassRef, name: str) -> list[Function]:
    qualname = f"{ref.cls.name}.{name}"
    return [function for function in ref.unit.functions if function.qualname == qualname]


def _is_param(name: str, function: Function) -> bool:
    return any(param.name == name for param in function.params)


def _undecorated(target: CallTarget) -> CallTarget | None:
    """`target` unless a decorator may change its argument list; a static method binds nothing."""
    marks = target.function.marks
    if not all(_TRANSPARENT.search(mark) for mark in marks):
        return None
    if "staticmethod" in marks:
        return CallTarget(target.function, target.unit, 0)
    return target


def nearest_imports(name: str, line: int, function: Function, unit: SourceFile) -> list[Import]:
    """The imports that may bind `name` at `line`: the last one above it in the function, else those
    of the file."""
    imports = [item for item in unit.imports if (item.alias or item.name) == name]
    inside = [item for item in imports if function.start_line <= item.line <= line]
    if inside:
        return [max(inside, key=lambda item: item.line)]
    return [item for item in imports if not item.function]


def assigned_names(function: Function) -> frozenset[str]:
    """Names that `function` binds itself."""
    # Kept, because every call in the function asks.
    return function.body.memo(assigned_names, lambda: _assigned(function))


def _assigned(function: Function) -> frozenset[str]:
    names: set[str] = set()
    for guarded in guarded_statements(function.body):
        names.update(_names_bound_by(guarded.stmt))
    return frozenset(names)


def _names_bound_by(stmt: Stmt) -> Iterator[str]:
    match stmt:
        case Assign(target=E.Name(id=name)) | For(target=E.Name(id=name)) | Define(name=name):
            yield name
        case Assign(target=E.Sequence(items=items)) | For(target=E.Sequence(items=items)):
            for item in items:
                if isinstance(item, E.Name):
                    yield item.id
        case With(items=items):
            for item in items:
                match item:
                    case E.Binary(op="as", right=E.Name(id=name)):
                        yield name


def find_misfit(call: E.Call, target: CallTarget) -> Misfit | None:
    """Why `call` does not fit the parameters of `target`, or None where it fits or passes
    `*args`."""
    if E.starred(call):
        return None
    kinds = {param.kind for param in target.params}
    positional = [param for param in target.params if param.kind == "positional"]
    if len(call.args) > len(positional) and "args" not in kinds:
        return Misfit("many", "", len(call.args), len(positional))
    named = [param for param in target.params if param.kind in ("positional", "keyword")]
    given = len(call.args) + len(call.keywords)
    names = {param.name for param in named}
    keywords = [name for name, _ in call.keywords]
    unexpected = [name for name in keywords if name not in names]
    if unexpected and "kwargs" not in kinds:
        return Misfit("unexpected", unexpected[0], given, len(named))
    passed = {param.name for param in positional[: len(call.args)]}.union(keywords)
    missing = _required_names(named, passed)
    if missing:
        return Misfit("missing", ", ".join(missing), given, len(named))
    return None


def _required_names(params: list[Param], passed: set[str]) -> list[str]:
    """The parameters without a default that are not `passed`."""
    required = [param.name for param in params if param.default is None]
    return [name for name in required if name not in passed]


def signature(function: Function) -> tuple[tuple[str, str, bool], ...]:
    """What callers see of the parameters: name, kind, and whether there is a default."""
    return tuple((p.name, p.kind, p.default is not None) for p in function.params)


def called_name(function: Function) -> str:
    """What a caller writes: the class for a constructor."""
    is_constructor = function.name == "__init__" and function.owner
    return function.owner if is_constructor else function.name
