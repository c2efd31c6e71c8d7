"""Calls: functions of the tree, classes, modelled functions, and the unknown."""

from __future__ import annotations

from checks.eval.interpreter.builtins_model.dispatch import call_native, is_array_function
from checks.eval.interpreter.builtins_model.methods import forget_content, writes
from checks.eval.interpreter.frames import WROTE_ELEMENT, Interpretation, ReturnSignal
from checks.eval.interpreter.names import evaluate_in_module, find_special_method, get_attribute
from checks.eval.interpreter.values import (
    NONE_VALUE,
    UNKNOWN_VALUE,
    Array,
    BudgetExceeded,
    ClassRef,
    FuncRef,
    Instance,
    Native,
    Origins,
    PyDict,
    PyList,
    SimulatedException,
    Value,
    ValueOrigin,
    unknown,
)
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param, SourceFile

_TENSOR_WRITERS = frozenset({"set_tensor", "set_value", "copy_", "fill_"})
# Builtins that ask the object itself: `int(x)` calls `x.__int__()`.
_CONVERSIONS = frozenset({"int", "float", "len"})
_REFLECTION = frozenset({"hasattr", "getattr", "setattr"})

Keywords = dict[str, Value]


def evaluate_call(run: Interpretation, expr: E.Call) -> Value:
    """The value of a call expression."""
    match expr:
        case E.Call(func=E.Attr(base=E.Index() as place, name=name), args=[argument, *_]) if (
            name in _TENSOR_WRITERS
        ):
            return _write_element(run, place, name, argument, expr.line)
        case E.Call(func=E.Unknown(), args=parts):
            # An f-string or a `yield`: it reads its parts.
            return unknown(*[run.eval(part) for part in parts])
    func = run.eval(expr.func)
    if E.starred(expr):
        args = [run.eval(_without_star(arg)) for arg in expr.args]
        return call_unknown(run, func, args)
    args = [run.eval(arg) for arg in expr.args]
    words = {name: run.eval(value) for name, value in expr.keywords}
    return call_value(run, func, args, words)


def _without_star(arg: E.Expr) -> E.Expr:
    return arg.operand if isinstance(arg, E.Unary) else arg


def _write_element(
    run: Interpretation, place: E.Index, method_name: str, argument: E.Expr, line: int
) -> Value:
    """`tensor[i].set_tensor(value)`: a store into the tensor, or the object's own method."""
    value = run.eval(argument)
    if run.frame.fixture:
        origin = ValueOrigin(run.frame.unit.path, line)
        value = value.with_origin(origin)
        # Taken out first, so that the last write comes last in the order of the dict.
        run.stores.pop(origin, None)
        run.stores[origin] = WROTE_ELEMENT
    if isinstance(run.eval(place.base).value, Instance):
        method = get_attribute(run, run.eval(place), method_name)
        return call_value(run, method, [value], {})
    run.store(place, value)
    return NONE_VALUE


def call_value(run: Interpretation, func: Value, args: list[Value], words: Keywords) -> Value:
    """Call a value."""
    match func.value:
        case FuncRef() as ref:
            return run.call_function(ref, args, words)
        case ClassRef() as cls:
            return _construct(run, cls, args, words)
        case Native() as native:
            return _call_native(run, native, args, words)
        case Instance(cls=None, open=True, attrs=attrs):
            # A mock.
            return attrs.get("return_value", Value(Instance(None, open=True)))
        case _:
            return call_unknown(run, func, [*args, *words.values()])


def _call_native(run: Interpretation, native: Native, args: list[Value], words: Keywords) -> Value:
    name = native.name
    if name == "object.__new__" and args and isinstance(args[0].value, ClassRef):
        return _new_instance(run, args[0].value)
    if name in _CONVERSIONS and len(args) == 1:
        own_method = find_special_method(run, args[0], f"__{name}__")
        if own_method is not None:
            return run.call_function(own_method, [], {})
    if name in _REFLECTION:
        return _reflect(run, name, args)
    if native.self_ is not None and not run.is_certain:
        method = name.rpartition(".")[2]
        if writes(native.self_, method):
            forget_content(native.self_)
            return UNKNOWN_VALUE
    result = call_native(native, args, words)
    is_foreign = native.self_ is None and "." in name and not is_array_function(native)
    if is_foreign and not result.known:
        return call_unknown(run, Value(native), [*args, *words.values()])
    return result


def _new_instance(run: Interpretation, cls: ClassRef) -> Value:
    """An object of `cls` that nothing has been done to yet."""
    chain = run.program.bases(cls)
    may_have_more = chain is None or run.program.modules.dynamic(chain)
    return Value(Instance(cls, open=may_have_more))


