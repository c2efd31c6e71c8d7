"""What a Python call reaches: functions, methods and constructors of the tree, through imports and
the classes of objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from checks.core.change import ChangeSet
from checks.core.code import is_stub
from checks.core.finding import Side
from checks.core.words import as_bytes, name_parts
from checks.domain.calls.classes import Classes, base_name, is_protocol, methods_of
from checks.domain.calls.decorators import hands_on, keeps_constructor, opaque_marks
from checks.domain.calls.labels import label_of
from checks.domain.calls.names import is_local, nested_function
from checks.domain.calls.records import is_dataclass, is_named_tuple, record_constructor
from checks.domain.calls.torch_ops import TorchOps, op_name
from checks.domain.calls.triton_kernels import is_kernel, launch_signature
from checks.domain.calls.types import Types
from checks.domain.calls.value_types import ObjectType, Scope
from checks.eval.interpreter.values import ClassRef, FuncRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

# A shorter name, or one of a single word, objects out of the tree have too (`register`).
_SHORTEST_TELLING_NAME = 10
_MOST_NAMESAKES = 20


@dataclass(frozen=True, slots=True)
class CallTarget:
    """A Python function that a call reaches; `skip` leading parameters are bound (`self`).

    `receiver` is the class of the object whose method it is. `surely` is False where the method is
    only known by its name.
    """

    function: Function
    unit: SourceFile
    skip: int = 0
    receiver: ObjectType | None = None
    surely: bool = True

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters that the call's arguments are for."""
        return self.function.params[self.skip :]

    @property
    def place(self) -> tuple[str, int]:
        """What tells one target from another."""
        return self.function.path, self.function.start_line


