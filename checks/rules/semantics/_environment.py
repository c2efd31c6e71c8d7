"""Environment variables that a Python file reads, and what it takes their text for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_READERS = frozenset({"os.getenv", "os.environ.get", "getenv", "environ.get"})
_COUNTERS = frozenset({"os.cpu_count", "multiprocessing.cpu_count", "cpu_count"})
# What makes a number of text, or asks whether it is one.
_CONVERTERS = frozenset({"int", "float", "bool", "str", "isinstance", "Decimal"})
_NO = frozenset({"0", "false", "off", "no"})
_ORDERING = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = ast.Module | _Function


@dataclass(frozen=True, slots=True)
class TextFault:
    """A variable that is read on `line`..`end_line` and whose text is taken for something else.

    `kind` is the message's key: `used` where the line `used_at` calculates with it, `default` where
    its default is a number, `truth` where `bool` asks it, `always` where a condition does and the
    default is text that says no.
    """

    kind: str
    variable: str
    line: int
    end_line: int
    used_at: int = 0


class _File:
    """What the readings of a file are judged by."""

    def __init__(self, tree: ast.Module) -> None:
        self.parents: dict[ast.AST, ast.AST] = {}
        self.converted: set[str] = set()
        self.numbers: set[str] = set()
        for node in ast.walk(tree):
            self.parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
            if isinstance(node, ast.Call) and node.args:
                self.converted.update(_converted_by(node))
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and self.is_number(statement.value):
                self.numbers.update(map(_text, statement.targets))

    def is_number(self, value: ast.expr | None) -> bool:
        """Whether `value` is certainly a number and no text."""
        match value:
            case ast.Constant(value=bool()):
                return False
            case ast.Constant(value=int() | float()):
                return True
            case ast.UnaryOp(operand=operand):
                return self.is_number(operand)
            case ast.BinOp(left=left, right=right):
                return self.is_number(left) and self.is_number(right)
            case ast.Name(id=name):
                return name in self.numbers
            case ast.Call(func=called):
                return _text(called) in _COUNTERS
            case _:
                return False


def _converted_by(call: ast.Call) -> Iterator[str]:
    """What a call makes a number of, or asks whether it is one."""
    if _text(call.func) in _CONVERTERS:
        yield _text(call.args[0])
    if isinstance(call.func, ast.Attribute) and call.func.attr == "isdigit":
        yield _text(call.func.value)


def text_faults(tree: ast.Module) -> Iterator[TextFault]:
    """The readings whose text is taken for a number, or for a yes or no, in no order."""
    file = _File(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or _text(node.func) not in _READERS:
            continue
        used_at = _calculation(node, file)
        kind = "used" if used_at else _kind_of_fault(node, file)
        if kind:
            end = node.end_lineno or node.lineno
            yield TextFault(kind, _variable(node), node.lineno, end, used_at)


def _kind_of_fault(reading: ast.Call, file: _File) -> str:
    if _stands_for_number(reading, file):
        return "default"
    if len(reading.args) < 2:
        return ""
    default = reading.args[1]
    if not isinstance(default, ast.Constant) or str(default.value).lower() not in _NO:
        return ""
    parent = file.parents[reading]
    if isinstance(parent, ast.Call) and _text(parent.func) == "bool":
        return "truth"
    if isinstance(default.value, str) and _is_condition(reading, parent):
        return "always"
    return ""


def _is_condition(reading: ast.Call, parent: ast.AST) -> bool:
    match parent:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            return test is reading
        case ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
            return True
        case _:
            return False


def _text(node: ast.AST) -> str:
    return ast.unparse(node)


def _variable(reading: ast.Call) -> str:
    match reading.args[0]:
        case ast.Constant(value=str() as name):
            return name
        case other:
            return _text(other)


def _stands_for_number(reading: ast.Call, file: _File) -> bool:
    """Whether the default is a number, and what is read goes on as it is."""
    if len(reading.args) < 2 or not file.is_number(reading.args[1]):
        return False
    match file.parents[reading]:
        case ast.Assign(targets=targets):
            return file.converted.isdisjoint(map(_text, targets))
        case ast.AnnAssign(target=target):
            return _text(target) not in file.converted
        case ast.keyword(arg="default") as given:
            return not _is_converted_by_parser(file.parents[given])
        case ast.keyword() | ast.Return() | ast.Lambda() | ast.Dict() | ast.BinOp() | ast.Compare():
            return True
        case _:
            return False


def _is_converted_by_parser(call: ast.AST) -> bool:
    """Whether a call says of which `type` its `default` is: `argparse` converts text to it."""
    return isinstance(call, ast.Call) and any(item.arg == "type" for item in call.keywords)


def _calculation(reading: ast.Call, file: _File) -> int:
    """The first line that calculates with what the reading gave a local name; 0 for none."""
    match file.parents[reading]:
        case ast.Assign(targets=[ast.Name(id=name)]):
            pass
        case _:
            return 0
    if name in file.converted:
        return 0
    end = reading.end_lineno or reading.lineno
    later = [node for node in _own_nodes(_scope_of(reading, file)) if _line(node) > end]
    first = min([_line(node) for node in later if _calculates_with(node, name, file)], default=0)
    is_new = any(_binds(node, name) and _line(node) < first for node in later)
    return 0 if is_new else first


def _scope_of(node: ast.AST, file: _File) -> _Scope:
    while not isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
        node = file.parents[node]
    return node


def _own_nodes(scope: _Scope) -> Iterator[ast.AST]:
    """What stands in a scope itself, not in the functions and classes that it defines."""
    waiting: list[ast.AST] = list(scope.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _line(node: ast.AST) -> int:
    """Where a statement or expression begins; 0 for what has no place of its own."""
    return node.lineno if isinstance(node, ast.stmt | ast.expr) else 0


def _calculates_with(node: ast.AST, name: str, file: _File) -> bool:
    """Whether `node` puts the text `name` and a number into one operation."""
    match node:
        # `text % 2` is a way to write text.
        case ast.BinOp(op=ast.Mod()) | ast.AugAssign(op=ast.Mod()):
            return False
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            if isinstance(node, ast.Compare) and not isinstance(node.ops[0], _ORDERING):
                return False
            return _is_one_of(name, left, right) and (file.is_number(left) or file.is_number(right))
        case ast.AugAssign(target=target, value=value):
            return _is_one_of(name, target) and file.is_number(value)
        case ast.Call(func=ast.Name(id="range"), args=args):
            return _is_one_of(name, *args)
        case _:
            return False


def _is_one_of(name: str, *nodes: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in nodes)


def _binds(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
