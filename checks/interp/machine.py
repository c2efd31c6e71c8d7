"""Running a test in the head: statements, expressions and calls over abstract values."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from checks.interp import arrays, natives
from checks.interp.program import Program, absolute
from checks.interp.values import (
    ANY,
    NONE,
    NOWHERE,
    Array,
    ClassRef,
    FuncRef,
    GaveUp,
    Instance,
    ModuleRef,
    Native,
    Origin,
    PyDict,
    PyList,
    Raised,
    V,
    truth,
    unknown,
)
from checks.ir import expr as E
from checks.ir import stmt as S
from checks.ir.unit import Constant, Function, Import, Param, Unit

WRITERS = frozenset({"set_tensor", "set_value", "copy_", "fill_"})
TOLERANT = re.compile(r"raises|assertRaises|suppress|warns|catch")
_LAZY = re.compile(r"^[^#\n]*\b(?:yield|await)\b", re.MULTILINE)
TRANSPARENT = re.compile(r"^(staticmethod|classmethod|(abc\.)?abstractmethod|override)$|inference_mode|no_grad|nvtx|annotate")


@dataclass(frozen=True, slots=True)
class Failure:
    """The test certainly fails: `line` is the statement of the test, `where` the line that raises."""

    exception: str
    detail: str
    line: int
    where: Origin
    origins: frozenset[Origin]
    trace: tuple[tuple[Origin, str, str], ...]


@dataclass
class Frame:
    """One running function. `maybe` is set once what follows runs only on some paths."""

    unit: Unit
    function: Function
    names: dict[str, V]
    scope: dict[str, V] | None = None
    maybe: bool = False
    test: bool = False


class _Return(Exception):
    def __init__(self, value: V) -> None:
        super().__init__()
        self.value = value


class _Jump(Exception):
    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass
class Machine:
    """Interprets one test. `changed(path, line)` says whether the change altered a line of the code under test,
    `is_test(path)` which files hold fixtures. `budget` bounds the number of expressions. `stores` are the lines that
    wrote an attribute (1) or an element (2), in the order of their last write."""

    program: Program
    changed: Callable[[str, int], bool]
    is_test: Callable[[str], bool]
    budget: int = 60_000
    depth: int = 30
    frames: list[Frame] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    trace: list[tuple[Origin, str, str]] = field(default_factory=list)
    reached: set[int] = field(default_factory=set)
    stores: dict[Origin, int] = field(default_factory=dict)
    _constants: dict[tuple[str, str], V] = field(default_factory=dict)
    _importing: set[tuple[str, str]] = field(default_factory=set)

    # Running a test

    def run(self, function: Function, unit: Unit) -> None:
        """Interpret the test `function`, collecting `failures`. Raises GaveUp beyond the budget."""
        names = {p.name: V(Instance(None, open=True)) for p in function.params}
        self.frames.append(Frame(unit, function, names, test=True))
        owner = next((c for c in unit.classes if c.name == function.owner), None)
        if owner is not None and function.params:
            me = V(Instance(ClassRef(owner, unit), open=True))
            names[function.params[0].name] = me
            for prepare in ("setUp", "setup_method"):
                found = next((f for f in unit.functions if f.qualname == f"{owner.name}.{prepare}"), None)
                if found is not None:
                    self._quietly(lambda f=found: self.call_function(FuncRef(f, unit, me), [], {}))  # type: ignore[misc]
        for parameter in function.params:
            fixture = next((f for f in unit.functions if f.qualname == parameter.name and _fixture(f)), None)
            if fixture is not None:
                names[parameter.name] = self._quietly(lambda f=fixture: self.call_function(FuncRef(f, unit), [], {}))  # type: ignore[misc]
        try:
            self.block(function.body)
        except _Return:
            pass
        finally:
            self.frames.pop()

    def _quietly(self, action: Callable[[], V]) -> V:
        try:
            return action()
        except Raised:
            return ANY

    # Statements

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def block(self, body: tuple[S.Stmt, ...]) -> None:
        for stmt in body:
            if self.frame.test and not isinstance(stmt, S.With | S.If | S.For | S.Return | S.Jump):
                self._guarded(stmt)
            else:
                self.statement(stmt)

    def _guarded(self, stmt: S.Stmt) -> None:
        """A statement of the test itself: a certain exception is a failure, and the test is followed beyond it."""
        self.reached.add(stmt.line)
        try:
            self.statement(stmt)
        except Raised as raised:
            self._record(raised, stmt.line)
            for name in _assigned((stmt,)):
                self.frame.names[name] = ANY

    def _record(self, raised: Raised, line: int) -> None:
        if any(f.maybe for f in self.frames):
            return
        where = raised.where or Origin(self.frame.unit.path, line)
        seen = tuple(t for t in self.trace if t[0] in raised.origins)
        self.failures.append(Failure(raised.name, raised.detail, line, where, raised.origins, seen))

    def statement(self, stmt: S.Stmt) -> None:
        try:
            self._statement(stmt)
        except Raised as raised:
            if raised.where is None:
                raised.where = Origin(self.frame.unit.path, stmt.line)
            raise

    def _statement(self, stmt: S.Stmt) -> None:
        match stmt:
            case S.Assign():
                self._assign(stmt)
            case S.ExprStmt(value=value):
                self.eval(value)
            case S.Return(value=value):
                raise _Return(self.eval(value) if value is not None else NONE)
            case S.If():
                self._if(stmt)
            case S.For():
                self._for(stmt)
            case S.With():
                self._with(stmt)
            case S.Assert(test=test):
                if self.frame.test and truth(v := self.eval(test)) is False:
                    raise Raised("AssertionError", self.frame.unit.text(stmt.line).strip(), v.origins)
            case S.Raise(value=value):
                raise Raised(_exception(value), "", NOWHERE)
            case S.Jump(kind="break" | "continue" as kind):
                raise _Jump(kind)
            case S.Define(name=name):
                self._define(name)
            case S.Opaque():
                self.frame.maybe = self.frame.maybe or "return" in stmt.text

    def _define(self, name: str) -> None:
        frame = self.frame
        inner = [f for f in frame.unit.functions if f.name == name and frame.function.covers(f.start_line)]
        found = V(FuncRef(inner[0], frame.unit, None, frame.names)) if len(inner) == 1 else ANY
        frame.names[name] = found

    def _assign(self, stmt: S.Assign) -> None:
        if stmt.value is None:
            return
        value = self.eval(stmt.value)
        if stmt.op != "=":
            value = natives.binary(stmt.op[:-1], self.eval(stmt.target), value)
        self.store(stmt.target, self._mark(value, stmt))

    def _mark(self, value: V, stmt: S.Stmt) -> V:
        """Note that `value` came through this statement, if it stands in a test or on an altered line."""
        path = self.frame.unit.path
        origin = Origin(path, stmt.line)
        if self.is_test(path):
            return value.also(frozenset({origin}))
        if not any(self.changed(path, n) for n in range(stmt.line, stmt.end_line + 1)):
            return value
        if isinstance(value.value, int):
            text = " ".join(self.frame.unit.text(stmt.line, stmt.end_line).split())
            self.trace.append((origin, text, repr(value.value)))
        marked = value.also(frozenset({origin}))
        return marked

    def store(self, target: E.Expr, value: V) -> None:
        """`target = value`."""
        match target:
            case E.Name(id=name):
                self.frame.names[name] = value
            case E.Attr(base=base, name=name):
                owner = self.eval(base)
                if isinstance(owner.value, Instance):
                    owner.value.attrs[name] = value
                elif isinstance(owner.value, ModuleRef) and owner.value.unit:
                    self.program.overrides[owner.value.unit.path, name] = value
                self._stored(target, 1)
            case E.Index(base=base, indices=indices):
                self._store_item(self.eval(base), indices, value)
                self._stored(target, 2)
            case E.Sequence(items=items):
                self._unpack(items, value)

    def _stored(self, target: E.Expr, kind: int) -> None:
        origin = Origin(self.frame.unit.path, target.line)
        self.stores[origin] = max(kind, self.stores.pop(origin, 0))

    def _store_item(self, owner: V, indices: tuple[E.Expr, ...], value: V) -> None:
        match owner.value:
            case Array() as array:
                places = [self._index(i) for i in indices]
                if _plain(places):
                    arrays.assign(array, places, value)
                else:
                    array.forget()
            case PyList(items=list() as items):
                index = self.eval(indices[0])
                if isinstance(index.value, int) and -len(items) <= index.value < len(items):
                    items[index.value] = value
                else:
                    owner.value.items = None
            case PyDict() as mapping:
                key = self.eval(indices[0])
                if isinstance(key.value, natives.SCALARS):
                    mapping.items[key.value] = value
                else:
                    mapping.items.clear()
                    mapping.open = True

    def _unpack(self, targets: tuple[E.Expr, ...], value: V) -> None:
        items = natives.sequence(value)
        starred = any(isinstance(t, E.Unary) for t in targets)
        if items is not None and not starred and len(items) != len(targets):
            length = value.value.length if isinstance(value.value, PyList) else value.origins
            raise Raised("ValueError", f"expected {len(targets)} values, got {len(items)}", length)
        if items is None or starred:
            items = [ANY] * len(targets)
        for target, item in zip(targets, items, strict=True):
            self.store(target, item)

    def _if(self, stmt: S.If) -> None:
        known = truth(self.eval(stmt.test))
        if known is not None:
            self.block(stmt.then if known else stmt.orelse)
            return
        self._havoc((*stmt.then, *stmt.orelse))
        if _may_leave(stmt.then) or _may_leave(stmt.orelse):
            self.frame.maybe = True

    def _havoc(self, body: tuple[S.Stmt, ...]) -> None:
        """`body` may or may not run: forget what it writes."""
        for guarded in S.flatten(body):
            stmt = guarded.stmt
            targets = [stmt.target] if isinstance(stmt, S.Assign | S.For) and stmt.target is not None else []
            for target in targets:
                try:
                    self.store(target, ANY)
                except Raised:
                    continue

    def _for(self, stmt: S.For) -> None:
        items = self._iterations(stmt)
        self.budget -= len(items or ())
        if items is None or self.budget < 0:
            self._havoc(stmt.body)
            if stmt.target is not None:
                self.store(stmt.target, ANY)
            if _may_leave(stmt.body):
                self.frame.maybe = True
            return
        for item in items:
            if stmt.target is not None:
                self.store(stmt.target, item)
            try:
                self.block(stmt.body)
            except _Jump as jump:
                if jump.kind == "break":
                    return

    def _iterations(self, stmt: S.For) -> list[V] | None:
        if stmt.iterable is not None:
            return natives.sequence(self.eval(stmt.iterable))
        if stmt.stop is None:
            return None
        bounds = [self.eval(e) if e is not None else V(d) for e, d in ((stmt.start, 0), (stmt.stop, 0), (stmt.step, 1))]
        return natives.sequence(natives.call(Native("range"), bounds, {}))

    def _with(self, stmt: S.With) -> None:
        undo = self._enter(stmt.items)
        tolerant = stmt.kind == "try" and stmt.parts or any(TOLERANT.search(_text(i)) for i in stmt.items)
        try:
            if not tolerant:
                self.block(stmt.body)
            else:
                self._try(stmt)
        finally:
            for key, old in reversed(undo):
                if old is None:
                    self.program.overrides.pop(key, None)
                else:
                    self.program.overrides[key] = old

    def _try(self, stmt: S.With) -> None:
        was, self.frame.test = self.frame.test, False
        try:
            self.block(stmt.body)
        except Raised:
            self._havoc(stmt.body)
            for part in stmt.parts:
                self._havoc(part)
                if _may_leave(part):
                    self.frame.maybe = True
        finally:
            self.frame.test = was

    def _enter(self, items: tuple[E.Expr, ...]) -> list[tuple[tuple[str, str], V | None]]:
        """Apply `mock.patch(...)` and `patch.object(...)`; gives what to restore."""
        undo: list[tuple[tuple[str, str], V | None]] = []
        for item in items:
            if not isinstance(item, E.Call):
                continue
            key = self._patched(item)
            new = self.eval(item.args[-1]) if key and len(item.args) > (2 if E.callee(item) == "object" else 1) else None
            if key is None:
                self.eval(item)
                continue
            undo.append((key, self.program.overrides.get(key)))
            self.program.overrides[key] = new if new is not None else V(Instance(None, open=True))
        return undo

    def _patched(self, call: E.Call) -> tuple[str, str] | None:
        name = E.dotted(call.func) or ""
        if name.endswith("patch.object") and len(call.args) > 1:
            owner, attr = self.eval(call.args[0]), self.eval(call.args[1])
            if isinstance(owner.value, ModuleRef) and owner.value.unit and isinstance(attr.value, str):
                return owner.value.unit.path, attr.value
            if isinstance(owner.value, ClassRef) and isinstance(attr.value, str):
                return owner.value.unit.path, f"{owner.value.cls.name}.{attr.value}"
        elif name.endswith("patch") and call.args and isinstance(target := self.eval(call.args[0]).value, str):
            module, _, attr_name = target.rpartition(".")
            found = self.program.module(module)
            if found.unit is not None:
                return found.unit.path, attr_name
            above, _, cls = module.rpartition(".")
            found = self.program.module(above) if above else found
            if found.unit is not None:
                return found.unit.path, f"{cls}.{attr_name}"
        return None

    # Expressions

    def _spend(self) -> None:
        self.budget -= 1
        if self.budget < 0:
            raise GaveUp

    def eval(self, e: E.Expr) -> V:
        """The value of an expression."""
        self._spend()
        match e:
            case E.Const(value=value):
                return V(value)
            case E.Name(id=name):
                return self.lookup(name)
            case E.Attr(base=base, name=name):
                return self.attribute(self.eval(base), name)
            case E.Index(base=base, indices=indices):
                return self._item(self.eval(base), indices)
            case E.Call():
                return self._call(e)
            case E.Unary():
                return self._unary(e)
            case E.Binary(op="and" | "or" as op, left=left, right=right):
                return self._logic(op, left, right)
            case E.Binary(op=op, left=left, right=right):
                return natives.binary(op, self.eval(left), self.eval(right))
            case E.Ternary(test=test, then=then, orelse=orelse):
                known = truth(self.eval(test))
                return ANY if known is None else self.eval(then if known else orelse)
            case E.Sequence(kind=kind, items=items):
                starred = any(isinstance(i, E.Unary) and i.op == "*" for i in items)
                return V(PyList(None if starred else [self.eval(i) for i in items], kind=kind))
            case E.Mapping(items=items):
                return self._mapping(items)
            case E.Comprehension():
                return self._comprehension(e)
            case _:
                return ANY

    def _unary(self, e: E.Unary) -> V:
        v = arrays.scalar(self.eval(e.operand))
        if e.op == "not":
            known = truth(v)
            return V(not known, v.origins) if known is not None else unknown(v)
        if isinstance(v.value, int | float) and not (e.op == "~" and isinstance(v.value, float)):
            value = {"-": lambda x: -x, "+": lambda x: x, "~": lambda x: ~x}.get(e.op)
            return V(value(v.value), v.origins) if value else unknown(v)
        return unknown(v)

    def _logic(self, op: str, left: E.Expr, right: E.Expr) -> V:
        first = self.eval(left)
        known = truth(first)
        if known is None:
            second = self.eval(right)
            decided = truth(second)
            stops = decided is not None and decided == (op == "or") and isinstance(second.value, bool)
            return second if stops else unknown(first, second)
        return self.eval(right) if known == (op == "and") else first

    def _mapping(self, items: tuple[tuple[E.Expr | None, E.Expr], ...]) -> V:
        made = PyDict({})
        for key, value in items:
            name = self.eval(key) if key is not None else ANY
            item = self.eval(value)
            if isinstance(name.value, natives.SCALARS):
                made.items[name.value] = item
            else:
                made.open = True
        return V(made)

    def _comprehension(self, e: E.Comprehension) -> V:
        if len(e.clauses) != 1 or e.kind not in ("list", "generator"):
            return ANY
        target, iterable, conditions = e.clauses[0]
        source = self.eval(iterable)
        items = natives.sequence(source)
        if items is None:
            return unknown(source)
        frame, made = self.frame, []
        saved = dict(frame.names)
        try:
            for item in items:
                self.store(target, item)
                verdicts = [truth(self.eval(c)) for c in conditions]
                if None in verdicts:
                    return unknown(source)
                if all(verdicts):
                    made.append(self.eval(e.element))
        finally:
            frame.names.clear()
            frame.names.update(saved)
        return V(PyList(made, source.value.length if isinstance(source.value, PyList) else source.origins))

    def lookup(self, name: str) -> V:
        """A name in the running function, its scope, its module, or the builtins."""
        frame = self.frame
        if name in frame.names:
            return frame.names[name]
        if frame.scope is not None and name in frame.scope:
            return frame.scope[name]
        return self.global_name(frame.unit, name, frame.function)

    def global_name(self, unit: Unit, name: str, function: Function | None = None) -> V:
        found = self.program.defined(unit, name)
        if found is not None:
            return found
        constants = [c for c in unit.constants if c.name == name and not c.owner]
        if constants:
            return self._constant(unit, name) if len(constants) == 1 else ANY
        imports = [i for i in unit.imports if (i.alias or i.name or i.module.split(".")[0]) == name]
        local = [i for i in imports if function and i.function and i.function in (function.name, function.qualname)]
        imports = local or [i for i in imports if not i.function]
        if imports:
            return self._imported(imports[0], unit) if len(imports) == 1 else ANY
        return V(Native(name)) if name in natives.BUILTINS else ANY

    def _imported(self, item: Import, unit: Unit) -> V:
        module = self.program.module(absolute(item.module, unit.path))
        if item.name and module.unit is not None and module.unit is not unit:
            key = (module.unit.path, item.name)
            if key in self._importing:
                return ANY
            self._importing.add(key)
            found = self.global_name(module.unit, item.name)
            self._importing.discard(key)
            if found.known and not (isinstance(found.value, Native) and found.value.name in natives.BUILTINS):
                return found
        return self.program.imported(item, unit)

    def _constant(self, unit: Unit, name: str) -> V:
        key = (unit.path, name)
        if key not in self._constants:
            self._constants[key] = ANY
            constant = next(c for c in unit.constants if c.name == name and not c.owner)
            if constant.value is not None:
                self._constants[key] = self._in_module(unit, constant.value)
        return self._constants[key]

    def _in_module(self, unit: Unit, e: E.Expr, names: dict[str, V] | None = None) -> V:
        module = Function("<module>", "<module>", unit.path, (), 0, 0, lambda: ())
        self.frames.append(Frame(unit, module, names or {}))
        try:
            return self.eval(e)
        except (Raised, _Return, _Jump):
            return ANY
        finally:
            self.frames.pop()

    def attribute(self, owner: V, name: str) -> V:
        """`owner.name`; raises AttributeError where the object is known through and through."""
        match owner.value:
            case Instance() as instance:
                return self._instance_attribute(owner, instance, name)
            case ModuleRef(unit=unit) as module:
                if unit is not None and (v := self.global_name(unit, name)).known:
                    return v
                return self.program.member(module, name)
            case ClassRef() as cls:
                return V(Native("object.__new__")) if name == "__new__" else self._class_attribute(cls, name, None)
            case Native(name=text):
                return V(Native(f"{text}.{name}", owner.value.self_))
            case Array() as array:
                if name == "shape":
                    return V(PyList(list(array.shape), kind="tuple"))
                if name in ("ndim", "size", "dtype", "T", "place", "device"):
                    return V(len(array.shape)) if name == "ndim" else ANY
                return V(Native(f"method.{name}", owner))
            case PyList() | PyDict() | int() | float() | str():
                return V(Native(f"method.{name}", owner))
            case _:
                return unknown(owner)

    def _instance_attribute(self, owner: V, instance: Instance, name: str) -> V:
        if name in instance.attrs:
            return instance.attrs[name]
        if instance.cls is None:
            if instance.open:
                instance.attrs[name] = V(Instance(None, open=True))
                return instance.attrs[name]
            raise Raised("AttributeError", name, owner.origins)
        found = self._class_attribute(instance.cls, name, owner)
        chain = self.program.bases(instance.cls)
        closed = not instance.open and chain is not None and not name.startswith("__")
        if found.value is None and not found.origins and closed and chain is not None and not self._declares(chain, name):
            raise Raised("AttributeError", name, owner.origins)
        return found if self._declares(self.program.ancestors(instance.cls), name) else ANY

    @staticmethod
    def _declares(chain: list[ClassRef], name: str) -> bool:
        for ref in chain:
            if any(f.qualname in (f"{ref.cls.name}.{name}", f"{ref.cls.name}.__getattr__") for f in ref.unit.functions):
                return True
            if any(c.name == name and c.owner == ref.cls.name for c in ref.unit.constants):
                return True
        return False

    def _class_attribute(self, cls: ClassRef, name: str, me: V | None) -> V:
        for ref in self.program.ancestors(cls):
            override = self.program.overrides.get((ref.unit.path, f"{ref.cls.name}.{name}"))
            if override is not None:
                return override
            methods = [f for f in ref.unit.functions if f.qualname == f"{ref.cls.name}.{name}"]
            if len(methods) == 1:
                return self._method(methods[0], ref, me)
            fields = [c for c in ref.unit.constants if c.name == name and c.owner == ref.cls.name]
            if fields:
                return self._field(ref, fields[0]) if len(fields) == 1 else ANY
            inner = _inner(ref)
            if name in inner:
                return inner[name]
        return NONE if me is not None else ANY

    def _field(self, ref: ClassRef, constant: Constant) -> V:
        key = (ref.unit.path, f"{ref.cls.name}.{constant.name}")
        if key not in self._constants:
            self._constants[key] = ANY
            if constant.value is not None:
                self._constants[key] = self._in_module(ref.unit, constant.value, _inner(ref))
        return self._constants[key]

    def _method(self, function: Function, ref: ClassRef, me: V | None) -> V:
        if any(m in ("property", "cached_property", "functools.cached_property") for m in function.marks):
            return self.call_function(FuncRef(function, ref.unit, me), [], {}) if me is not None else ANY
        bound = None if "staticmethod" in function.marks else V(ref) if "classmethod" in function.marks else me
        return V(FuncRef(function, ref.unit, bound))

    def _index(self, e: E.Expr) -> arrays.Index:
        if isinstance(e, E.Slice):
            parts = [self.eval(p) if p is not None else None for p in (e.lower, e.upper, e.step)]
            return slice(*parts)
        return self.eval(e)

    def _item(self, owner: V, indices: tuple[E.Expr, ...]) -> V:
        places = [self._index(i) for i in indices]
        match owner.value:
            case Array() as array:
                return arrays.view(array, places).also(owner.origins) if _plain(places) else unknown(owner)
            case PyList(items=list() as items) if len(places) == 1:
                return self._list_item(owner, items, places[0])
            case PyDict() as mapping if len(places) == 1 and isinstance(places[0], V):
                key = places[0]
                if not isinstance(key.value, natives.SCALARS):
                    return unknown(owner)
                if key.value in mapping.items:
                    return mapping.items[key.value]
                if mapping.open:
                    return unknown(owner)
                raise Raised("KeyError", repr(key.value), key.origins | owner.origins)
            case _:
                return unknown(owner)

    def _list_item(self, owner: V, items: list[V], place: arrays.Index) -> V:
        length = owner.value.length
        if isinstance(place, slice):
            parts = [arrays.scalar(p) if isinstance(p, V) else V(None) for p in (place.start, place.stop, place.step)]
            if any(p.value is not None and type(p.value) is not int for p in parts):
                return unknown(owner, *parts)
            cut = items[slice(*(p.value for p in parts))]
            return V(PyList(cut, length.union(*(p.origins for p in parts)), owner.value.kind), owner.origins)
        index = arrays.scalar(place)
        if not isinstance(index.value, int):
            return unknown(owner, index)
        if not -len(items) <= index.value < len(items):
            detail = f"list index {index.value} out of range for length {len(items)}"
            raise Raised("IndexError", detail, length | index.origins)
        return items[index.value]

    # Calls

    def _call(self, e: E.Call) -> V:
        if isinstance(e.func, E.Attr) and e.func.name in WRITERS and isinstance(e.func.base, E.Index) and e.args:
            value = self.eval(e.args[0])
            path = self.frame.unit.path
            if self.is_test(path):
                value = value.also(frozenset({Origin(path, e.line)}))
            self.store(e.func.base, value)
            return NONE
        func = self.eval(e.func)
        if E.starred(e):
            return self._unknown_call(func, [self.eval(a.operand if isinstance(a, E.Unary) else a) for a in e.args])
        args = [self.eval(a) for a in e.args]
        words = {k: self.eval(v) for k, v in e.keywords}
        return self.call(func, args, words, e.line)

    def call(self, func: V, args: list[V], words: dict[str, V], line: int) -> V:
        """Call a value."""
        match func.value:
            case FuncRef() as ref:
                return self.call_function(ref, args, words, line)
            case ClassRef() as cls:
                return self._construct(cls, args, words)
            case Native(name="object.__new__") if args and isinstance(args[0].value, ClassRef):
                return V(Instance(args[0].value, open=self.program.bases(args[0].value) is None))
            case Native(name="hasattr" | "getattr" | "setattr" as name):
                return self._reflect(name, args)
            case Native() as native:
                if native.self_ is None and native.name.partition(".")[0] not in natives.ARRAYS and "." in native.name:
                    return self._foreign(native, args, words)
                return natives.call(native, args, words)
            case Instance(cls=None, open=True, attrs=attrs):
                return attrs.get("return_value", V(Instance(None, open=True)))
            case _:
                return self._unknown_call(func, [*args, *words.values()])

    def _foreign(self, native: Native, args: list[V], words: dict[str, V]) -> V:
        known = natives.call(native, args, words)
        return known if known.known else self._unknown_call(V(native), [*args, *words.values()])

    def _reflect(self, name: str, args: list[V]) -> V:
        if len(args) < 2 or not isinstance(args[1].value, str):
            return unknown(*args)
        if name == "setattr":
            if isinstance(args[0].value, Instance) and len(args) > 2:
                args[0].value.attrs[args[1].value] = args[2]
            return NONE
        if not isinstance(args[0].value, Instance):
            return unknown(*args)
        try:
            value = self.attribute(args[0], args[1].value)
        except Raised:
            return V(False) if name == "hasattr" else (args[2] if len(args) > 2 else ANY)
        if name == "hasattr":
            return V(True) if args[1].value in args[0].value.attrs and args[0].value.cls else ANY
        return value

    def _unknown_call(self, func: V, args: list[V]) -> V:
        """A call into something unknown: it may write into what it is given."""
        name = func.value.name if isinstance(func.value, Native) else ""
        if "log" not in name and "assert" not in name:
            for arg in args:
                if isinstance(arg.value, Array):
                    arg.value.forget()
                elif isinstance(arg.value, PyList):
                    arg.value.items = None
        return unknown(func, *args)

    def _construct(self, cls: ClassRef, args: list[V], words: dict[str, V]) -> V:
        chain = self.program.bases(cls)
        instance = V(Instance(cls, open=chain is None))
        ancestors = self.program.ancestors(cls)
        for ref in ancestors:
            init = next((f for f in ref.unit.functions if f.qualname == f"{ref.cls.name}.__init__"), None)
            if init is not None:
                self.call_function(FuncRef(init, ref.unit, instance), args, words)
                return instance
        if args or words:
            instance.value.attrs.update(words)
            instance.value.open = True
        return instance

    def call_function(self, ref: FuncRef, args: list[V], words: dict[str, V], line: int = 0) -> V:
        """Run a function of the tree; a wrong argument list raises TypeError."""
        function = ref.function
        if len(self.frames) >= self.depth:
            raise GaveUp
        opaque = any(not TRANSPARENT.search(m) and m not in _READ_THROUGH for m in function.marks)
        lazy = _LAZY.search(ref.unit.text(function.start_line, function.end_line))
        if (opaque and not _fixture(function)) or not function.clean or lazy:
            return self._unknown_call(V(ref), [*args, *words.values()])
        names = self._bind(function, ([ref.bound] if ref.bound is not None else []) + args, words, ref.unit)
        outer_maybe = False
        self.frames.append(Frame(ref.unit, function, names, ref.scope))
        try:
            self.block(function.body)
            result = NONE
        except _Return as returned:
            result = returned.value
        finally:
            outer_maybe = self.frames.pop().maybe
        return ANY if outer_maybe else result

    def _bind(self, function: Function, args: list[V], words: dict[str, V], unit: Unit) -> dict[str, V]:
        names: dict[str, V] = {}
        positional = [p for p in function.params if p.kind == "positional"]
        rest = next((p for p in function.params if p.kind == "args"), None)
        extra = next((p for p in function.params if p.kind == "kwargs"), None)
        last = function.body[0].line if function.body else function.end_line
        header = (n for n in range(function.start_line, last) if self.changed(unit.path, n))
        came = frozenset(Origin(unit.path, n) for n in header)
        if len(args) > len(positional) and rest is None:
            raise Raised("TypeError", f"{function.name}() takes {len(positional)} arguments, got {len(args)}", came)
        for parameter, arg in zip(positional, args, strict=False):
            names[parameter.name] = arg
        known = {p.name for p in function.params if p.kind in ("positional", "keyword")}
        for name, value in words.items():
            if name in known and name not in names:
                names[name] = value
            elif extra is None and name:
                raise Raised("TypeError", f"{function.name}() got an unexpected keyword argument '{name}'", came)
        for parameter in function.params:
            if parameter.name not in names:
                names[parameter.name] = self._default(parameter, function, unit, came)
        return names

    def _default(self, parameter: Param, function: Function, unit: Unit, came: frozenset[Origin]) -> V:
        if parameter.kind == "args":
            return V(PyList(None, kind="tuple"))
        if parameter.kind == "kwargs":
            return V(PyDict({}, open=True))
        if parameter.default is None:
            raise Raised("TypeError", f"{function.name}() missing required argument '{parameter.name}'", came)
        return self._in_module(unit, parameter.default)


_READ_THROUGH = frozenset({"property", "cached_property", "functools.cached_property"})


def _inner(ref: ClassRef) -> dict[str, V]:
    """The classes defined inside a class, by their short names."""
    prefix = f"{ref.cls.name}."
    return {
        c.name[len(prefix) :]: V(ClassRef(c, ref.unit))
        for c in ref.unit.classes
        if c.name.startswith(prefix) and "." not in c.name[len(prefix) :]
    }


def _fixture(function: Function) -> bool:
    return any("fixture" in m for m in function.marks)


def _plain(places: list[arrays.Index]) -> bool:
    """Only whole numbers and slices: anything else (masks, Ellipsis, lists) is advanced indexing."""
    return all(isinstance(p, slice) or type(arrays.scalar(p).value) is int for p in places)


def _assigned(body: tuple[S.Stmt, ...]) -> set[str]:
    return {
        name
        for g in S.flatten(body)
        if isinstance(g.stmt, S.Assign)
        for name in E.names(g.stmt.target)
    }


def _may_leave(body: tuple[S.Stmt, ...]) -> bool:
    return any(
        isinstance(g.stmt, S.Return | S.Raise) or (isinstance(g.stmt, S.Jump) and g.stmt.kind in ("break", "continue"))
        for g in S.flatten(body)
    )


def _exception(value: E.Expr | None) -> str:
    if isinstance(value, E.Call):
        return E.dotted(value.func) or "Exception"
    return (E.dotted(value) if value is not None else None) or "Exception"


def _text(e: E.Expr) -> str:
    return (E.dotted(e.func) or "") if isinstance(e, E.Call) else ""
