"""The Python calls that a change may have broken: those it wrote, and those of what it altered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_files, changed_functions
from checks.core.config import Config
from checks.core.words import as_bytes
from checks.domain.calls.classes import Classes
from checks.domain.calls.handed_over import handed_over, pattern_of
from checks.domain.calls.records import is_dataclass, is_named_tuple
from checks.domain.calls.targets import signature
from checks.domain.calls.torch_ops import schema_names
from checks.domain.calls.types import Types
from checks.domain.calls.value_types import Scope
from checks.domain.keys import product_files
from checks.domain.ops import calls_of
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.lang.ir.stmt import Assign, For, unreached
from checks.lang.source import language

# A name that is called in more files than this is looked for where its class is named too, and in
# no more than this.
_MANY_FILES = 40
# What runs where an object itself is called; `forward` is a layer's.
_CALLED_BY_OBJECT = ("__call__", "forward")
_MAKES_OWN = re.compile(r"\bcls\s*\(|\btype\(\w+\)\s*\(|\.__class__\s*\(")


# The name that callers write, and classes of which a file that calls it names one.
NameOfCalls = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call, with the conditions around it, and the function and file in which it stands.

    `through` is the call that makes it, of something to which the function is handed over.
    """

    call: E.Call
    function: Function
    unit: SourceFile
    guards: tuple[E.Expr, ...] = ()
    through: E.Call | None = None

    @property
    def lines(self) -> tuple[int, int]:
        """The first and last line of the call's parts."""
        lines = [part.line for part in E.walk(self.call) if part.line]
        return min(lines, default=self.call.line), max(lines, default=self.call.line)

    @property
    def place(self) -> tuple[str, int]:
        """The file and line in which the call begins."""
        return self.unit.path, self.call.line

    @property
    def own_method(self) -> Function | None:
        """The method in which the call stands, where it calls another of its object or class."""
        match self.call.func:
            case E.Attr(base=E.Name(id="self" | "cls")) | E.Name(id="cls") if self.function.owner:
                return self.function
            case _:
                return None


def calls_to_check(change: ChangeSet, config: Config) -> list[CallSite]:
    """The calls in changed functions, and those of functions and classes whose parameters changed.

    Calls in tests are left out.
    """
    return change.memo(calls_to_check, lambda: list(_each_once(_calls_to_check(change, config))))


def _each_once(sites: Iterator[CallSite]) -> Iterator[CallSite]:
    seen: set[tuple[str, int, int]] = set()
    for site in sites:
        place = site.unit.path, site.call.line, id(site.call)
        if place not in seen:
            seen.add(place)
            yield site


def _calls_to_check(change: ChangeSet, config: Config) -> Iterator[CallSite]:
    for changed in changed_functions(change, config):
        if changed.python:
            yield from _written_calls(changed)
    for name, owners in sorted(_altered_names(change, config)):
        yield from calls_of_name(name, owners, change, config)
    for ref in _classes_with_other(_CALLED_BY_OBJECT, change, config):
        for member in (ref, *Classes.of_change(change).subclasses(ref)):
            yield from _calls_of_objects(member.cls.name, change, config)
    for ref in _altered_constructors(change, config):
        yield from _calls_by_subclasses(ref, change, config)
        yield from calls_of_own_class(ref, change, config)


def _written_calls(changed: ChangedFunction) -> Iterator[CallSite]:
    """The calls of a changed function that may reach something else, or otherwise, than before.

    A call that the change did not write may do so by what stands before the dot.
    """
    bound = set(_names_bound_anew(changed))
    for site in sites_in(changed.head, changed.unit):
        if E.root(site.call.func) in bound or changed.touched(*site.lines):
            yield site


def _names_bound_anew(changed: ChangedFunction) -> Iterator[str]:
    """The names that lines of the change bind: variables, parameters, imports."""
    for guarded in changed.statements:
        stmt = guarded.stmt
        target = stmt.target if isinstance(stmt, Assign | For) else None
        if target is not None and changed.touched(stmt.line):
            yield from E.names(target)
    for param in changed.head.params:
        if changed.touched(param.line):
            yield param.name
    for item in changed.unit.imports:
        if changed.touched(item.line):
            yield item.alias or item.name or item.module


