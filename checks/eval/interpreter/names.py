"""Names, attributes and what modules and classes hold."""

from __future__ import annotations

from checks.eval.interpreter import natives
from checks.eval.interpreter.frames import Frame, Jump, Return, State
from checks.eval.interpreter.program import absolute
from checks.eval.interpreter.values import (
    ANY,
    NONE,
    UNKNOWN,
    Array,
    ClassRef,
    FuncRef,
    Instance,
    ModuleRef,
    Native,
    PyDict,
    PyList,
    Raised,
    V,
    unknown,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Constant, Function, Import, SourceFile


class Names(State):
    """Looking things up."""

    def around(self, name: str, frame: Frame) -> V:
        """A name that the running function does not set: of its scope, its module, or the builtins."""
        if frame.scope is not None and name in frame.scope:
            return frame.scope[name]
        return self.global_name(frame.unit, name, frame.function)

    def global_name(self, unit: SourceFile, name: str, function: Function | None = None) -> V:
        found = self.program.defined(unit, name)
        if found is not None:
            return found
        constants = unit.constants_named.get(("", name), ())
        if constants:
            return self._constant(unit, name) if len(constants) == 1 else ANY
        imports = unit.imports_named.get(name, ())
        if len(imports) != 1 or imports[0].function:
            local = [
                i
                for i in imports
                if function and i.function and i.function in (function.name, function.qualname)
            ]
            imports = local or [i for i in imports if not i.function]
        if imports:
            return self._imported(imports[0], unit) if len(imports) == 1 else ANY
        return V(Native(name)) if name in natives.BUILTINS else ANY

    def _imported(self, item: Import, unit: SourceFile) -> V:
        module = self.program.module(absolute(item.module, unit.path))
        if item.name and module.unit is not None and module.unit is not unit:
            key = (module.unit.path, item.name)
            if key in self._importing:
                return ANY
            self._importing.add(key)
            found = self.global_name(module.unit, item.name)
            self._importing.discard(key)
            if found.known and not (
                isinstance(found.value, Native) and found.value.name in natives.BUILTINS
            ):
                return found
        return self.program.imported(item, unit)

    def _constant(self, unit: SourceFile, name: str) -> V:
        key = (unit.path, name)
        if key not in self.constants:
            self.constants[key] = ANY
            constant = unit.constants_named["", name][0]
            if constant.value is not None:
                self.constants[key] = self.in_module(unit, constant.value)
        return self.constants[key]

    def in_module(self, unit: SourceFile, e: E.Expr, names: dict[str, V] | None = None) -> V:
        """`e` as it stands in `unit`, outside of any function."""
        if isinstance(e, E.Const):
            return self.eval(e)
        self.frames.append(
            Frame(
                unit, self.program.modules.top(unit), names or {}, fixture=self.is_test(unit.path)
            )
        )
        try:
            return self.eval(e)
        except (Raised, Return, Jump):
            return ANY
        finally:
            self.frames.pop()

    def attribute(self, owner: V, name: str) -> V:
        """`owner.name`; raises AttributeError where the object is known through and through."""
        if owner.value is UNKNOWN:
            return unknown(owner)
        match owner.value:
            case Instance() as instance:
                return self._instance_attribute(owner, instance, name)
            case ModuleRef(unit=unit) as module:
                if unit is not None and (v := self.global_name(unit, name)).known:
                    return v
                return self.program.member(module, name)
            case ClassRef() as cls:
                return (
                    V(Native("object.__new__"))
                    if name == "__new__"
                    else self._class_attribute(cls, name, None)
                )
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
            value = instance.attrs[name]
            return value.also(owner.origins) if owner.origins else value
        if instance.cls is None:
            if instance.open:
                instance.attrs[name] = V(Instance(None, open=True))
                return instance.attrs[name]
            raise Raised("AttributeError", name, owner.origins)
        found = self._class_attribute(instance.cls, name, owner)
        if self._declares(self.program.ancestors(instance.cls), name):
            return found
        chain = self.program.bases(instance.cls)
        closed = not instance.open and chain is not None and not name.startswith("__")
        if found.value is None and not found.origins and closed:
            raise Raised("AttributeError", name, owner.origins)
        return ANY

    @staticmethod
    def _declares(chain: list[ClassRef], name: str) -> bool:
        for ref in chain:
            functions = ref.unit.functions_named
            if f"{ref.cls.name}.{name}" in functions or f"{ref.cls.name}.__getattr__" in functions:
                return True
            if (ref.cls.name, name) in ref.unit.constants_named:
                return True
        return False

    def special(self, owner: V, name: str) -> FuncRef | None:
        """The object's own `__getitem__`, `__int__` and the like, bound."""
        if not isinstance(owner.value, Instance) or owner.value.cls is None:
            return None
        for ref in self.program.ancestors(owner.value.cls):
            found = ref.unit.functions_named.get(f"{ref.cls.name}.{name}")
            if found:
                return FuncRef(found[0], ref.unit, owner) if len(found) == 1 else None
        return None

    def _class_attribute(self, cls: ClassRef, name: str, me: V | None) -> V:
        for ref in self.program.ancestors(cls):
            override = self.program.overrides.get((ref.unit.path, f"{ref.cls.name}.{name}"))
            if override is not None:
                return override
            methods = ref.unit.functions_named.get(f"{ref.cls.name}.{name}", ())
            if len(methods) == 1:
                return self._method(methods[0], ref, me)
            fields = ref.unit.constants_named.get((ref.cls.name, name), ())
            if fields:
                return self._field(ref, fields[0]) if len(fields) == 1 else ANY
            inner = self.program.modules.inner(ref)
            if name in inner:
                return inner[name]
        return NONE if me is not None else ANY

    def _field(self, ref: ClassRef, constant: Constant) -> V:
        key = (ref.unit.path, f"{ref.cls.name}.{constant.name}")
        if key not in self.constants:
            self.constants[key] = ANY
            if constant.value is not None:
                self.constants[key] = self.in_module(
                    ref.unit, constant.value, dict(self.program.modules.inner(ref))
                )
        return self.constants[key]

    def _method(self, function: Function, ref: ClassRef, me: V | None) -> V:
        if any(
            m in ("property", "cached_property", "functools.cached_property")
            for m in function.marks
        ):
            return (
                self.call_function(FuncRef(function, ref.unit, me), [], {})
                if me is not None
                else ANY
            )
        bound = (
            None
            if "staticmethod" in function.marks
            else V(ref)
            if "classmethod" in function.marks
            else me
        )
        return V(FuncRef(function, ref.unit, bound))
