"""Which buffer an op's parameter is: Python call sites, followed to `share_inputs["x"]` or the field it was put in.

A buffer is named by the object that holds it and its name there: `share_inputs.token_ids_all`, `model_inputs.pre_ids`.
Two holders with different names are two buffers, even where the names of what they hold are the same.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from checks.domain.indices.op_index import Library, OpFacts, places
from checks.eval.symbolic.calls import SAME
from checks.lang.ir.expr import Attr, Call, Const, Expr, Index, Name, Ternary, callee, dotted, walk
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, If, Stmt, guarded_statements


@dataclass(frozen=True, eq=False)
class Site:
    """A call of an op in product code. `hardware` is the one that its file or function is for, and `modules` those
    whose op modules it imports; both are empty for code that serves them all."""

    op: str
    path: str
    function: str
    call: Call
    scope: Scope
    hardware: str
    modules: frozenset[str]

    @property
    def line(self) -> int:
        return self.call.line

    def keys(self, facts: OpFacts, params: Collection[str] | None = None) -> dict[str, str]:
        """Parameter of the op (of `params`, where given) to buffer, without arguments that could not be followed."""
        near = self.hardware or facts.hardware
        pairs = [*zip(facts.params, self.call.args, strict=False), *self.call.keywords]
        keys = {
            name: self.scope.key(expr, near)
            for name, expr in pairs
            if params is None or name in params
        }
        return {name: key for name, key in keys.items() if key is not None}

    @cached_property
    def words(self) -> frozenset[str]:
        return words(self.call)

    def runs(self, facts: OpFacts) -> bool:
        """Whether this call can reach that implementation."""
        if self.hardware == facts.hardware or not facts.hardware:
            return True
        return facts.hardware in self.modules or not (self.hardware or self.modules)


class Buffers:
    """The call sites of one side."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._fields: dict[str, list[tuple[str, dict[str, str]]]] = {}
        self._within: dict[str, list[Site]] = {}
        self._of: dict[str, list[Site]] = {}
        self._choices: dict[frozenset[str], bool] = {}

    def within(self, path: str, functions: set[str] | None) -> list[Site]:
        """The calls in some functions (None: in all) of one file, in line order, without looking at any other file."""
        if path not in self._within:
            data = self.library.files.get(path, b"")
            called = any(op.encode() in data for op in self.library.ops)
            unit = self.library.unit(path) if called else None
            found = self._sites_in(unit) if unit is not None else ()
            self._within[path] = sorted(found, key=lambda s: s.line)
        return [s for s in self._within[path] if functions is None or s.function in functions]

    def of(self, op: str) -> list[Site]:
        """The calls of one op in product Python, in path and line order."""
        if op not in self._of:
            self._of[op] = [
                s for s in self._in_files(self.library.holding("python", op)) if s.op == op
            ]
        return self._of[op]

    def mentioning(self, words: set[str]) -> list[Site]:
        """The calls of any op that have all of `words` as names or keys in their arguments."""
        paths = set.intersection(*(set(self.library.holding("python", w)) for w in words))
        return [s for s in self._in_files(sorted(paths)) if words <= s.words]

    def _in_files(self, paths: list[str]) -> list[Site]:
        return [
            s for p in paths if not self.library.config.is_test(p) for s in self.within(p, None)
        ]

    def exclusive(self, one: Site, other: Site) -> bool:
        """Whether the functions of two calls are the two arms of one choice, so that a run takes only one of them."""
        first, second = (s.function.rsplit(".", 1)[-1] for s in (one, other))
        if first == second or one.path != other.path:
            return False
        pair = frozenset({first, second})
        if pair not in self._choices:
            paths = self.library.holding("python", first)
            self._choices[pair] = any(self._chooses(path, first, second) for path in paths)
        return self._choices[pair]

    def _chooses(self, path: str, first: str, second: str) -> bool:
        unit = self.library.unit(path) if second.encode() in self.library.files[path] else None
        for function in unit.functions if unit is not None else ():
            text = unit.text(function.start_line, function.end_line) if unit is not None else ""
            if f"{first}(" not in text or f"{second}(" not in text:
                continue
            for item in guarded_statements(function.body):
                if isinstance(item.stmt, If):
                    arms = [
                        {callee(c) for c in calls(arm)}
                        for arm in (item.stmt.then, item.stmt.orelse)
                    ]
                    if any(
                        first in a and second in b and second not in a
                        for a, b in (arms, arms[::-1])
                    ):
                        return True
        return False

    def _sites_in(self, unit: SourceFile) -> Iterator[Site]:
        data = self.library.files[unit.path]
        starts = [at for op in self.library.ops for at in places(data, op.encode())]
        lines = sorted({data.count(b"\n", 0, at) + 1 for at in starts})
        holding = {id(f): f for n in lines if (f := unit.function_at(n)) is not None}
        modules = (
            _modules(unit, {kind.name for kind in self.library.config.hardware}) if holding else {}
        )
        for function in holding.values():
            scope = Scope(function, unit, self)
            for call in calls(function.body, lines):
                name = callee(call)
                if name in self.library.ops:
                    config = self.library.config
                    hardware = config.hardware_of(unit.path) or config.hardware_of(function.name)
                    known = modules.get(name, frozenset())
                    yield Site(name, unit.path, function.qualname, call, scope, hardware, known)

    def field(self, kind: str, name: str, hardware: str) -> str | None:
        """The buffer that objects of the class `kind` get as `name`, where all that are made on `hardware` agree."""
        made = self._fields[kind] if self.known(kind) else []
        near = [fields for place, fields in made if place == hardware] or [
            fields for _, fields in made
        ]
        keys = {fields[name] for fields in near if name in fields}
        return keys.pop() if len(keys) == 1 else None

    def known(self, kind: str) -> bool:
        """Whether product code makes objects of the class `kind` with fields by name."""
        if kind not in self._fields:
            made = (
                self._made(kind) if kind.isidentifier() else ()
            )  # `Dict[str, Tensor]` is never called
            self._fields[kind] = [(place, fields) for place, fields in made if fields]
        return bool(self._fields[kind])

    def _made(self, kind: str) -> Iterator[tuple[str, dict[str, str]]]:
        for path in self.library.holding("python", kind):
            if (
                self.library.config.is_test(path)
                or f"{kind}(".encode() not in self.library.files[path]
            ):
                continue
            unit = self.library.unit(path)
            for function in unit.functions if unit else ():
                if unit is None or f"{kind}(" not in unit.text(
                    function.start_line, function.end_line
                ):
                    continue
                numbered = enumerate(
                    unit.lines[function.start_line - 1 : function.end_line], function.start_line
                )
                lines = [n for n, text in numbered if f"{kind}(" in text]
                scope = Scope(function, unit, self)
                for call in calls(function.body, lines):
                    if callee(call) == kind:
                        near = self.library.config.hardware_of(path)
                        pairs = ((k, scope.key(v, near)) for k, v in call.keywords)
                        yield near, {k: v for k, v in pairs if v}


