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


@dataclass(frozen=True, slots=True)
class Bound:
    """One place where a name gets a value; `value` is None where that cannot be said in an expression."""

    value: Expr | None
    line: int
    type: str = ""


def bindings(function: Function) -> dict[str, list[Bound]]:
    """Every place that sets a name (or a dotted one, `self.k`) in `function`: parameters,
    assignments, loops, and in C++ the taking of an address. Names that it declares `global` are
    left out."""
    found: dict[str, list[Bound]] = defaultdict(list)
    outer: set[str] = set()
    for param in function.params:
        found[param.name].append(Bound(None, param.line, param.type))
    for guarded in guarded_statements(function.body):
        match guarded.stmt:
            case Assign(target=target, op=op, value=value, declares=declares, line=line):
                if value is not None:
                    _assign(target, value if op == "=" else None, line, declares or "", found)
            case For(target=target, line=line) if target is not None:
                _assign(target, None, line, "", found)
            case Define(name=name, line=line):
                found[name].append(Bound(None, line))
            case ExprStmt(value=Call(func=Name(id="global" | "nonlocal"), args=args)):
                outer |= {a.id for a in args if isinstance(a, Name)}
        for name, line in _changed(guarded.stmt):
            found[name].append(Bound(None, line))
    return {name: places for name, places in found.items() if name not in outer}


def _assign(
    target: Expr, value: Expr | None, line: int, declares: str, found: dict[str, list[Bound]]
) -> None:
    if isinstance(target, Sequence):
        same = isinstance(value, Sequence) and len(value.items) == len(target.items)
        for i, part in enumerate(target.items):
            inner = value.items[i] if same and isinstance(value, Sequence) else None
            _assign(part, inner, line, "", found)
        return
    if isinstance(target, Unary) and target.op == "*":
        target = target.operand
        value = None
    name = dotted(target)
    if name is not None:
        found[name].append(Bound(value, line, declares))


def _changed(stmt: Stmt) -> list[tuple[str, int]]:
    """Names that an expression of `stmt` may set: `&x`, and `del x`."""
    found: list[tuple[str, int]] = []
    for whole in _expressions(stmt):
        for expr in walk(whole):
            match expr:
                case Unary(op="&", operand=Name(id=name)):
                    found.append((name, stmt.line))
                case Call(func=Name(id="del"), args=args):
                    found += [(a.id, stmt.line) for a in args if isinstance(a, Name)]
    return found


def _expressions(stmt: Stmt) -> list[Expr]:
    match stmt:
        case Assign(value=value) | Return(value=value) | Raise(value=value):
            return [] if value is None else [value]
        case ExprStmt(value=value):
            return [value]
        case If(test=test) | Assert(test=test):
            return [test]
        case _:
            return []


def automatic(constant: Constant, unit: SourceFile) -> Expr | None:
    """The value of `constant`; `auto()` in an enum is one more than the member before it."""
    match constant.value:
        case Call(func=Name(id="auto") | Attr(name="auto"), args=()) if constant.kind == "enum":
            pass
        case value:
            return value
    members = [c for c in unit.constants if c.owner == constant.owner and c.kind == "enum"]
    at = members.index(constant)
    bases = [b for c in unit.classes if c.name == constant.owner for b in c.bases]
    if any("Flag" in base or "Str" in base for base in bases):
        return None
    one = Const(1, line=constant.line)
    return one if at == 0 else Binary("+", Name(members[at - 1].name), one, line=constant.line)


def around(function: Function, unit: SourceFile) -> Function | None:
    """The function that holds a nested Python function."""
    outer = function.qualname.rpartition(".")[0] if unit.language == "python" else ""
    return next((f for f in unit.functions if outer and f.qualname == outer), None)


def class_of(function: Function | None, unit: SourceFile) -> str:
    """The class whose `self` a method, or a function inside one, sees."""
    while function is not None and not function.owner:
        function = around(function, unit)
    return function.owner if function is not None else ""


def per_instance(constant: Constant, unit: SourceFile) -> bool:
    """Whether a class-level value is only the default of a field that each object sets."""
    if not constant.type or constant.type.startswith(("ClassVar", "Final", "typing.")):
        return False
    holders = [c for c in unit.classes if c.name == constant.owner]
    return any(c.bases or any("dataclass" in d for d in c.decorators) for c in holders)


def global_names(unit: SourceFile) -> frozenset[str]:
    """The names that some function of `unit` declares `global`, and so may set at any time."""
    if unit.language != "python":
        return frozenset()
    lines = [t.partition("#")[0].split() for t in unit.lines if "global " in t]
    return frozenset(w.strip(",") for words in lines if words[:1] == ["global"] for w in words[1:])


def is_template_parameter(
    name: str, function: Function | None, owner: str, unit: SourceFile
) -> bool:
    """Whether `name` is, in C++, a parameter of the template around it, which hides what is outside."""
    heads = [mark for mark in function.marks if mark.startswith("template")] if function else []
    if owner:
        places = [c.start_line for c in unit.classes if c.name == owner]
        places += [s.start_line for s in unit.structs if s.name == owner]
        # The parameters stand above the name of the class, on a few lines at most.
        heads += [unit.text(max(1, line - 4), line) for line in places]
    word = re.compile(rf"template\b[^{{}};]*\b{re.escape(name)}\b", re.DOTALL)
    return any(word.search(head) for head in heads)
