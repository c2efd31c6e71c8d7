"""Single mistakes that reviewers meet, made in a file of a real tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from checks.core.tree import Tree

_MOST_IN_A_FILE = 5


@dataclass(frozen=True, slots=True)
class Mistake:
    """The text of a file with one mistake, at `line`; `words` are the names it is about."""

    text: str
    line: int
    detail: str
    words: frozenset[str]


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a tree in which a mistake is to be made."""

    path: str
    text: str
    tree: Tree

    def without(self, node: ast.AST, replacement: str = "") -> str:
        """The text with the code of `node` replaced."""
        start, end = self._offset(node), self._offset(node, at_end=True)
        return self.text[:start] + replacement + self.text[end:]

    def code(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or ""

    def _offset(self, node: ast.AST, *, at_end: bool = False) -> int:
        line = getattr(node, "end_lineno" if at_end else "lineno")
        column = getattr(node, "end_col_offset" if at_end else "col_offset")
        lines = self.text.splitlines(keepends=True)
        own = lines[line - 1].encode()[:column].decode("utf-8", "ignore")
        return sum(map(len, lines[: line - 1])) + len(own)

    def is_used(self, pattern: str, word: str, times: int = 1) -> bool:
        """Whether `times` lines of the tree that have `word` match `pattern`."""
        found = [m for m in self.tree.find(word) if re.search(pattern, m.text)]
        return len(found) >= times


Operator = Callable[[Source, ast.Module], Iterator[Mistake]]


def argument_dropped(source: Source, tree: ast.Module) -> Iterator[Mistake]:
    """A call of a function of the tree lacks one of its positional arguments."""
    for call, name in _calls_of_tree(source, tree):
        lost = call.args[len(call.args) // 2]
        kept = [source.code(arg) for arg in call.args if arg is not lost]
        yield _with_arguments(source, call, kept, {name})


def arguments_swapped(source: Source, tree: ast.Module) -> Iterator[Mistake]:
    """Two neighbouring arguments of a call change their places."""
    for call, name in _calls_of_tree(source, tree):
        texts = [source.code(arg) for arg in call.args]
        for place in range(len(texts) - 1):
            pair = call.args[place : place + 2]
            if all(isinstance(arg, ast.Name | ast.Attribute) for arg in pair):
                texts[place : place + 2] = reversed(texts[place : place + 2])
                yield _with_arguments(source, call, texts, {name, *texts[place : place + 2]})
                break


def parameter_inserted(source: Source, tree: ast.Module) -> Iterator[Mistake]:
    """A function gets a parameter in the middle, and its callers do not follow."""
    for function in _functions(tree):
        args = function.args.args
        if len(args) < 3 or function.args.defaults or not _is_called(function.name, source):
            continue
        place = args[len(args) // 2]
        text = source.without(place, f"num_extra_rows, {source.code(place)}")
        words = frozenset({function.name, _called_as(function, tree)})
        yield Mistake(text, place.lineno, function.name, words)


def function_renamed(source: Source, tree: ast.Module) -> Iterator[Mistake]:
    """A function has another name where it is defined."""
    for function in _functions(tree):
        if function.name.startswith("__") or not _is_called(function.name, source):
            continue
        if source.is_used(rf"def {function.name}\b", function.name, 2):
            continue
        lines = source.text.splitlines(keepends=True)
        head = lines[function.lineno - 1]
        lines[function.lineno - 1] = head.replace(function.name, f"{function.name}_rows", 1)
        yield Mistake("".join(lines), function.lineno, function.name, frozenset({function.name}))


def return_shortened(source: Source, tree: ast.Module) -> Iterator[Mistake]:
    """A function returns one value fewer than its callers take apart."""
    for function in _functions(tree):
        returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
        if len(returns) != 1 or not isinstance(returns[0].value, ast.Tuple):
            continue
        items = returns[0].value.elts
        if len(items) < 3 or not _is_unpacked(function.name, source):
            continue
        kept = ", ".join(source.code(item) for item in items[:-1])
        text = source.without(returns[0].value, kept)
        if source.text[source._offset(returns[0].value)] == "(":
            text = source.without(returns[0].value, f"({kept})")
        yield Mistake(text, returns[0].lineno, function.name, frozenset({function.name}))


def attribute_dropped(source: Source, tree: ast.Module) -> Iterator[Mistake]:
    """A constructor does not set an attribute that a method reads."""
    for function in _functions(tree):
        for stmt in function.body if function.name == "__init__" else ():
            match stmt:
                case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
                    read = len(re.findall(rf"\bself\.{name}\b(?!\s*=[^=])", source.text))
                    written = len(re.findall(rf"\bself\.{name}\s*(?::[^=\n]+)?=(?!=)", source.text))
                    if read and written == 1:
                        text = source.without(stmt, "pass")
                        yield Mistake(text, stmt.lineno, f"self.{name}", frozenset({name}))


def field_renamed(source: Source, tree: ast.Module) -> Iterator[Mistake]:
    """A field that a class declares has another name where it is declared."""
    for owner in ast.walk(tree):
        for stmt in owner.body if isinstance(owner, ast.ClassDef) else ():
            match stmt:
                case ast.AnnAssign(target=ast.Name(id=name) as target) if len(name) > 5:
                    if source.is_used(rf"\w\.{name}\b", name, 2):
                        text = source.without(target, f"{name}_rows")
                        yield Mistake(text, stmt.lineno, name, frozenset({name}))


def key_renamed(source: Source, tree: ast.Module) -> Iterator[Mistake]:
    """A key is written under another name than it is read."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=str() as key) as place, ctx=ast.Store()):
                stored = rf"\[[\"']{re.escape(key)}[\"']\]"
                if key.isidentifier() and source.is_used(stored, key, 3):
                    text = source.without(place, f'"{key}_buffer"')
                    yield Mistake(text, place.lineno, key, frozenset({key}))


def import_dropped(source: Source, tree: ast.Module) -> Iterator[Mistake]:
    """A name is used that nobody imports any more."""
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom) and len(node.names) == 1:
            name = node.names[0].asname or node.names[0].name
            if len(re.findall(rf"\b{re.escape(name)}\b", source.text)) > 1 and "__" not in name:
                yield Mistake(source.without(node, "pass"), node.lineno, name, frozenset({name}))


def guard_removed(source: Source, tree: ast.Module) -> Iterator[Mistake]:
    """What was asked before a statement is not asked any more."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.If) or node.orelse or "None" not in source.code(node.test):
            continue
        if node.body[0].lineno == node.lineno or len(node.body) > 4:
            continue
        lines = source.text.splitlines(keepends=True)
        shift = node.body[0].col_offset - node.col_offset
        first, last = node.body[0].lineno, node.end_lineno or node.lineno
        body = [line[shift:] if line.strip() else line for line in lines[first - 1 : last]]
        text = "".join([*lines[: node.lineno - 1], *body, *lines[last:]])
        yield Mistake(text, node.lineno, source.code(node.test), frozenset())


OPERATORS: tuple[Operator, ...] = (
    argument_dropped,
    arguments_swapped,
    parameter_inserted,
    function_renamed,
    return_shortened,
    attribute_dropped,
    field_renamed,
    key_renamed,
    import_dropped,
    guard_removed,
)

_ENTRIES = re.compile(r"\.(Inputs|Attrs)\(\s*\{([^{}]*)\}\s*\)")
_CONSTANT = re.compile(r"^(#define\s+|constexpr \w+ )([A-Z_]\w{3,})(\s+|\s*=\s*)(\d+)\b", re.M)


def entry_dropped(source: Source) -> Iterator[Mistake]:
    """The registration of an op names one input or attribute fewer than its function takes."""
    for entries in _ENTRIES.finditer(source.text):
        names = [name.strip() for name in entries[2].split(",") if name.strip()]
        if len(names) < 2:
            continue
        lost = names.pop(len(names) // 2)
        text = source.text[: entries.start(2)] + ", ".join(names) + source.text[entries.end(2) :]
        line = source.text.count("\n", 0, entries.start()) + 1
        yield Mistake(text, line, lost, frozenset({lost.strip('"').partition(":")[0]}))


def constant_changed(source: Source) -> Iterator[Mistake]:
    """A constant that several files define has another value in one of them."""
    for found in _CONSTANT.finditer(source.text):
        name, value = found[2], int(found[4])
        pattern = rf"(?:#define\s+|constexpr \w+ ){name}(?:\s+|\s*=\s*){value}\b"
        if source.is_used(pattern, name, 2):
            text = source.text[: found.start(4)] + str(value * 2) + source.text[found.end(4) :]
            line = source.text.count("\n", 0, found.start()) + 1
            yield Mistake(text, line, f"{name} {value}", frozenset({name}))


CPP_OPERATORS: tuple[Callable[[Source], Iterator[Mistake]], ...] = (entry_dropped, constant_changed)


# The operators by the name that a person gives them.
PYTHON = {operator.__name__.replace("_", "-"): operator for operator in OPERATORS}
CPP = {operator.__name__.replace("_", "-"): operator for operator in CPP_OPERATORS}


def mistakes(source: Source, operator: str) -> list[Mistake]:
    """The first mistakes of one operator that have a place in the file.

    To find all of them would search the tree for every name of the file.
    """
    found: Iterator[Mistake] = iter(())
    if operator in CPP and not source.path.endswith(".py"):
        found = CPP[operator](source)
    if operator in PYTHON and source.path.endswith(".py"):
        found = PYTHON[operator](source, ast.parse(source.text))
    return list(islice(found, _MOST_IN_A_FILE))


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list:
            yield node


def _called_as(function: ast.FunctionDef | ast.AsyncFunctionDef, tree: ast.Module) -> str:
    """What callers write: the class for its constructor."""
    for owner in ast.walk(tree):
        if isinstance(owner, ast.ClassDef) and function in owner.body:
            return owner.name if function.name == "__init__" else function.name
    return function.name


def _calls_of_tree(source: Source, tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Calls with several positional arguments of what one function of the tree is called."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or len(node.args) < 2:
            continue
        if any(isinstance(arg, ast.Starred) for arg in node.args):
            continue
        name = source.code(node.func).rpartition(".")[2]
        if not name.isidentifier() or any(keyword.arg is None for keyword in node.keywords):
            continue
        if source.is_used(rf"\bdef {name}\(", name) and not hasattr(dict, name):
            yield node, name


def _with_arguments(source: Source, call: ast.Call, args: list[str], words: set[str]) -> Mistake:
    texts = [*args, *(source.code(keyword) for keyword in call.keywords)]
    text = source.without(call, f"{source.code(call.func)}({', '.join(texts)})")
    return Mistake(text, call.lineno, source.code(call)[:120], frozenset(words))


def _is_called(name: str, source: Source) -> bool:
    return len(name) > 5 and source.is_used(rf"(?<!def )\b{name}\(", name)


def _is_unpacked(name: str, source: Source) -> bool:
    return source.is_used(rf"\w+,\s*\w+.*=.*\b{name}\(", name)
