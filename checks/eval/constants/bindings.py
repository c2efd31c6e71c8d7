"""What each name is set to inside one function or class."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

from checks.lang.ir.expr import Attr, Binary, Call, Const, Expr, Name, Sequence, Unary, dotted, walk
from checks.lang.ir.source_file import Constant, Function, SourceFile
from checks.lang.ir.stmt import (
    Assert,
    Assign,
    Define,
    ExprStmt,
    For,
    If,
    Raise,
    Return,
    Stmt,
    guarded_statements,
)

# A class's template parameters stand above its name, on a few lines at most.
_TEMPLATE_LINES = 4


@dataclass(frozen=True, slots=True)
class NameBinding:
    """One place where a name gets a value; `value` is None where no expression says which."""

    value: Expr | None
    line: int
    type: str = ""


Bindings = dict[str, list[NameBinding]]


def find_bindings(function: Function) -> Bindings:
    """Every place that sets a name (or a dotted one, `self.k`) in `function`.

    These are parameters, assignments, loops, and in C++ the taking of an address. Names that it
    declares `global` are left out.
    """
    bindings: Bindings = defaultdict(list)
    outer: set[str] = set()
    for param in function.params:
        bindings[param.name].append(NameBinding(None, param.line, param.type))
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        match stmt:
            case Assign():
                _bind_assignment(stmt, bindings)
            case For(target=target, line=line) if target is not None:
                _bind_target(target, None, line, "", bindings)
            case Define(name=name, line=line):
                bindings[name].append(NameBinding(None, line))
            case ExprStmt(value=Call(func=Name(id="global" | "nonlocal"), args=args)):
                outer |= {arg.id for arg in args if isinstance(arg, Name)}
        for name in _names_that_may_change(stmt):
            bindings[name].append(NameBinding(None, stmt.line))
    return {name: places for name, places in bindings.items() if name not in outer}


def _bind_assignment(stmt: Assign, bindings: Bindings) -> None:
    if stmt.value is None:
        return
    value = stmt.value if stmt.op == "=" else None
    _bind_target(stmt.target, value, stmt.line, stmt.declares or "", bindings)


def _bind_target(
    target: Expr, value: Expr | None, line: int, declares: str, bindings: Bindings
) -> None:
    if isinstance(target, Sequence):
        _bind_parts(target, value, line, bindings)
        return
    if isinstance(target, Unary) and target.op == "*":
        # `*p = x` and `*rest` set something, but nothing that the expression says.
        target = target.operand
        value = None
    name = dotted(target)
    if name is not None:
        bindings[name].append(NameBinding(value, line, declares))


def _bind_parts(target: Sequence, value: Expr | None, line: int, bindings: Bindings) -> None:
    """`a, b = 1, 2` binds part by part, where both sides have as many."""
    values: list[Expr | None] = [None] * len(target.items)
    if isinstance(value, Sequence) and len(value.items) == len(target.items):
        values = list(value.items)
    for part, part_value in zip(target.items, values, strict=True):
        _bind_target(part, part_value, line, "", bindings)


def _names_that_may_change(stmt: Stmt) -> list[str]:
    """Names that the expression of `stmt` may set: `&x`, and `del x`."""
    expr = _expression_of(stmt)
    if expr is None:
        return []
    names: list[str] = []
    for inner in walk(expr):
        match inner:
            case Unary(op="&", operand=Name(id=name)):
                names.append(name)
            case Call(func=Name(id="del"), args=args):
                names += [arg.id for arg in args if isinstance(arg, Name)]
    return names


def _expression_of(stmt: Stmt) -> Expr | None:
    match stmt:
        case Assign(value=value) | Return(value=value) | Raise(value=value):
            return value
        case ExprStmt(value=value):
            return value
        case If(test=test) | Assert(test=test):
            return test
        case _:
            return None


def value_of_member(constant: Constant, unit: SourceFile) -> Expr | None:
    """The value of `constant`; `auto()` in an enum is one more than the member before it."""
    match constant.value:
        case Call(func=Name(id="auto") | Attr(name="auto"), args=()) if constant.kind == "enum":
            return _value_of_auto(constant, unit)
        case value:
            return value


def _value_of_auto(constant: Constant, unit: SourceFile) -> Expr | None:
    members = [c for c in unit.constants if c.owner == constant.owner and c.kind == "enum"]
    position = members.index(constant)
    for cls in unit.classes:
        # `Flag` counts in powers of two, `StrEnum` in names.
        if cls.name == constant.owner and any("Flag" in b or "Str" in b for b in cls.bases):
            return None
    one = Const(1, line=constant.line)
    if position == 0:
        return one
    return Binary("+", Name(members[position - 1].name), one, line=constant.line)


def function_around(function: Function, unit: SourceFile) -> Function | None:
    """The function that holds a nested Python function."""
    if unit.language != "python":
        return None
    outer_name = function.qualname.rpartition(".")[0]
    if not outer_name:
        return None
    named = unit.functions_named.get(outer_name)
    return named[0] if named else None


def class_of(function: Function | None, unit: SourceFile) -> str:
    """The class whose `self` a method, or a function inside one, sees; empty for none."""
    while function is not None:
        if function.owner:
            return function.owner
        function = function_around(function, unit)
    return ""


def is_set_per_instance(constant: Constant, unit: SourceFile) -> bool:
    """Whether a class-level value is only the default of a field that each object sets."""
    if not constant.type or constant.type.startswith(("ClassVar", "Final", "typing.")):
        return False
    for cls in unit.classes:
        if cls.name != constant.owner:
            continue
        if cls.bases or any("dataclass" in decorator for decorator in cls.decorators):
            return True
    return False


def global_names(unit: SourceFile) -> frozenset[str]:
    """The names that some function of `unit` declares `global`, and so may set at any time."""
    if unit.language != "python":
        return frozenset()
    names: set[str] = set()
    for line in unit.lines:
        if line.lstrip().startswith("global "):
            words = line.partition("#")[0].split()
            names.update(word.strip(",") for word in words[1:])
    return frozenset(names)


def is_template_parameter(
    name: str, function: Function | None, owner: str, unit: SourceFile
) -> bool:
    """Whether `name` is a parameter of the C++ template around it, which hides what is outside."""
    heads: list[str] = []
    if function is not None:
        heads += [mark for mark in function.marks if mark.startswith("template")]
    if owner:
        heads += _heads_of_class(owner, unit)
    parameter = re.compile(rf"template\b[^{{}};]*\b{re.escape(name)}\b", re.DOTALL)
    return any(parameter.search(head) for head in heads)


def _heads_of_class(name: str, unit: SourceFile) -> list[str]:
    """The lines above each definition of a class or struct, and the line of its name."""
    lines = [cls.start_line for cls in unit.classes if cls.name == name]
    lines += [struct.start_line for struct in unit.structs if struct.name == name]
    return [unit.text(max(1, line - _TEMPLATE_LINES), line) for line in lines]