def sites_in(function: Function, unit: SourceFile) -> Iterator[CallSite]:
    """Every call that stands in the function itself, not in one that it defines, and can run; also
    those of functions that it hands over."""
    # Kept, so that a call which another one makes is the same whenever somebody asks.
    for call, guards, through in function.body.memo(sites_in, lambda: list(_calls_in(function))):
        yield CallSite(call, function, unit, guards, through)


def _calls_in(function: Function) -> Iterator[tuple[E.Call, tuple[E.Expr, ...], E.Call | None]]:
    """Every call that can run, with the conditions around it, and the call that makes it."""
    dead = list(unreached(function.body))
    for call, guards in calls_of(function.body):
        if any(stmt.line <= call.line <= stmt.end_line for stmt in dead):
            continue
        yield call, guards, None
        made = handed_over(call)
        if made is not None:
            yield made, guards, call


def calls_of_name(
    name: str, owners: tuple[str, ...], change: ChangeSet, config: Config
) -> Iterator[CallSite]:
    """The calls of `name` in the product.

    Where very many files call something of that name, those in the files that name one of the
    classes `owners` too, and of these in so many, those of the change first.
    """
    paths = _files_that_may_call(name, change, config)
    if len(paths) > _MANY_FILES and owners:
        naming = {path for one in owners for path in change.head.paths_containing(one, "python")}
        paths = [path for path in paths if path in naming]
    paths.sort(key=lambda path: change.changed(path) is None)
    for path in paths[:_MANY_FILES]:
        unit = change.unit(path)
        if unit is None:
            continue
        word = re.compile(rf"\b{re.escape(name)}\b")
        for function in unit.functions:
            if not word.search(unit.text_of(function)):
                continue
            for site in sites_in(function, unit):
                if called_word(site.call) == name:
                    yield site


def _calls_of_objects(name: str, change: ChangeSet, config: Config) -> Iterator[CallSite]:
    """`layer(rows)`, `self.layers[0](rows)`: the calls of objects, in the files that name the class
    `name`."""
    for path in product_files(name, change, config)[:_MANY_FILES]:
        unit = change.unit(path)
        if unit is not None:
            sites = [site for function in unit.functions for site in sites_in(function, unit)]
            yield from filter(_may_call_object, sites)


def _may_call_object(site: CallSite) -> bool:
    """Whether what is called is no function or class that the file defines or imports."""
    name, unit = called_word(site.call), site.unit
    is_known = name in unit.classes_named or name in unit.imports_named or bool(unit.named(name))
    return isinstance(site.call.func, E.Index) or not is_known


def _files_that_may_call(name: str, change: ChangeSet, config: Config) -> list[str]:
    """The Python files of the product that call `name`, launch it, call it as an op, or hand it
    over."""
    direct = rf"\b{re.escape(name)}\s*(?:\(|\[|\.default)"
    call = re.compile(as_bytes(f"{direct}|{pattern_of(name)}"))
    paths: list[str] = []
    for path in product_files(name, change, config):
        if call.search(change.head.read(path) or b""):
            paths.append(path)
    return paths


def called_under(function: Function, unit: SourceFile, change: ChangeSet) -> NameOfCalls:
    """The name by which callers find a function, and the classes through which they may call it:
    its own, and those from which it has the method."""
    owners = unit.classes_named.get(function.owner, []) if function.owner else []
    if function.name == "__init__" and function.owner:
        return function.owner, ()
    if len(owners) != 1:
        return function.name, (function.owner,) if function.owner else ()
    lineage = Classes.of_change(change).lineage(ClassRef(owners[0], unit)).classes
    return function.name, tuple(ref.cls.name.rpartition(".")[2] for ref in lineage)


def _altered_names(change: ChangeSet, config: Config) -> set[NameOfCalls]:
    """Under which names callers find what takes other arguments than before."""
    names: set[NameOfCalls] = set()
    for changed in changed_functions(change, config):
        base, head = changed.base, changed.head
        if not changed.python or base is None or signature(base) == signature(head):
            continue
        names.add(called_under(head, changed.unit, change))
    names |= {(name, ()) for name in _altered_schemas(change)}
    for ref in _altered_constructors(change, config):
        names.add((ref.cls.name, ()))
        for child in Classes.of_change(change).subclasses(ref):
            names.add((child.cls.name, ()))
    return names