@dataclass
class CallTargets:
    """Resolves calls on one side of a change."""

    types: Types
    _unique: dict[str, CallTarget | None] = field(default_factory=dict)

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> CallTargets:
        """The one resolver of this change."""
        return change.memo((cls, side), lambda: cls(Types.of_change(change, side)))

    @property
    def classes(self) -> Classes:
        return self.types.classes

    def of(
        self,
        call: E.Call,
        function: Function,
        unit: SourceFile,
        guards: tuple[E.Expr, ...] = (),
    ) -> CallTarget | None:
        """The one function of the tree that `call`, standing in `function`, certainly reaches."""
        scope = Scope(function, unit, guards)
        op = op_name(call.func)
        if op is not None:
            return self._behind_op(*op)
        own = self.types.own_class(call.func, scope)
        if own is not None:
            made = self.constructor(own)
            return replace(made, receiver=ObjectType(own)) if made is not None else None
        match call.func:
            case E.Name(id=name):
                return self._named(name, call.line, scope)
            case E.Attr(base=base, name=name):
                return self._attribute(base, name, call.line, scope)
            case E.Index(base=E.Name(id=name)) if kernel := self._launched(name, call, scope):
                return kernel
            case E.Index():
                return self._called_object(call.func, scope)
            case _:
                return None

    def _behind_op(self, namespace: str, name: str) -> CallTarget | None:
        """The Python function behind an op of torch."""
        ops = TorchOps.of_change(self.classes.change, self.classes.side)
        behind = None if ops.is_foreign(namespace) else ops.named(name)
        return CallTarget(*behind) if behind is not None else None

    def alternatives(self, call: E.Call, function: Function, unit: SourceFile) -> list[CallTarget]:
        """What `make(...)` may reach where `make` was set to one of several classes or functions
        before: `make = A if a else B`. Empty where one of them is not known."""
        name = call.func.id if isinstance(call.func, E.Name) else ""
        values = [value for given, value in local_values(function) if given == name]
        names = list(_choices(values[0])) if len(values) == 1 else []
        scope = Scope(function, unit, ())
        found = [self._named(each, call.line, scope) for each in names]
        return [target for target in found if target is not None] if None not in found else []

    def _named(self, name: str, line: int, scope: Scope) -> CallTarget | None:
        value = self.types.function_or_class(name, line, scope)
        if value is None and is_local(name, scope.function, scope.unit):
            nested = nested_function(name, scope.function, scope.unit)
            if nested is not None:
                return self._undecorated(CallTarget(nested, scope.unit))
            return self._called_object(E.Name(name, line=line), scope)
        return self._target(value)

    def _launched(self, name: str, call: E.Call, scope: Scope) -> CallTarget | None:
        """The Triton kernel that `name[grid](...)` runs."""
        kernel = self.types.function_or_class(name, call.line, scope)
        if not isinstance(kernel, FuncRef) or not is_kernel(kernel.function):
            return None
        return CallTarget(launch_signature(kernel.function, call), kernel.unit)

    def _attribute(self, base: E.Expr, name: str, line: int, scope: Scope) -> CallTarget | None:
        match base:
            case E.Call(func=E.Name(id="super"), args=()):
                return self._inherited(name, scope)
            case E.Name(id=module):
                value = self.types.in_module(module, name, line, scope)
                if value is not None:
                    return self._target(value)
                cls = self.types.function_or_class(module, line, scope)
                if isinstance(cls, ClassRef):
                    return self._of_class(ObjectType(cls, exact=True), name)
        own = self.types.own_class(base, scope)
        if own is not None:
            return self._of_class(ObjectType(own), name)
        owner = self.types.object_class(base, scope)
        if owner is None:
            return None
        if self.is_replaced(owner.ref, name):
            return self._called_object(E.Attr(base, name, line=line), scope)
        return self._method(owner, name)

    def _called_object(self, expr: E.Expr, scope: Scope) -> CallTarget | None:
        """What a call of an object runs: its `__call__`, or the `forward` of a layer."""
        owner = self.types.object_class(expr, scope)
        if owner is None:
            return None
        lineage = self.classes.lineage(owner.ref)
        if any(methods_of(ref, "__call__") for ref in lineage.classes):
            return self._method(owner, "__call__")
        is_layer = any(name.endswith(("Module", "Layer")) for _, name in lineage.foreign)
        return self._method(owner, "forward") if is_layer else None

    def _method(self, owner: ObjectType, name: str) -> CallTarget | None:
        found = self.classes.method(owner.ref, name)
        if found is None:
            return None
        function, defined_in = found
        # What stands in for a protocol may name its parameters otherwise: a lambda, a partial.
        if is_protocol(defined_in.cls):
            return None
        return self._undecorated(CallTarget(function, defined_in.unit, 1, owner))

    def _of_class(self, cls: ObjectType, name: str) -> CallTarget | None:
        """A static or class method that is called on its class."""
        found = self.classes.method(cls.ref, name)
        if found is None or not {"staticmethod", "classmethod"} & set(found[0].marks):
            return None
        function, defined_in = found
        return self._undecorated(CallTarget(function, defined_in.unit, 1, cls))

    def _inherited(self, name: str, scope: Scope) -> CallTarget | None:
        """What `super().name` is in a class with one base.

        With several bases, the next class is another for each subclass.
        """
        owners = scope.unit.classes_named.get(scope.function.owner, [])
        if len(owners) != 1 or "staticmethod" in scope.function.marks:
            return None
        if len(owners[0].bases) != 1:
            return None
        lineage = self.classes.lineage(ClassRef(owners[0], scope.unit))
        if len(lineage.classes) < 2:
            return None
        parent = lineage.classes[1]
        if name == "__init__":
            return self.constructor(parent)
        found = self.classes.method(parent, name)
        if found is None:
            return None
        return self._undecorated(
            CallTarget(found[0], found[1].unit, 1, ObjectType(parent, exact=True))
        )

    def is_replaced(self, ref: ClassRef, name: str) -> bool:
        """Whether the class gives its objects something else under a method's name."""
        pattern = re.compile(rf"\bself\.{re.escape(name)}\b\s*(:[^=\n]+)?=[^=]")
        lineage = self.classes.lineage(ref)
        return any(pattern.search(owner.unit.text_of(owner.cls)) for owner in lineage.classes)

    def _target(self, value: object) -> CallTarget | None:
        if isinstance(value, FuncRef):
            return self._undecorated(CallTarget(value.function, value.unit))
        if isinstance(value, ClassRef):
            return self.constructor(value)
        return None

    def _undecorated(self, target: CallTarget) -> CallTarget | None:
        """`target` unless a decorator may change its argument list; a static method binds
        nothing."""
        if not all(self._hands_on(mark, target.unit) for mark in opaque_marks(target.function)):
            return None
        if "staticmethod" in target.function.marks:
            return replace(target, skip=0)
        return target

    def _hands_on(self, mark: str, unit: SourceFile) -> bool:
        """Whether a decorator is one of the tree that passes on what it gets."""
        found = self.classes.value(mark.partition("(")[0], unit)
        match found.value if found is not None else None:
            case FuncRef(function=function, unit=home):
                return hands_on(home.text_of(function))
            case ClassRef(cls=cls, unit=home):
                return hands_on(home.text_of(cls))
            case _:
                return False

    def constructor(self, ref: ClassRef) -> CallTarget | None:
        """The `__init__` that a call of a class reaches."""
        lineage = self.classes.lineage(ref)
        receiver = ObjectType(ref, exact=True)
        if is_named_tuple(ref.cls):
            made = record_constructor(ref, lineage)
            return CallTarget(made, ref.unit, 1, receiver) if made is not None else None
        for owner in lineage.before_foreign():
            if not keeps_constructor(owner.cls):
                return None
            if any(not _takes_anything(new) for new in methods_of(owner, "__new__")):
                return None
            constructors = methods_of(owner, "__init__")
            if len(constructors) == 1:
                return self._undecorated(CallTarget(constructors[0], owner.unit, 1, receiver))
            if constructors:
                return None
            if is_dataclass(owner.cls):
                made = record_constructor(owner, self.classes.lineage(owner))
                return CallTarget(made, owner.unit, 1, receiver) if made is not None else None
        return None

    def overrides(self, target: CallTarget, caller: Function | None = None) -> Iterator[CallTarget]:
        """The methods of subclasses that may run in the place of `target`.

        Where the call stands in the method `caller` of its own object (`self.f()`), a subclass that
        has another method in the place of `caller` never comes there.
        """
        receiver = target.receiver
        if receiver is None or receiver.exact:
            return
        seen = {target.place}
        for child in self.classes.subclasses(receiver.ref):
            if caller is not None and not self._runs(child, caller):
                continue
            override = self._method_of(child, target.function.name)
            if override is not None and override.place not in seen:
                seen.add(override.place)
                yield override

    def _method_of(self, ref: ClassRef, name: str) -> CallTarget | None:
        """What runs under this name for objects of the class, or makes them."""
        if name == "__init__":
            return self.constructor(ref)
        found = self.classes.method(ref, name)
        if found is None:
            return None
        function, owner = found
        return self._undecorated(CallTarget(function, owner.unit, 1, ObjectType(ref)))

    def is_always_replaced(self, method: Function, unit: SourceFile) -> bool:
        """Whether no object runs `method`: its class is abstract, nobody makes one, and every class
        that inherits from it has another method in the place."""
        owners = unit.classes_named.get(method.owner, []) if method.owner else []
        if len(owners) != 1:
            return False
        ref = ClassRef(owners[0], unit)
        children = self.classes.subclasses(ref)
        if not children or any(self._runs(child, method) for child in children):
            return False
        return _is_abstract(ref) and not self._is_made(ref)

    def _is_made(self, ref: ClassRef) -> bool:
        """Whether any code calls the class by its name."""
        name = ref.cls.name.rsplit(".", 1)[-1]
        made = re.compile(rf"(?<!class )\b{re.escape(name)}\s*\(")
        lines = self.classes.change.tree(self.classes.side).find(name, "python")
        return any(made.search(line.text) for line in lines)

    def _runs(self, ref: ClassRef, method: Function) -> bool:
        """Whether objects of the class may run `method`: inherited, or called by what replaced
        it."""
        found = self.classes.method(ref, method.name)
        if found is None or (found[0].path, found[0].start_line) == (
            method.path,
            method.start_line,
        ):
            return True
        handed_on = re.compile(rf"(super\([^)]*\)|\b{re.escape(method.owner)})\.{method.name}\(")
        lineage = self.classes.lineage(ref)
        return any(handed_on.search(owner.unit.text_of(owner.cls)) for owner in lineage.classes)

    def by_name(self, func: E.Attr) -> CallTarget | None:
        """The only method of this name in the tree: what a call on an unknown object may reach.

        The name has to tell, or else the object goes by the name of the method's class.
        """
        name = func.name
        if name not in self._unique:
            self._unique[name] = self._only_method(name)
        found = self._unique[name]
        if found is None or (len(name) >= _SHORTEST_TELLING_NAME and "_" in name.strip("_")):
            return found
        return found if _is_holder_of(func.base, found.function.owner, name) else None

    def _only_method(self, name: str) -> CallTarget | None:
        found = self._methods(name, most=1)
        if len(found) != 1 or not found[0][0].owner:
            return None
        function, unit = found[0]
        return self._undecorated(CallTarget(function, unit, 1, surely=False))

    def all_by_name(self, name: str, *, one_word: bool = False) -> list[CallTarget]:
        """Every method of this name in the tree; none where the name is no telling one (a long one
        of several words, or of one), or where many have it."""
        if len(name) < _SHORTEST_TELLING_NAME or not (one_word or "_" in name.strip("_")):
            return []
        targets = []
        for function, unit in self._methods(name, most=_MOST_NAMESAKES):
            target = self._undecorated(CallTarget(function, unit, 1, surely=False))
            if target is None or not function.owner:
                return []
            targets.append(target)
        return targets

    def namesakes(self, name: str) -> list[CallTarget]:
        """Every method of this name in the tree; none where many have it."""
        methods = self._methods(name, most=_MOST_NAMESAKES)
        return [CallTarget(function, unit, 1) for function, unit in methods if function.owner]

    def _methods(self, name: str, most: int) -> list[tuple[Function, SourceFile]]:
        """The functions of this name in the tree; none where there are more than `most`."""
        change, side = self.classes.change, self.classes.side
        tree = change.tree(side)
        definition = re.compile(as_bytes(rf"\bdef {re.escape(name)}\b"))
        defining: list[str] = []
        for path in tree.paths_containing(name, "python"):
            defining += [path] * len(definition.findall(tree.read(path) or b""))
            if len(defining) > most:
                return []
        found: list[tuple[Function, SourceFile]] = []
        for path in dict.fromkeys(defining):
            unit = change.unit(path, side)
            found += [(function, unit) for function in unit.named(name)] if unit else []
        return found if len(found) == len(defining) else []


