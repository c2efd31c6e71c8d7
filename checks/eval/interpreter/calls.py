"""Calls: functions of the tree, classes, modelled functions, and the unknown."""

from __future__ import annotations

from checks.eval.interpreter import natives
from checks.eval.interpreter.expressions import Expressions
from checks.eval.interpreter.frames import Return
from checks.eval.interpreter.values import (
    ANY,
    NONE,
    UNKNOWN,
    Array,
    ClassRef,
    FuncRef,
    GaveUp,
    Instance,
    Native,
    Origin,
    Origins,
    PyDict,
    PyList,
    Raised,
    V,
    unknown,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param, SourceFile

WRITERS = frozenset({"set_tensor", "set_value", "copy_", "fill_"})


class Calls(Expressions):
    """Entering what is called."""

    def call_expr(self, e: E.Call) -> V:
        if (
            isinstance(e.func, E.Attr)
            and e.func.name in WRITERS
            and isinstance(e.func.base, E.Index)
            and e.args
        ):
            return self._write(e, e.func, e.func.base)
        func = self.eval(e.func)
        if E.starred(e):
            return self.unknown_call(
                func, [self.eval(a.operand if isinstance(a, E.Unary) else a) for a in e.args]
            )
        args = [self.eval(a) for a in e.args]
        words = {k: self.eval(v) for k, v in e.keywords} if e.keywords else {}
        return self.call(func, args, words)

    def _write(self, e: E.Call, method: E.Attr, place: E.Index) -> V:
        """`tensor[i].set_tensor(value)`: a store into the tensor, or the object's own method."""
        value, frame = self.eval(e.args[0]), self.frame
        if frame.fixture:
            origin = Origin(frame.unit.path, e.line)
            value = value.also(frozenset({origin}))
            self.stores.pop(origin, None)
            self.stores[origin] = 2
        if isinstance(self.eval(place.base).value, Instance):
            return self.call(self.attribute(self.eval(place), method.name), [value], {})
        self.store(place, value)
        return NONE

    def call(self, func: V, args: list[V], words: dict[str, V]) -> V:
        """Call a value."""
        called = func.value
        if called is UNKNOWN:
            return self.unknown_call(func, [*args, *words.values()])
        match called:
            case FuncRef():
                return self.call_function(called, args, words)
            case ClassRef():
                return self._construct(called, args, words)
            case Native():
                return self._native(called, args, words)
            case Instance(cls=None, open=True, attrs=attrs):
                return attrs.get("return_value", V(Instance(None, open=True)))
            case _:
                return self.unknown_call(func, [*args, *words.values()])

    def _native(self, native: Native, args: list[V], words: dict[str, V]) -> V:
        name = native.name
        if name == "object.__new__" and args and isinstance(args[0].value, ClassRef):
            return self._new(args[0].value)
        if (
            name in ("int", "float", "len")
            and len(args) == 1
            and (own := self.special(args[0], f"__{name}__"))
        ):
            return self.call_function(own, [], {})
        if name in ("hasattr", "getattr", "setattr"):
            return self._reflect(name, args)
        if native.self_ is None and "." in name and name.partition(".")[0] not in natives.ARRAYS:
            return self._foreign(native, args, words)
        return natives.call(native, args, words)

    def _new(self, cls: ClassRef) -> V:
        """An object of `cls` that nothing has been done to yet."""
        chain = self.program.bases(cls)
        return V(Instance(cls, open=chain is None or self.program.modules.dynamic(chain)))

    def _foreign(self, native: Native, args: list[V], words: dict[str, V]) -> V:
        known = natives.call(native, args, words)
        return known if known.known else self.unknown_call(V(native), [*args, *words.values()])

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

    def unknown_call(self, func: V, args: list[V]) -> V:
        """A call into something unknown: it may write into what it is given."""
        self.unknowns += 1
        name = func.value.name if isinstance(func.value, Native) else ""
        if "log" not in name and "assert" not in name:
            for arg in args:
                if isinstance(arg.value, Array):
                    arg.value.forget()
                elif isinstance(arg.value, PyList):
                    arg.value.items = None
                elif isinstance(arg.value, Instance):
                    arg.value.open = True
        return unknown(func, *args)

    def _construct(self, cls: ClassRef, args: list[V], words: dict[str, V]) -> V:
        instance = self._new(cls)
        for ref in self.program.ancestors(cls):
            if (ref.unit.path, f"{ref.cls.name}.__init__") in self.program.overrides:
                instance.value.open = True
                return instance
            init = ref.unit.functions_named.get(f"{ref.cls.name}.__init__")
            if init:
                self.call_function(FuncRef(init[0], ref.unit, instance), args, words)
                return instance
        if args or words:
            instance.value.attrs.update(words)
            instance.value.open = True
        return instance

    def call_function(self, ref: FuncRef, args: list[V], words: dict[str, V]) -> V:
        """Run a function of the tree; a wrong argument list raises TypeError."""
        function = ref.function
        if len(self.frames) >= self.depth:
            raise GaveUp
        if not self.program.modules.followed(ref):
            return self.unknown_call(V(ref), [*args, *words.values()])
        names = self._bind(
            function, ([ref.bound] if ref.bound is not None else []) + args, words, ref.unit
        )
        frame = self.entering(function, ref.unit, names, ref.scope)
        self.frames.append(frame)
        try:
            self.block(function.body)
            result = NONE
        except Return as returned:
            result = returned.value
        except Raised as raised:
            raised.doubtful = raised.doubtful or frame.maybe
            raise
        finally:
            self.frames.pop()
        return ANY if frame.maybe else result

    def _bind(
        self, function: Function, args: list[V], words: dict[str, V], unit: SourceFile
    ) -> dict[str, V]:
        positional = [p.name for p in function.params if p.kind == "positional"]
        if len(args) > len(positional) and not _takes_any(function, "args"):
            detail = f"{function.name}() takes {len(positional)} arguments, got {len(args)}"
            raise Raised("TypeError", detail, self._header(function, unit))
        names = dict(zip(positional, args, strict=False))
        known = (
            {p.name for p in function.params if p.kind in ("positional", "keyword")}
            if words
            else set()
        )
        for name, value in words.items():
            if name in known and name not in names:
                names[name] = value
            elif name and not _takes_any(function, "kwargs"):
                detail = f"{function.name}() got an unexpected keyword argument '{name}'"
                raise Raised("TypeError", detail, self._header(function, unit))
        for parameter in function.params:
            if parameter.name not in names:
                names[parameter.name] = self._default(parameter, function, unit)
        return names

    def _header(self, function: Function, unit: SourceFile) -> Origins:
        """The altered lines before a function's body."""
        last = function.body[0].line if function.body else function.end_line
        lines = range(function.start_line, last)
        return frozenset(Origin(unit.path, n) for n in lines if self.changed(unit.path, n, n))

    def _default(self, parameter: Param, function: Function, unit: SourceFile) -> V:
        if parameter.kind == "args":
            return V(PyList(None, kind="tuple"))
        if parameter.kind == "kwargs":
            return V(PyDict({}, open=True))
        if parameter.default is None:
            detail = f"{function.name}() missing required argument '{parameter.name}'"
            raise Raised("TypeError", detail, self._header(function, unit))
        return self.in_module(unit, parameter.default)


def _takes_any(function: Function, kind: str) -> bool:
    """Whether it has a parameter for any other arguments, `*args` or `**kwargs`."""
    return any(p.kind == kind for p in function.params)
