"""Which buffer an op's parameter is: Python call sites, followed to `share_inputs["x"]` or the
field it was put in.

A buffer is named by the object that holds it and its name there: `share_inputs.token_ids_all`,
`model_inputs.pre_ids`. Two holders with different names are two buffers, even where the names of
what they hold are the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from checks.core.words import as_bytes
from checks.domain.indices.op_index import OpFacts, OpIndex
from checks.eval.symbolic.calls import SAME_ELEMENT_METHODS
from checks.lang.ir.expr import Attr, Call, Const, Expr, Index, Name, Ternary, callee, dotted, walk
from checks.lang.ir.source_file import Function, SourceFile, any_line_in
from checks.lang.ir.stmt import Assign, If, Stmt, guarded_statements

_WORD = re.compile(r"\w+")
# A local that is set to another local is followed this deep.
_MOST_LOCALS = 4


@dataclass(frozen=True, eq=False)
class OpSite:
    """A call of an op in product code.

    `hardware` is the one that its file or function is for, and `modules` those whose op modules it
    imports; both are empty for code that serves them all.
    """

    op: str
    path: str
    function: str
    call: Call
    scope: FunctionScope
    hardware: str
    modules: frozenset[str]

    @property
    def line(self) -> int:
        return self.call.line

    def keys(self, facts: OpFacts, params: Collection[str] | None = None) -> dict[str, str]:
        """Parameter of the op (of `params`, where given) to buffer, without arguments that could
        not be followed."""
        hardware = self.hardware or facts.hardware
        arguments = [*zip(facts.params, self.call.args, strict=False), *self.call.keywords]
        keys: dict[str, str] = {}
        for name, expr in arguments:
            if params is not None and name not in params:
                continue
            key = self.scope.key(expr, hardware)
            if key is not None:
                keys[name] = key
        return keys

    @cached_property
    def words(self) -> frozenset[str]:
        """The names and keys in the call."""
        return words_of_call(self.call)

    def runs(self, facts: OpFacts) -> bool:
        """Whether this call can reach that implementation."""
        if self.hardware == facts.hardware or not facts.hardware:
            return True
        if facts.hardware in self.modules:
            return True
        serves_all = not self.hardware and not self.modules
        return serves_all


class Buffers:
    """The call sites of one side of a change."""

    def __init__(self, library: OpIndex) -> None:
        self.library = library
        # All four are kept, because every convention of every op asks for the same sites.
        self._fields: dict[str, list[tuple[str, dict[str, str]]]] = {}
        self._sites_of_file: dict[str, list[OpSite]] = {}
        self._sites_of_op: dict[str, list[OpSite]] = {}
        self._exclusive: dict[frozenset[str], bool] = {}

    # Call sites

    def within(self, path: str, functions: set[str] | None) -> list[OpSite]:
        """The calls in some functions (None: in all) of one file, in line order, without looking at
        any other file."""
        if path not in self._sites_of_file:
            sites = list(self._find_sites(path))
            self._sites_of_file[path] = sorted(sites, key=lambda site: site.line)
        sites = self._sites_of_file[path]
        if functions is None:
            return list(sites)
        return [site for site in sites if site.function in functions]

    def _find_sites(self, path: str) -> Iterator[OpSite]:
        data = self.library.files.get(path, b"")
        if not any(as_bytes(op) in data for op in self.library.ops):
            return
        unit = self.library.unit(path)
        if unit is None:
            return
        config = self.library.config
        modules = _hardware_of_imports(unit, {hardware.name for hardware in config.hardware})
        for function in unit.functions:
            text = unit.text_of(function)
            if self.library.ops.keys().isdisjoint(_WORD.findall(text)):
                continue
            scope = FunctionScope(function, unit, self)
            hardware = config.hardware_of(path) or config.hardware_of(function.name)
            for call in calls(function.body):
                name = callee(call)
                if name in self.library.ops:
                    own_modules = modules.get(name, frozenset())
                    yield OpSite(name, path, function.qualname, call, scope, hardware, own_modules)

    def of(self, op: str) -> list[OpSite]:
        """The calls of one op in product Python, in path and line order."""
        if op not in self._sites_of_op:
            sites = self._in_product(self.library.holding("python", op))
            self._sites_of_op[op] = [site for site in sites if site.op == op]
        return self._sites_of_op[op]

    def mentioning(self, words: set[str]) -> list[OpSite]:
        """The calls of any op that have all of `words` as names or keys in their arguments."""
        paths = set.intersection(*(set(self.library.holding("python", word)) for word in words))
        return [site for site in self._in_product(sorted(paths)) if words <= site.words]

    def _in_product(self, paths: list[str]) -> Iterator[OpSite]:
        for path in paths:
            if not self.library.config.is_test(path):
                yield from self.within(path, None)

    # Branches

    def exclusive(self, one: OpSite, other: OpSite) -> bool:
        """Whether the functions of two calls are the two arms of one choice, so that a run takes
        only one of them."""
        first = one.function.rsplit(".", 1)[-1]
        second = other.function.rsplit(".", 1)[-1]
        if first == second or one.path != other.path:
            return False
        pair = frozenset({first, second})
        if pair not in self._exclusive:
            paths = self.library.holding("python", first)
            self._exclusive[pair] = any(self._chooses(path, first, second) for path in paths)
        return self._exclusive[pair]

    def _chooses(self, path: str, first: str, second: str) -> bool:
        """Whether a branch in the file calls one of two functions in each arm."""
        if as_bytes(second) not in self.library.files[path]:
            return False
        unit = self.library.unit(path)
        if unit is None:
            return False
        for function in unit.functions:
            text = unit.text_of(function)
            if f"{first}(" not in text or f"{second}(" not in text:
                continue
            for guarded in guarded_statements(function.body):
                if isinstance(guarded.stmt, If) and _are_arms(guarded.stmt, first, second):
                    return True
        return False

    # Fields

    def field(self, kind: str, name: str, hardware: str) -> str | None:
        """The buffer that objects of the class `kind` get as `name`, where all that are made on
        `hardware` agree."""
        constructions = self._constructions(kind)
        own = [fields for place, fields in constructions if place == hardware]
        if not own:
            own = [fields for _, fields in constructions]
        keys = {fields[name] for fields in own if name in fields}
        return keys.pop() if len(keys) == 1 else None

    def known(self, kind: str) -> bool:
        """Whether product code makes objects of the class `kind` with fields by name."""
        return bool(self._constructions(kind))

    def _constructions(self, kind: str) -> list[tuple[str, dict[str, str]]]:
        """(hardware of the file, field to buffer) of every call of the class `kind`."""
        if kind not in self._fields:
            self._fields[kind] = list(self._find_constructions(kind))
        return self._fields[kind]

    def _find_constructions(self, kind: str) -> Iterator[tuple[str, dict[str, str]]]:
        # An annotation such as `Dict[str, Tensor]` is never called.
        if not kind.isidentifier():
            return
        for path in self.library.holding("python", kind):
            if self.library.config.is_test(path):
                continue
            hardware = self.library.config.hardware_of(path)
            for call, scope in self._calls_of_class(kind, path):
                fields: dict[str, str] = {}
                for name, value in call.keywords:
                    key = scope.key(value, hardware)
                    if key:
                        fields[name] = key
                if fields:
                    yield hardware, fields

    def _calls_of_class(self, kind: str, path: str) -> Iterator[tuple[Call, FunctionScope]]:
        if as_bytes(f"{kind}(") not in self.library.files[path]:
            return
        unit = self.library.unit(path)
        if unit is None:
            return
        for function in unit.functions:
            if f"{kind}(" not in unit.text_of(function):
                continue
            scope = FunctionScope(function, unit, self)
            for call in calls(function.body):
                if callee(call) == kind:
                    yield call, scope


def _are_arms(branch: If, first: str, second: str) -> bool:
    """Whether one arm calls `first` and the other one `second` and not `first`, or the reverse."""
    then = {callee(call) for call in calls(branch.then)}
    orelse = {callee(call) for call in calls(branch.orelse)}
    for one_arm, other_arm in ((then, orelse), (orelse, then)):
        if first in one_arm and second in other_arm and second not in one_arm:
            return True
    return False


class FunctionScope:
    """Names inside one Python function."""

    def __init__(self, function: Function, unit: SourceFile, buffers: Buffers) -> None:
        self.unit = unit
        self.buffers = buffers
        self.types = {param.name: param.type.strip("\"' ") for param in function.params}
        self.function = function

    @cached_property
    def locals(self) -> dict[str, list[Expr]]:
        """What each variable of the function is assigned, on any path."""
        assigned: dict[str, list[Expr]] = {}
        for guarded in guarded_statements(self.function.body):
            match guarded.stmt:
                case Assign(target=Name(id=name), op="=", value=value) if value is not None:
                    assigned.setdefault(name, []).append(value)
        return assigned

    def key(self, expr: Expr, hardware: str, depth: int = 0) -> str | None:
        """The buffer that `expr` is on `hardware`, without copies and views of it."""
        match expr:
            case Call(func=Attr(base=base, name=name)) if name in SAME_ELEMENT_METHODS:
                return self.key(base, hardware, depth)
            case Ternary(then=then):
                return self.key(then, hardware, depth)
            case Index(base=base, indices=(Const(value=str(name)),)):
                return self.held(base, name, hardware)
            case Attr(base=base, name=name):
                return self.held(base, name, hardware)
            case Name(id=name) if depth < _MOST_LOCALS:
                return self._key_of_local(name, hardware, depth)
            case _:
                return None

    def _key_of_local(self, name: str, hardware: str, depth: int) -> str | None:
        """The one buffer that a local may be."""
        keys: set[str] = set()
        for value in self.locals.get(name, ()):
            key = self.key(value, hardware, depth + 1)
            if key is not None:
                keys.add(key)
        return keys.pop() if len(keys) == 1 else None

    def held(self, base: Expr, name: str, hardware: str) -> str | None:
        """The buffer `name` of the object `base`."""
        owner = dotted(base)
        if owner is None:
            return None
        kind = self.types.get(owner, "")
        if kind[:1].isupper() and self.buffers.known(kind):
            return self.buffers.field(kind, name, hardware)
        return f"{owner.removeprefix('self.')}.{name}"


def calls(body: tuple[Stmt, ...], lines: Sequence[int] | None = None) -> Iterator[Call]:
    """Every call in `body`, in source order; with `lines`, which are sorted, only those of
    statements that hold one of them."""
    for guarded in guarded_statements(body):
        stmt = guarded.stmt
        if lines is not None and not any_line_in(lines, stmt.line, stmt.end_line):
            continue
        for part in ("value", "test", "iterable", "target"):
            expr = getattr(stmt, part, None)
            if expr is None:
                continue
            for inner in walk(expr):
                if isinstance(inner, Call):
                    yield inner


def words_of_call(call: Call) -> frozenset[str]:
    """Every name and key in the arguments of a call, a field's own name among them."""
    found: set[str] = set()
    for expr in walk(call):
        match expr:
            case Name(id=word) | Attr(name=word) | Const(value=str(word)):
                found.add(word)
    return frozenset(found)


def _hardware_of_imports(unit: SourceFile, hardware: set[str]) -> dict[str, frozenset[str]]:
    """Imported name to the hardware that its modules are for (`gpu` of `ops.gpu`)."""
    found: dict[str, frozenset[str]] = {}
    for item in unit.imports:
        module = item.module.rsplit(".", 1)[-1]
        if item.name and module in hardware:
            name = item.alias or item.name
            found[name] = found.get(name, frozenset()) | {module}
    return found
