"""What a Python call reaches: functions and classes of the tree, through imports, and whether its arguments fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.eval.interpreter.program import Modules, Program
from checks.eval.interpreter.values import ClassRef, FuncRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Import, Param, SourceFile
from checks.lang.ir.stmt import Assign, Define, For, With, guarded_statements

_TRANSPARENT = re.compile(
    r"^(staticmethod|classmethod|(abc\.)?abstractmethod|override)$|inference_mode|no_grad"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A Python function that a call reaches; `skip` leading parameters are bound (`self`)."""

    function: Function
    unit: SourceFile
    skip: int = 0

    @property
    def params(self) -> tuple[Param, ...]:
        return self.function.params[self.skip :]


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why an argument list does not fit: `missing` required parameters, an `unexpected` keyword, or too `many`."""

    kind: str
    name: str
    given: int
    wanted: int


@dataclass
class Targets:
    """Resolves calls on one side of a change."""

    change: ChangeSet
    side: Side = Side.HEAD
    _program: Program = field(init=False)

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> Targets:
        """The one resolver of this change."""
        return change.memo((cls, side), lambda: cls(change, side))

    def __post_init__(self) -> None:
        self._program = Program(Modules(lambda path: self.change.unit(path, self.side)))

    def of(self, call: E.Call, function: Function, unit: SourceFile) -> Target | None:
        """The one function of the tree that `call`, standing in `function`, certainly reaches."""
        match call.func:
            case E.Name(id=name):
                return self._named(name, call, function, unit)
            case E.Attr(base=E.Name(id="self" | "cls"), name=name) if function.owner:
                return self._method(name, function, unit)
            case E.Attr(base=E.Name(id=module), name=name):
                return self._in_module(module, name, function, unit)
        return None

    def _named(
        self, name: str, call: E.Call, function: Function, unit: SourceFile
    ) -> Target | None:
        if name in {p.name for p in function.params} or name in assigned(function):
            return None
        imports = nearest_imports(name, call.line, function, unit)
        if imports:
            values = [self._program.imported(i, unit).value for i in imports]
            return self._target(values[0]) if len(values) == 1 else None
        found = self._program.defined(unit, name)
        return self._target(found.value) if found is not None else None

    def _in_module(
        self, module: str, name: str, function: Function, unit: SourceFile
    ) -> Target | None:
        imports = [
            i for i in unit.imports if (i.alias or i.name or i.module) == module and not i.guard
        ]
        if len(imports) != 1 or module in {p.name for p in function.params}:
            return None
        found = self._program.imported(imports[0], unit).value
        unit_of = getattr(found, "unit", None)
        if isinstance(found, ClassRef) or unit_of is None or isinstance(found, FuncRef):
            return None
        defined = self._program.defined(unit_of, name)
        return self._target(defined.value) if defined is not None else None

    def _method(self, name: str, function: Function, unit: SourceFile) -> Target | None:
        owner = next((c for c in unit.classes if c.name == function.owner), None)
        if owner is None or "staticmethod" in function.marks:
            return None
        for ref in self._program.ancestors(ClassRef(owner, unit)):
            methods = [f for f in ref.unit.functions if f.qualname == f"{ref.cls.name}.{name}"]
            if methods:
                return _plain(Target(methods[0], ref.unit, 1)) if len(methods) == 1 else None
        return None

    def _target(self, value: object) -> Target | None:
        if isinstance(value, FuncRef):
            return _plain(Target(value.function, value.unit))
        if isinstance(value, ClassRef):
            return self._constructor(value)
        return None

    def _constructor(self, ref: ClassRef) -> Target | None:
        if ref.cls.decorators:
            return None
        for base in self._program.ancestors(ref):
            found = [f for f in base.unit.functions if f.qualname == f"{base.cls.name}.__init__"]
            made = [f for f in base.unit.functions if f.qualname == f"{base.cls.name}.__new__"]
            if made or len(found) > 1:
                return None
            if found:
                return _plain(Target(found[0], base.unit, 1))
        return None


def _plain(target: Target) -> Target | None:
    """`target` unless a decorator may change its argument list; a static method binds nothing."""
    marks = target.function.marks
    if any(not _TRANSPARENT.search(m) for m in marks):
        return None
    return Target(target.function, target.unit, 0) if "staticmethod" in marks else target


def nearest_imports(name: str, line: int, function: Function, unit: SourceFile) -> list[Import]:
    """The imports that may bind `name` at `line`: the last one above it in the function, else those of the file."""
    named = [i for i in unit.imports if (i.alias or i.name) == name]
    inside = [i for i in named if function.start_line <= i.line <= line]
    if inside:
        return [max(inside, key=lambda i: i.line)]
    return [i for i in named if not i.function]


def assigned(function: Function) -> frozenset[str]:
    """Names that `function` binds itself."""
    return function.body.memo(assigned, lambda: frozenset(_assigned(function)))


def _assigned(function: Function) -> set[str]:
    names: set[str] = set()
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if isinstance(stmt, Assign | For) and isinstance(stmt.target, E.Name):
            names.add(stmt.target.id)
        elif isinstance(stmt, Assign | For) and isinstance(stmt.target, E.Sequence):
            names |= {i.id for i in stmt.target.items if isinstance(i, E.Name)}
        elif isinstance(stmt, Define):
            names.add(stmt.name)
        elif isinstance(stmt, With):
            names |= {n for item in stmt.items for n in _bound(item)}
    return names


def _bound(item: E.Expr) -> Iterator[str]:
    if isinstance(item, E.Binary) and item.op == "as" and isinstance(item.right, E.Name):
        yield item.right.id


def misfit(call: E.Call, target: Target) -> Misfit | None:
    """Why `call` does not fit the parameters of `target`, or None where it fits or passes `*args`."""
    if E.starred(call):
        return None
    params = target.params
    positional = [p for p in params if p.kind == "positional"]
    given = len(call.args) + len(call.keywords)
    wanted = len([p for p in params if p.kind in ("positional", "keyword")])
    if len(call.args) > len(positional) and not any(p.kind == "args" for p in params):
        return Misfit("many", "", len(call.args), len(positional))
    names = {p.name for p in params if p.kind in ("positional", "keyword")}
    passed = {p.name for p in positional[: len(call.args)]}
    for keyword, _ in call.keywords:
        if keyword not in names and not any(p.kind == "kwargs" for p in params):
            return Misfit("unexpected", keyword, given, wanted)
        passed.add(keyword)
    missing = [p.name for p in params if p.kind in ("positional", "keyword") and p.default is None]
    missing = [name for name in missing if name not in passed]
    return Misfit("missing", ", ".join(missing), given, wanted) if missing else None


def signature(function: Function) -> tuple[tuple[str, str, bool], ...]:
    """What callers see of the parameters: name, kind, and whether there is a default."""
    return tuple((p.name, p.kind, p.default is not None) for p in function.params)


def called(function: Function) -> str:
    """What a caller writes: the class for a constructor."""
    return function.owner if function.name == "__init__" and function.owner else function.name