def _reflect(run: Interpretation, name: str, args: list[Value]) -> Value:
    """`hasattr`, `getattr` and `setattr`."""
    if len(args) < 2 or not isinstance(args[1].value, str):
        return unknown(*args)
    owner, attribute = args[0], args[1].value
    if name == "setattr":
        if isinstance(owner.value, Instance) and len(args) > 2:
            owner.value.attrs[attribute] = args[2] if run.is_certain else UNKNOWN_VALUE
        return NONE_VALUE
    if not isinstance(owner.value, Instance):
        return unknown(*args)
    try:
        value = get_attribute(run, owner, attribute)
    except SimulatedException:
        if name == "hasattr":
            return Value(False)
        return args[2] if len(args) > 2 else UNKNOWN_VALUE
    if name == "getattr":
        return value
    is_set = attribute in owner.value.attrs and owner.value.cls is not None
    return Value(True) if is_set else UNKNOWN_VALUE


def call_unknown(run: Interpretation, func: Value, args: list[Value]) -> Value:
    """A call into something unknown: it may write into what it is given."""
    run.unknowns += 1
    name = func.value.name if isinstance(func.value, Native) else ""
    # Logging and assertions only look at what they are given.
    if "log" not in name and "assert" not in name:
        for arg in args:
            _forget(arg)
    return unknown(func, *args)


def _forget(value: Value) -> None:
    match value.value:
        case Array() as array:
            array.forget()
        case PyList() as items:
            items.items = None
        case Instance() as instance:
            instance.open = True


def _construct(run: Interpretation, cls: ClassRef, args: list[Value], words: Keywords) -> Value:
    """`cls(*args, **words)`, through the nearest `__init__`."""
    created = _new_instance(run, cls)
    for ref in run.program.ancestors(cls):
        init_name = f"{ref.cls.name}.__init__"
        if (ref.unit.path, init_name) in run.program.overrides:
            created.value.open = True
            return created
        inits = ref.unit.functions_named.get(init_name)
        if inits:
            run.call_function(FuncRef(inits[0], ref.unit, created), args, words)
            return created
    if args or words:
        # A dataclass, or a base outside of the tree.
        created.value.attrs.update(words)
        created.value.open = True
    return created


def call_function(run: Interpretation, ref: FuncRef, args: list[Value], words: Keywords) -> Value:
    """Run a function of the tree; a wrong argument list raises TypeError."""
    if len(run.frames) >= run.depth:
        raise BudgetExceeded
    if not run.program.modules.can_follow(ref):
        return call_unknown(run, Value(ref), [*args, *words.values()])
    if ref.bound is not None:
        args = [ref.bound, *args]
    names = _bind_arguments(run, ref.function, args, words, ref.unit)
    frame = run.make_frame(ref.function, ref.unit, names, ref.scope)
    run.frames.append(frame)
    result = NONE_VALUE
    try:
        run.block(ref.function.body)
    except ReturnSignal as returned:
        result = returned.value
    except SimulatedException:
        if frame.is_certain:
            raise
        run.note_possible_exception()
    finally:
        run.frames.pop()
    # Some other path may have returned something else before.
    return result if frame.is_certain else UNKNOWN_VALUE


def _bind_arguments(
    run: Interpretation,
    function: Function,
    args: list[Value],
    words: Keywords,
    unit: SourceFile,
) -> dict[str, Value]:
    """The parameters of `function` with these arguments.

    Raises a TypeError where they do not fit.
    """
    positional = [param.name for param in function.params if param.kind == "positional"]
    if len(args) > len(positional) and not _takes_any(function, "args"):
        detail = f"{function.name}() takes {len(positional)} arguments, got {len(args)}"
        raise SimulatedException("TypeError", detail, _altered_header(run, function, unit))
    names = dict(zip(positional, args, strict=False))
    by_keyword = {p.name for p in function.params if p.kind in ("positional", "keyword")}
    for name, value in words.items():
        if name in by_keyword and name not in names:
            names[name] = value
        elif name and not _takes_any(function, "kwargs"):
            detail = f"{function.name}() got an unexpected keyword argument '{name}'"
            raise SimulatedException("TypeError", detail, _altered_header(run, function, unit))
    for param in function.params:
        if param.name not in names:
            names[param.name] = _default_of(run, param, function, unit)
    return names


def _default_of(run: Interpretation, param: Param, function: Function, unit: SourceFile) -> Value:
    """What a parameter is that no argument was given for."""
    if param.kind == "args":
        return Value(PyList(None, kind="tuple"))
    if param.kind == "kwargs":
        return Value(PyDict({}, open=True))
    if param.default is None:
        detail = f"{function.name}() missing required argument '{param.name}'"
        raise SimulatedException("TypeError", detail, _altered_header(run, function, unit))
    return evaluate_in_module(run, unit, param.default, {})


def _altered_header(run: Interpretation, function: Function, unit: SourceFile) -> Origins:
    """The altered lines before a function's body."""
    last = function.body[0].line if function.body else function.end_line
    lines = range(function.start_line, last)
    return frozenset(ValueOrigin(unit.path, n) for n in lines if run.changed(unit.path, n, n))


def _takes_any(function: Function, kind: str) -> bool:
    """Whether it has a parameter for any other arguments, `*args` or `**kwargs` (`kind`)."""
    return any(param.kind == kind for param in function.params)