def _altered_schemas(change: ChangeSet) -> set[str]:
    """The ops whose schema in C++ the change wrote."""
    names: set[str] = set()
    for file in change.files:
        if language(file.path) != "cpp":
            continue
        head, base = change.head_unit(file), change.base_unit(file)
        now = schema_names("\n".join(head.lines)) if head is not None else set()
        before = schema_names("\n".join(base.lines)) if base is not None else set()
        names |= {name for name, _ in now ^ before}
    return names


def called_word(call: E.Call) -> str:
    """The name by which a call is found in text: also of `kernel[grid](...)` and of an op."""
    match call.func:
        case E.Index(base=E.Name(id=name)):
            return name
        case E.Attr(base=E.Attr(name=name), name="default"):
            return name
        case _:
            return E.callee(call)


def _altered_constructors(change: ChangeSet, config: Config) -> list[ClassRef]:
    """The classes whose constructor takes other arguments than before."""
    return change.memo(_altered_constructors, lambda: list(_find_constructors(change, config)))


def _find_constructors(change: ChangeSet, config: Config) -> Iterator[ClassRef]:
    """The classes that are made with other arguments than before."""
    yield from _classes_with_other(("__init__",), change, config)
    yield from _classes_with_other_fields(change, config)


def _classes_with_other(
    methods: tuple[str, ...], change: ChangeSet, config: Config
) -> Iterator[ClassRef]:
    """The classes of which one of `methods` takes other arguments than before."""
    for changed in changed_functions(change, config):
        base, head, unit = changed.base, changed.head, changed.unit
        if not changed.python or head.name not in methods or base is None:
            continue
        if signature(base) != signature(head):
            for cls in unit.classes_named.get(head.owner, [])[:1]:
                yield ClassRef(cls, unit)


def _classes_with_other_fields(change: ChangeSet, config: Config) -> Iterator[ClassRef]:
    """Of those whose `__init__` is made of their fields."""
    for unit, base_unit in changed_files(change, config, "python"):
        if base_unit is None:
            continue
        for cls in unit.classes:
            made_of_fields = is_dataclass(cls) or is_named_tuple(cls)
            if made_of_fields and _has_other_fields(cls, unit, base_unit):
                yield ClassRef(cls, unit)


def _has_other_fields(cls: Class, unit: SourceFile, base_unit: SourceFile) -> bool:
    old = base_unit.classes_named.get(cls.name, [])
    return len(old) == 1 and _fields(old[0], base_unit) != _fields(cls, unit)


def _fields(cls: Class, unit: SourceFile) -> list[tuple[str, bool]]:
    """The fields of a class, and whether each has a value."""
    own = [c for c in unit.constants if c.owner == cls.name and c.kind == "field"]
    return [(constant.name, constant.value is not None) for constant in own]


def calls_of_own_class(ref: ClassRef, change: ChangeSet, config: Config) -> Iterator[CallSite]:
    """`cls(...)` in the methods that objects of the class have."""
    classes, types = Classes.of_change(change), Types.of_change(change)
    for member in (*classes.lineage(ref).classes, *classes.subclasses(ref)):
        for function in member.unit.functions:
            if function.owner != member.cls.name or config.is_test(member.unit.path):
                continue
            if not _MAKES_OWN.search(member.unit.text_of(function)):
                continue
            for site in sites_in(function, member.unit):
                if types.own_class(site.call.func, Scope(function, member.unit)) is not None:
                    yield site


def _calls_by_subclasses(ref: ClassRef, change: ChangeSet, config: Config) -> Iterator[CallSite]:
    """`super().__init__(...)` in the classes that inherit."""
    for child in Classes.of_change(change).subclasses(ref):
        if config.is_test(child.unit.path):
            continue
        for function in child.unit.functions_named.get(f"{child.cls.name}.__init__", []):
            for site in sites_in(function, child.unit):
                if E.callee(site.call) == "__init__":
                    yield site
