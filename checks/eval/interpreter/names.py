"""Names and attributes: what modules, classes and objects hold."""

from __future__ import annotations

from checks.eval.interpreter.builtins_model.functions import BUILTIN_NAMES
from checks.eval.interpreter.frames import CallFrame, Interpretation, LoopJump, ReturnSignal
from checks.eval.interpreter.modules import PROPERTY_DECORATORS
from checks.eval.interpreter.values import (
    NONE_VALUE,
    UNKNOWN_VALUE,
    Array,
    ClassRef,
    FuncRef,
    Instance,
    ModuleRef,
    Native,
    PyDict,
    PyList,
    SimulatedException,
    Value,
    unknown,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Constant, Function, Import, SourceFile

_UNKNOWN_ARRAY_ATTRIBUTES = frozenset({"size", "dtype", "T", "place", "device"})


def look_up_name(run: Interpretation, name: str) -> Value:
    """A name in the running function: its own, of the function around it, or a global one."""
    frame = run.frame
    if name in frame.names:
        return frame.names[name]
    if frame.scope is not None and name in frame.scope:
        return frame.scope[name]
    return look_up_global(run, frame.unit, name, frame.function)


def look_up_global(
    run: Interpretation, unit: SourceFile, name: str, function: Function | None = None
) -> Value:
    """A name of a module, or a builtin; the imports inside `function` count too."""
    definition = run.program.defined(unit, name)
    if definition is not None:
        return definition
    constants = unit.constants_named.get(("", name), ())
    if constants:
        return _look_up_constant(run, unit, name) if len(constants) == 1 else UNKNOWN_VALUE
    imports = _visible_imports(unit, name, function)
    if imports:
        return _follow_import(run, imports[0], unit) if len(imports) == 1 else UNKNOWN_VALUE
    return Value(Native(name)) if name in BUILTIN_NAMES else UNKNOWN_VALUE


def _visible_imports(unit: SourceFile, name: str, function: Function | None) -> list[Import]:
    """The imports that bind `name` in `function`: its own, else the module's."""
    imports = unit.imports_named.get(name, [])
    if function is not None:
        own_names = (function.name, function.qualname)
        local = [item for item in imports if item.function and item.function in own_names]
        if local:
            return local
    return [item for item in imports if not item.function]


def _follow_import(run: Interpretation, item: Import, unit: SourceFile) -> Value:
    """What an import binds, looked up as a global name of the module that it names."""
    module = run.program.module_of(item, unit)
    if not item.name or module.unit is None or module.unit is unit:
        return run.program.imported(item, unit)
    key = (module.unit.path, item.name)
    if key in run.importing:
        return UNKNOWN_VALUE
    run.importing.add(key)
    imported = look_up_global(run, module.unit, item.name)
    run.importing.discard(key)
    if imported.known and not _is_builtin(imported):
        return imported
    return run.program.imported(item, unit)


def _is_builtin(value: Value) -> bool:
    return isinstance(value.value, Native) and value.value.name in BUILTIN_NAMES


def _look_up_constant(run: Interpretation, unit: SourceFile, name: str) -> Value:
    constant = unit.constants_named["", name][0]
    return _evaluate_constant(run, unit, name, constant, {})


def _evaluate_constant(
    run: Interpretation,
    unit: SourceFile,
    key_name: str,
    constant: Constant,
    names: dict[str, Value],
) -> Value:
    """The value of a module's constant or a class's field, evaluated once."""
    key = (unit.path, key_name)
    if key not in run.constants:
        # A constant that needs its own value is unknown.
        run.constants[key] = UNKNOWN_VALUE
        if constant.value is not None:
            run.constants[key] = evaluate_in_module(run, unit, constant.value, names)
    return run.constants[key]


def evaluate_in_module(
    run: Interpretation, unit: SourceFile, expr: E.Expr, names: dict[str, Value]
) -> Value:
    """`expr` as it stands in `unit`, outside of any function; what raises there is unknown."""
    top = run.program.modules.top(unit)
    run.frames.append(CallFrame(unit, top, names, fixture=run.is_test(unit.path)))
    try:
        return run.eval(expr)
    except (SimulatedException, ReturnSignal, LoopJump):
        return UNKNOWN_VALUE
    finally:
        run.frames.pop()


def get_attribute(run: Interpretation, owner: Value, name: str) -> Value:
    """`owner.name`. Raises an AttributeError where everything about the object is known."""
    match owner.value:
        case Instance() as instance:
            return _get_instance_attribute(run, owner, instance, name)
        case ModuleRef() as module:
            return _get_module_attribute(run, module, name)
        case ClassRef():
            if name == "__new__":
                return Value(Native("object.__new__"))
            return _get_class_attribute(run, owner.value, name, None)
        case Native(name=native_name, self_=self_):
            return Value(Native(f"{native_name}.{name}", self_))
        case Array() as array:
            return _get_array_attribute(owner, array, name)
        case PyList() | PyDict() | int() | float() | str():
            return Value(Native(f"method.{name}", owner))
        case _:
            return unknown(owner)


def _get_module_attribute(run: Interpretation, module: ModuleRef, name: str) -> Value:
    if module.unit is not None:
        value = look_up_global(run, module.unit, name)
        if value.known:
            return value
    return run.program.member(module, name)


def _get_array_attribute(owner: Value, array: Array, name: str) -> Value:
    if name == "shape":
        return Value(PyList(list(array.shape), kind="tuple"))
    if name == "ndim":
        return Value(len(array.shape))
    if name in _UNKNOWN_ARRAY_ATTRIBUTES:
        return UNKNOWN_VALUE
    return Value(Native(f"method.{name}", owner))


def _get_instance_attribute(
    run: Interpretation, owner: Value, instance: Instance, name: str
) -> Value:
    if name in instance.attrs:
        return instance.attrs[name].with_origins(owner.origins)
    if instance.cls is None:
        if not instance.open:
            raise SimulatedException("AttributeError", name, owner.origins)
        # A mock makes its attributes as they are asked for.
        instance.attrs[name] = Value(Instance(None, open=True))
        return instance.attrs[name]
    value = _get_class_attribute(run, instance.cls, name, owner)
    if _is_declared(run.program.ancestors(instance.cls), name):
        return value
    chain = run.program.bases(instance.cls)
    may_have_more = instance.open or chain is None or name.startswith("__")
    if value.value is None and not value.origins and not may_have_more:
        raise SimulatedException("AttributeError", name, owner.origins)
    return UNKNOWN_VALUE


def _is_declared(chain: list[ClassRef], name: str) -> bool:
    """Whether one of these classes has a method or field `name`, or a `__getattr__`."""
    for ref in chain:
        functions = ref.unit.functions_named
        if f"{ref.cls.name}.{name}" in functions or f"{ref.cls.name}.__getattr__" in functions:
            return True
        if (ref.cls.name, name) in ref.unit.constants_named:
            return True
    return False


def find_special_method(run: Interpretation, owner: Value, name: str) -> FuncRef | None:
    """The object's own `__getitem__`, `__int__` and the like, bound to it."""
    if not isinstance(owner.value, Instance) or owner.value.cls is None:
        return None
    for ref in run.program.ancestors(owner.value.cls):
        methods = ref.unit.functions_named.get(f"{ref.cls.name}.{name}")
        if methods:
            return FuncRef(methods[0], ref.unit, owner) if len(methods) == 1 else None
    return None


def _get_class_attribute(
    run: Interpretation, cls: ClassRef, name: str, instance: Value | None
) -> Value:
    """A patch, method, field or inner class of `cls` or its ancestors.

    Where none has it: None (the value) for an instance, unknown for the class itself.
    """
    for ref in run.program.ancestors(cls):
        qualified = f"{ref.cls.name}.{name}"
        override = run.program.overrides.get((ref.unit.path, qualified))
        if override is not None:
            return override
        methods = ref.unit.functions_named.get(qualified, ())
        if len(methods) == 1:
            return _bind_method(run, methods[0], ref, instance)
        fields = ref.unit.constants_named.get((ref.cls.name, name), ())
        inner_classes = run.program.modules.inner_classes(ref)
        if len(fields) > 1:
            return UNKNOWN_VALUE
        if fields:
            return _evaluate_constant(run, ref.unit, qualified, fields[0], dict(inner_classes))
        if name in inner_classes:
            return inner_classes[name]
    return NONE_VALUE if instance is not None else UNKNOWN_VALUE


def _bind_method(
    run: Interpretation, function: Function, ref: ClassRef, instance: Value | None
) -> Value:
    """A method as it is got from an instance, or from the class where `instance` is None."""
    if not PROPERTY_DECORATORS.isdisjoint(function.marks):
        if instance is None:
            return UNKNOWN_VALUE
        return run.call_function(FuncRef(function, ref.unit, instance), [], {})
    if "staticmethod" in function.marks:
        bound = None
    elif "classmethod" in function.marks:
        bound = Value(ref)
    else:
        bound = instance
    return Value(FuncRef(function, ref.unit, bound))