def _is_holder_of(base: E.Expr, owner: str, method: str) -> bool:
    """Whether an object goes by the name of a class: `cache_manager` for `CacheManager` and
    `PagedCacheManager`, and for a method of two words also `pool` for `Pool`."""
    held, of_class = name_parts(label_of(base)), name_parts(owner)
    if len(held) > 1:
        return of_class[-len(held) :] == held
    return held == of_class and "_" in method.strip("_")


def _is_abstract(ref: ClassRef) -> bool:
    """Whether the class leaves a method to those that inherit from it."""
    if any(base_name(base).endswith("ABC") for base in ref.cls.bases):
        return True
    own = [function for function in ref.unit.functions if function.owner == ref.cls.name]
    return any(is_stub(function) and function.name != "__init__" for function in own)


def local_values(function: Function) -> Iterator[tuple[str, E.Expr]]:
    """(name, value) of each assignment to a local."""
    for guarded in guarded_statements(function.body):
        match guarded.stmt:
            case Assign(target=E.Name(id=name), value=value) if value is not None:
                yield name, value
            case _:
                pass


def _choices(value: E.Expr) -> Iterator[str]:
    """The names between which a conditional expression chooses; one empty name for anything else
    that it may be."""
    match value:
        case E.Ternary(then=then, orelse=orelse):
            for arm in (then, orelse):
                yield from [arm.id] if isinstance(arm, E.Name) else _choices(arm)
        case _:
            yield ""


def _takes_anything(function: Function) -> bool:
    """Whether a `__new__` hands on whatever it gets."""
    kinds = [param.kind for param in function.params[1:]]
    return kinds == ["args", "kwargs"]


def signature(function: Function) -> tuple[tuple[str, str, bool], ...]:
    """What callers see of the parameters: name, kind, and whether there is a default."""
    return tuple((p.name, p.kind, p.default is not None) for p in function.params)


def called_name(function: Function) -> str:
    """What a caller writes: the class for a constructor."""
    is_constructor = function.name == "__init__" and function.owner
    return function.owner if is_constructor else function.name
