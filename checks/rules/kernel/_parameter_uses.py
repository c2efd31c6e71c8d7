"""Where a parameter that its function ignores still matters: at a call, or in the op's copy."""

from __future__ import annotations

import re

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction
from checks.core.code import body_code, code_without_comments
from checks.core.config import Config
from checks.core.finding import Location, Message, Related, Sibling
from checks.core.words import has_word, word_regex
from checks.domain.ops import OpInfo, Ops, arguments, calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param, SourceFile
from checks.rules.kernel._code_walks import calls_in_file

# How many calls a parameter is followed through.
_DEEPEST = 4


def passing_call(
    param: Param, changed: ChangedFunction, change: ChangeSet, config: Config
) -> Related | None:
    """The first place outside tests that still passes the parameter."""
    if changed.python:
        return _python_call(param, changed, change, config)
    return _op_call(param, changed, change, config) or _cpp_call(param, changed)


def _python_call(
    param: Param, changed: ChangedFunction, change: ChangeSet, config: Config
) -> Related | None:
    head = changed.head
    # A constructor is called by the name of its class.
    name = head.owner if head.name == "__init__" else head.name
    params = tuple(p.name for p in head.params if p.name not in ("self", "cls"))
    for path in change.head.paths_containing(name, "python"):
        unit = change.unit(path) if not config.is_test(path) else None
        if unit is None:
            continue
        for _, call, _ in calls_in_file(name, unit):
            passed = arguments(call, params).get(param.name)
            if passed is not None and not _is_none(passed):
                return _passed_at(path, call.line)
    return None


def _is_none(expr: E.Expr) -> bool:
    """Whether it is `None`, which asks for nothing."""
    return isinstance(expr, E.Const) and expr.value is None


def _op_call(
    param: Param, changed: ChangedFunction, change: ChangeSet, config: Config
) -> Related | None:
    """A Python call of an op that the C++ function is behind."""
    ops = Ops.of(change)
    place = _place(param, changed.head)
    for op in ops.of_function(changed.head):
        if place >= len(op.params):
            continue
        for use in ops.calls(op.name):
            passed = use.args.get(op.params[place]) if not config.is_test(use.unit.path) else None
            if passed is not None and not _is_none(passed):
                return _passed_at(use.unit.path, use.call.line)
    return None


def _cpp_call(param: Param, changed: ChangedFunction) -> Related | None:
    """The first call in its own file that passes a C++ function something for `param`."""
    unit = changed.unit
    place = _place(param, changed.head)
    for _, call, _ in calls_in_file(changed.head.name, unit):
        if len(call.args) > place:
            return _passed_at(unit.path, call.args[place].line or call.line)
    return None


def _passed_at(path: str, line: int) -> Related:
    return Related(Location(path, line), Message("passed", {}))


def _place(param: Param, function: Function) -> int:
    return [p.name for p in function.params].index(param.name)


def honouring_copy(param: Param, changed: ChangedFunction, change: ChangeSet) -> Sibling | None:
    """The same op on other hardware, where it reads what this one ignores."""
    if changed.python or not _is_kernel_of_op(changed):
        return None
    ops = Ops.of(change)
    place = _place(param, changed.head)
    for own in ops.of_function(changed.head):
        if place >= len(own.params):
            continue
        # A function may have its attributes before its inputs, which a registration lists first.
        wanted = param.name if param.name in own.params else own.params[place]
        for other in ops.named(own.name):
            copy = _honouring(other, wanted, param, changed, change)
            if copy is not None:
                return copy
    return None


def _is_kernel_of_op(changed: ChangedFunction) -> bool:
    return any(op.kernel.rsplit("::", 1)[-1] == changed.head.name for op in changed.unit.ops)


def _honouring(
    other: OpInfo, wanted: str, param: Param, changed: ChangedFunction, change: ChangeSet
) -> Sibling | None:
    """The line of another registration's function that reads the parameter."""
    function = other.function
    if function is None or function.path == changed.unit.path or wanted not in other.params:
        return None
    unit = change.unit(function.path)
    if unit is None:
        return None
    params = {p.name for p in function.params}
    if wanted in params:
        name = wanted
    elif param.name in params:
        name = param.name
    else:
        return None
    if not has_effect(name, function, unit):
        return None
    line = _last_line_naming(name, function, unit)
    message = Message("honours", {"name": name})
    place = Location(unit.path, line)
    return Sibling(place, function.name, "", message, unit.excerpt(line))


def _last_line_naming(name: str, function: Function, unit: SourceFile) -> int:
    """The last line of `function` that names `name`, where it most likely counts."""
    for number in range(function.end_line, function.start_line, -1):
        if has_word(unit.text(number), name):
            return number
    return function.start_line


def used_code(function: Function, code: str, unit: SourceFile) -> str:
    """The body of the function, and that of every macro of its file which it calls: a macro names
    the parameters of the functions that it is written for."""
    text = body_code(function, code)
    macros = {c.name: c.line for c in unit.constants if c.kind == "define" and c.params is not None}
    left = set(macros)
    while found := {name for name in left if has_word(text, name)}:
        left -= found
        text += "".join(_macro_text(macros[name], unit) for name in sorted(found))
    return text


def _macro_text(line: int, unit: SourceFile) -> str:
    """The lines of a `#define`, of which all but the last end in a backslash."""
    last = line
    while last < len(unit.lines) and unit.lines[last - 1].rstrip().endswith("\\"):
        last += 1
    return "\n" + unit.text(line, last)


def has_effect(name: str, function: Function, unit: SourceFile, depth: int = 0) -> bool:
    """Whether `function` does something with its parameter `name`.

    To hand it on to a function of the same file that ignores it is to do nothing.
    """
    text = used_code(function, code_without_comments(unit, function), unit)
    if not has_word(text, name):
        return False
    if depth == _DEEPEST:
        return True
    handed_on = 0
    for call, _ in calls_of(function.body):
        for place, argument in enumerate(call.args):
            if name not in E.names(argument):
                continue
            if not _is_ignored(call, place, unit, depth):
                return True
            handed_on += 1
    return len(re.findall(word_regex(name), text)) > handed_on


def _is_ignored(call: E.Call, place: int, unit: SourceFile, depth: int) -> bool:
    """Whether every function of the file that the call may mean ignores its argument `place`."""
    called = unit.named(E.callee(call))
    if not called or any(place >= len(function.params) for function in called):
        return False
    return not any(
        has_effect(function.params[place].name, function, unit, depth + 1) for function in called
    )