class Scope:
    """Names inside one Python function."""

    def __init__(self, function: Function, unit: SourceFile, buffers: Buffers) -> None:
        self.unit = unit
        self.buffers = buffers
        self.types = {p.name: p.type.strip("\"' ") for p in function.params}
        self.function = function

    @cached_property
    def locals(self) -> dict[str, list[Expr]]:
        """What each variable of the function is assigned, on any path."""
        return _assignments(self.function)

    def key(self, expr: Expr, hardware: str, depth: int = 0) -> str | None:
        """The buffer that `expr` is on `hardware`, without copies and views of it."""
        match expr:
            case Call(func=Attr(base=base, name=name)) if name in SAME:
                return self.key(base, hardware, depth)
            case Ternary(then=then):
                return self.key(then, hardware, depth)
            case Index(base=base, indices=(Const(value=str(name)),)):
                return self.held(base, name, hardware)
            case Attr(base=base, name=name):
                return self.held(base, name, hardware)
            case Name(id=name) if depth < 4:
                keys = {
                    self.key(value, hardware, depth + 1) for value in self.locals.get(name, ())
                } - {None}
                return keys.pop() if len(keys) == 1 else None
            case _:
                return None

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
    """Every call in `body`, in source order; with `lines`, which are sorted, of statements that hold one of them."""
    for item in guarded_statements(body):
        if lines is not None and bisect_left(lines, item.stmt.line) == bisect_right(
            lines, item.stmt.end_line
        ):
            continue
        for part in ("value", "test", "iterable", "target"):
            expr = getattr(item.stmt, part, None)
            if expr is not None:
                yield from (e for e in walk(expr) if isinstance(e, Call))


def words(call: Call) -> frozenset[str]:
    """Every name and key in the arguments of a call, a field's own name among them."""
    found: set[str] = set()
    for expr in walk(call):
        match expr:
            case Name(id=name) | Attr(name=name) | Const(value=str(name)):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def _assignments(function: Function) -> dict[str, list[Expr]]:
    found: dict[str, list[Expr]] = {}
    for item in guarded_statements(function.body):
        match item.stmt:
            case Assign(target=Name(id=name), op="=", value=value) if value is not None:
                found.setdefault(name, []).append(value)
            case _:
                pass
    return found


def _modules(unit: SourceFile, hardware: set[str]) -> dict[str, frozenset[str]]:
    """Imported name to the hardware that its modules are for (`gpu` of `ops.gpu`)."""
    found: dict[str, set[str]] = {}
    for item in unit.imports:
        if item.name and item.module.rsplit(".", 1)[-1] in hardware:
            found.setdefault(item.alias or item.name, set()).add(item.module.rsplit(".", 1)[-1])
    return {name: frozenset(parts) for name, parts in found.items()}
