"""The class of an expression, as far as annotations, constructors and assignments tell it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.domain.calls.classes import Classes, imports_of, methods_of, place_of
from checks.domain.calls.handed_over import handed_over
from checks.domain.calls.names import (
    bound_names,
    enclosing_functions,
    is_local,
    names_bound_by,
    nearest_imports,
)
from checks.domain.calls.value_types import (
    ElementsType,
    ObjectType,
    Scope,
    ValueType,
    common_type,
)
from checks.domain.ops import statement_expressions
from checks.eval.interpreter.modules import PROPERTY_DECORATORS
from checks.eval.interpreter.values import ClassRef, FuncRef, ModuleRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Constant, Function, SourceFile
from checks.lang.ir.stmt import Assign, For, Return, guarded_statements
from checks.lang.python.annotations import Annotation, parse_annotation

_SEQUENCES = frozenset(
    {"list", "List", "Sequence", "Iterable", "Iterator", "set", "Set", "deque", "Deque"}
    | {"Collection", "MutableSequence", "Generator", "AsyncGenerator"}
)
_TUPLES = frozenset({"tuple", "Tuple"})
_MAPPINGS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict"})
_CLASSES = frozenset({"type", "Type"})
_FACTORY = re.compile(r"lambda[^:]*:\s*(\w+)\(")
# What holds, or goes through, the elements of its first argument.
_SAME_ELEMENTS = frozenset(
    {"list", "tuple", "set", "deque", "iter", "reversed", "sorted", "islice"}
    | {"ModuleList", "LayerList", "Sequential"}
)
# How many steps are followed from an expression to the class of its value.
_MOST_STEPS = 12


@dataclass
class Types:
    """The types of expressions on one side of a change."""

    classes: Classes
    _attributes: dict[tuple[str, int, str], ValueType | None] = field(default_factory=dict)
    _returns: dict[tuple[str, int], ValueType | None] = field(default_factory=dict)
    _locals: dict[tuple[str, int, str], ValueType | None] = field(default_factory=dict)
    _depth: int = 0

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> Types:
        """The one table of this side of the change."""
        return change.memo((cls, side), lambda: cls(Classes.of_change(change, side)))

    def of(self, expr: E.Expr, scope: Scope) -> ValueType | None:
        """The type of `expr`; None where it is not known."""
        if self._depth >= _MOST_STEPS:
            return None
        self._depth += 1
        try:
            return self._find(expr, scope)
        finally:
            self._depth -= 1

    def object_class(self, expr: E.Expr, scope: Scope) -> ObjectType | None:
        """The class of the object that `expr` is."""
        found = self.of(expr, scope)
        return found if isinstance(found, ObjectType) else None

    def _find(self, expr: E.Expr, scope: Scope) -> ValueType | None:
        match expr:
            case E.Name(id=name):
                return self._name(name, expr.line, scope)
            case E.Attr(base=base, name=name):
                owner = self.object_class(base, scope)
                return self.attribute(owner.ref, name) if owner is not None else None
            case E.Call(func=E.Attr(base=base, name="values"), args=()):
                held = self._container(base, scope)
                return replace(held, keyed=False) if held is not None and held.keyed else None
            case E.Call(args=(same, *_)) if E.callee(expr) in _SAME_ELEMENTS:
                held = self._container(same, scope)
                return held if held is not None and not held.keyed else None
            case E.Call():
                return self._called(expr, scope)
            case E.Index(base=base, indices=(index,)):
                held = self._container(base, scope)
                return held if isinstance(index, E.Slice) else self._element(held)
            case E.Comprehension(kind="list" | "set" | "generator", element=element):
                return _elements([self._made(element, scope)], scope)
            case E.Sequence(items=items):
                return _elements([self._made(item, scope) for item in items], scope)
            case _:
                return None

    def _made(self, expr: E.Expr, scope: Scope) -> ValueType | None:
        """The type of what is made in place: an element of a display may be bound in it else."""
        return self.of(expr, scope) if isinstance(expr, E.Call) else None

    def _container(self, expr: E.Expr, scope: Scope) -> ElementsType | None:
        held = self.of(expr, scope)
        return held if isinstance(held, ElementsType) else None

    def _element(self, held: ElementsType | None) -> ValueType | None:
        if held is None:
            return None
        if isinstance(held.element, ObjectType):
            return held.element
        return self.annotated(held.element, held.unit)

    # Names.

    def _name(self, name: str, line: int, scope: Scope) -> ValueType | None:
        asked = self._asked_class(name, scope)
        if asked is not None:
            return asked
        function, unit = scope.function, scope.unit
        param = next((p for p in function.params if p.name == name), None)
        if name in bound_names(function) and param is None:
            return self._local(name, scope)
        if name in bound_names(function) and _may_be_bound_anew(name, line, function):
            return None
        if param is not None:
            if function.params[0].name == name and function.owner and not param.type:
                return self._self(function, unit)
            if param.kind in ("args", "kwargs"):
                return None
            return self.written(param.type, unit)
        for outer in enclosing_functions(function, unit):
            if name in bound_names(outer) or any(p.name == name for p in outer.params):
                return self._name(name, line, Scope(outer, unit))
        iterables = list(_iterables_of(name, function))
        if iterables:
            return common_type([self._iterated(iterable, scope) for iterable in iterables])
        return self._outer_name(name, line, scope)

    def _asked_class(self, name: str, scope: Scope) -> ValueType | None:
        """The class for which a condition around the expression asks with `isinstance`."""
        for guard in scope.guards:
            match guard:
                case E.Call(
                    func=E.Name(id="isinstance"), args=(E.Name(id=asked), E.Name(id=cls))
                ) if asked == name:
                    ref = self.classes.named(cls, scope.unit)
                    return ObjectType(ref) if ref is not None else None
                case _:
                    pass
        return None

    def _self(self, function: Function, unit: SourceFile) -> ValueType | None:
        """What the first parameter of a method is; of a class method, its class, which we leave."""
        if any(mark in ("staticmethod", "classmethod") for mark in function.marks):
            return None
        owners = unit.classes_named.get(function.owner, [])
        return ObjectType(ClassRef(owners[0], unit)) if len(owners) == 1 else None

    def own_class(self, expr: E.Expr, scope: Scope) -> ClassRef | None:
        """The class in which the method stands, where `expr` is the class of its own object:
        `cls`, `type(self)`, `self.__class__`. It may be one that inherits from it."""
        function, unit = scope.function, scope.unit
        if not function.owner or not function.params or "staticmethod" in function.marks:
            return None
        first = function.params[0].name
        if first in bound_names(function):
            return None
        if _whose_class(expr) != (first, "classmethod" in function.marks):
            return None
        owners = unit.classes_named.get(function.owner, [])
        return ClassRef(owners[0], unit) if len(owners) == 1 else None

    def _local(self, name: str, scope: Scope) -> ValueType | None:
        """The type that all assignments of the function to `name` give it."""
        key = scope.function.path, scope.function.start_line, name
        if key not in self._locals:
            # A variable that is made from itself has no type while it is looked for.
            self._locals[key] = None
            self._locals[key] = self._find_local(name, Scope(scope.function, scope.unit))
        return self._locals[key]

    def _find_local(self, name: str, scope: Scope) -> ValueType | None:
        found: list[ValueType | None] = []
        for guarded in guarded_statements(scope.function.body):
            match guarded.stmt:
                case Assign(target=E.Name(id=target), op=op, value=value) if target == name:
                    if op != "=":
                        return None
                    if guarded.stmt.declares:
                        return self.written(guarded.stmt.declares, scope.unit)
                    if value is not None and value != E.Const(None):
                        found.append(self.of(value, scope))
                case For(target=E.Name(id=target), iterable=iterable) if target == name:
                    found.append(self._iterated(iterable, scope))
                case For(
                    target=E.Sequence(items=(_, E.Name(id=target))),
                    iterable=E.Call(func=E.Name(id="enumerate"), args=(iterable, *_)),
                ) if target == name:
                    found.append(self._iterated(iterable, scope))
                case Assign(target=target) | For(target=target) if target is not None:
                    if isinstance(target, E.Sequence) and name in E.names(target):
                        return None
        return common_type(found)

    def _iterated(self, iterable: E.Expr | None, scope: Scope) -> ValueType | None:
        held = self._container(iterable, scope) if iterable is not None else None
        return self._element(held) if held is not None and not held.keyed else None

    def _outer_name(self, name: str, line: int, scope: Scope) -> ValueType | None:
        """An object that the file makes at its top level, or imports from where it is made."""
        imports = nearest_imports(name, line, scope.function, scope.unit)
        if imports:
            if len(imports) > 1 or not imports[0].name:
                return None
            module = self.classes.program.module_of(imports[0], scope.unit)
            if module.unit is None:
                return None
            return self._top_object(imports[0].name, module.unit)
        return self._top_object(name, scope.unit)

    def _top_object(self, name: str, unit: SourceFile) -> ValueType | None:
        constants = unit.constants_named.get(("", name), [])
        if len(constants) != 1 or imports_of(unit, name):
            return None
        return self._declared(constants[0], unit)

    def _declared(self, constant: Constant, unit: SourceFile) -> ValueType | None:
        if constant.type:
            return self.written(constant.type, unit)
        if isinstance(constant.value, E.Call):
            top = self.classes.program.modules.top(unit)
            return self.of(constant.value, Scope(top, unit))
        return None

    # Annotations.

    def written(self, text: str, unit: SourceFile) -> ValueType | None:
        """The type that an annotation in `unit` names."""
        annotation = parse_annotation(text) if text else None
        return self.annotated(annotation, unit) if annotation is not None else None

    def annotated(self, annotation: Annotation, unit: SourceFile) -> ValueType | None:
        """The type that a parsed annotation of `unit` names."""
        plain = annotation.name.rsplit(".", 1)[-1]
        if plain in _SEQUENCES and annotation.args:
            return ElementsType(annotation.args[0], unit)
        if plain in _TUPLES:
            element = _common_element(annotation)
            return ElementsType(element, unit) if element is not None else None
        if plain in _MAPPINGS and len(annotation.args) == 2:
            return ElementsType(annotation.args[1], unit, keyed=True)
        if plain in _CLASSES:
            return None
        ref = self.classes.named(annotation.name, unit)
        return ObjectType(ref) if ref is not None else None

    # Attributes.

    def attribute(self, ref: ClassRef, name: str) -> ValueType | None:
        """The type of the attribute `name` of objects of a class."""
        key = (*place_of(ref), name)
        if key not in self._attributes:
            # An attribute that is made from itself has no type while it is looked for.
            self._attributes[key] = None
            self._attributes[key] = self._find_attribute(ref, name)
        return self._attributes[key]

    def _find_attribute(self, ref: ClassRef, name: str) -> ValueType | None:
        for owner in self.classes.lineage(ref).classes:
            fields = owner.unit.constants_named.get((owner.cls.name, name), [])
            for constant in fields:
                if constant.type:
                    return self.written(constant.type, owner.unit)
            for function in methods_of(owner, name):
                if PROPERTY_DECORATORS.intersection(function.marks):
                    return self.written(function.returns, owner.unit)
            found = list(self._assigned(owner, name))
            if found:
                return common_type(found)
        return None

    def _assigned(self, owner: ClassRef, name: str) -> Iterator[ValueType | None]:
        """The types of the values that methods of the class give `self.name`."""
        pattern = re.compile(rf"\bself\.{re.escape(name)}\b[^=\n]*=[^=]")
        place = E.Attr(E.Name("self"), name)
        for function in owner.unit.functions:
            if function.owner != owner.cls.name:
                continue
            if not pattern.search(owner.unit.text_of(function)):
                continue
            for guarded in guarded_statements(function.body):
                match guarded.stmt:
                    case Assign(target=E.Sequence(items=items), op="=", value=E.Call() as call) if (
                        place in items
                    ):
                        yield self._by_factory(call, Scope(function, owner.unit))
                    case Assign(target=target, op="=", value=value) if target == place:
                        scope = Scope(function, owner.unit, guarded.guards)
                        made = self.of(value, scope) if value is not None else None
                        if guarded.stmt.declares:
                            yield self._unless_denied(guarded.stmt.declares, made, owner.unit)
                        elif value != E.Const(None):
                            yield made

    def _by_factory(self, call: E.Call, scope: Scope) -> ValueType | None:
        """`first, last, self.layers = make_layers(count, lambda prefix: Layer(prefix))`: what a
        function makes by the one factory that it is given are the elements of what it returns."""
        texts = [arg.text for arg in call.args if isinstance(arg, E.Unknown)]
        makes = [found[1] for text in texts if (found := _FACTORY.match(text))]
        if len(makes) != 1 or len(texts) != 1:
            return None
        made = self.of(E.Call(E.Name(makes[0], line=call.line), (), (), line=call.line), scope)
        return ElementsType(made, scope.unit) if isinstance(made, ObjectType) else None

    def _unless_denied(
        self, annotation: str, made: ValueType | None, unit: SourceFile
    ) -> ValueType | None:
        """What an annotation says, unless the value beside it is of a class that is no such."""
        said = self.written(annotation, unit)
        if not isinstance(said, ObjectType) or not isinstance(made, ObjectType):
            return said
        above = [place_of(ref) for ref in self.classes.lineage(made.ref).classes]
        return said if place_of(said.ref) in above else None

    # Calls.

    def _called(self, call: E.Call, scope: Scope) -> ValueType | None:
        """An object of the class that is called, or what the function returns."""
        own = self.own_class(call.func, scope)
        if own is not None:
            return ObjectType(own)
        if E.callee(call) == "remote":
            return self._made_elsewhere(call, scope)
        match call.func:
            case E.Name(id=name):
                value = self.function_or_class(name, call.line, scope)
            case E.Attr(base=E.Name(id=module), name=name):
                value = self.in_module(module, name, call.line, scope)
                if value is None:
                    return self._method_result(call.func, scope)
            case E.Attr():
                return self._method_result(call.func, scope)
            case _:
                return None
        if isinstance(value, ClassRef):
            return ObjectType(value, exact=True)
        if isinstance(value, FuncRef):
            return self.returned(value.function, value.unit)
        return None

    def _made_elsewhere(self, call: E.Call, scope: Scope) -> ValueType | None:
        """`Worker.remote(rank)`: what stands for an object of the class in another process. A
        function that runs there gives back a promise."""
        made = handed_over(call)
        found = self._called(made, scope) if made is not None else None
        return found if isinstance(found, ObjectType) and found.exact else None

    def function_or_class(self, name: str, line: int, scope: Scope) -> ClassRef | FuncRef | None:
        """The function or class of the tree that a plain name means."""
        if is_local(name, scope.function, scope.unit):
            return None
        imports = nearest_imports(name, line, scope.function, scope.unit)
        if len(imports) > 1:
            return None
        if imports and imports[0].function:
            found = self.classes.program.imported(imports[0], scope.unit).value
        else:
            value = self.classes.value(name, scope.unit)
            found = value.value if value is not None else None
        return found if isinstance(found, ClassRef | FuncRef) else None

    def in_module(
        self, module: str, name: str, line: int, scope: Scope
    ) -> ClassRef | FuncRef | None:
        """The function or class `name` of an imported module."""
        imported = self.module(module, line, scope)
        found = self.classes.program.member(imported, name).value if imported is not None else None
        return found if isinstance(found, ClassRef | FuncRef) else None

    def module(self, name: str, line: int, scope: Scope) -> ModuleRef | None:
        """The module of the tree that a plain name means by an import."""
        if is_local(name, scope.function, scope.unit):
            return None
        imports = nearest_imports(name, line, scope.function, scope.unit)
        if len(imports) != 1:
            return None
        imported = self.classes.program.imported(imports[0], scope.unit).value
        is_of_tree = isinstance(imported, ModuleRef) and imported.unit is not None
        return imported if is_of_tree else None

    def _method_result(self, func: E.Attr, scope: Scope) -> ValueType | None:
        owner = self.object_class(func.base, scope)
        found = self.classes.method(owner.ref, func.name) if owner is not None else None
        if owner is None or found is None:
            return None
        function, defined_in = found
        if function.returns.strip("\"'") == "Self":
            return owner
        return self.returned(function, defined_in.unit)

    def returned(self, function: Function, unit: SourceFile) -> ValueType | None:
        """What a function gives back, by its annotation or by all that it returns."""
        if "async" in function.marks and not function.returns:
            return None
        if function.returns:
            return self.written(function.returns, unit)
        key = function.path, function.start_line
        if key not in self._returns:
            # A function that returns what it is called for has no type while that is looked for.
            self._returns[key] = None
            self._returns[key] = self._find_returned(function, unit)
        return self._returns[key]

    def _find_returned(self, function: Function, unit: SourceFile) -> ValueType | None:
        found: list[ValueType | None] = []
        for guarded in guarded_statements(function.body):
            match guarded.stmt:
                case Return(value=value) if value is not None and value != E.Const(None):
                    found.append(self.of(value, Scope(function, unit, guarded.guards)))
                case _:
                    pass
        return common_type(found)


def _whose_class(expr: E.Expr) -> tuple[str, bool] | None:
    """The name of which `expr` is the class, and whether the name is the class itself."""
    match expr:
        case E.Name(id=name):
            return name, True
        case E.Attr(base=E.Name(id=name), name="__class__"):
            return name, False
        case E.Call(func=E.Name(id="type"), args=(E.Name(id=name),)):
            return name, False
        case _:
            return None


def _may_be_bound_anew(name: str, line: int, function: Function) -> bool:
    """Whether a parameter may have another value at `line` than the call gave it."""
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if name not in names_bound_by(stmt):
            continue
        if guarded.loops:
            return line >= guarded.loops[0].line
        return line > (stmt.end_line if isinstance(stmt, Assign) else stmt.line)
    return False


def _iterables_of(name: str, function: Function) -> Iterator[E.Expr]:
    """What the comprehensions of a function go through under this name."""
    for target, iterable in function.body.memo(_iterables_of, lambda: list(_clauses(function))):
        if target == name:
            yield iterable


def _clauses(function: Function) -> Iterator[tuple[str, E.Expr]]:
    for _, expressions in statement_expressions(function.body):
        for expr in expressions:
            for target, iterable, _ in expr.clauses if isinstance(expr, E.Comprehension) else ():
                if isinstance(target, E.Name):
                    yield target.id, iterable


def _elements(elements: list[ValueType | None], scope: Scope) -> ElementsType | None:
    """A container of these elements, where they are objects of one class."""
    element = common_type(elements)
    return ElementsType(element, scope.unit) if isinstance(element, ObjectType) else None


def _common_element(annotation: Annotation) -> Annotation | None:
    """What every element of a tuple is: `X` for `tuple[X, ...]` and `tuple[X, X]`.

    None where they differ.
    """
    # An ellipsis has no name.
    if len(annotation.args) == 2 and annotation.args[1] == Annotation(""):
        return annotation.args[0]
    kinds = set(annotation.args)
    return kinds.pop() if len(kinds) == 1 else None
