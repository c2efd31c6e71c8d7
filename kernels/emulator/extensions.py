"""Modules that a repository's C++ makes for Python with PyTorch's pybind: `PYBIND11_MODULE` in a
file, and the sources that this file needs.

Build files say which sources belong together, in code of their own. What the functions of a module
call says the same, and is all that a linker would ask for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import commonpath
from pathlib import Path, PurePosixPath

from kernels.emulator.rewrite.text import UnbalancedBracket, closing, mask

_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\(\s*(\w+)\s*,\s*\w+\s*\)\s*\{")
_GIVEN_NAME = "TORCH_EXTENSION_NAME"
_TORCH = re.compile(r"\b(?:torch|at)\b|\bTORCH_EXTENSION_NAME\b")
_PADDLE = re.compile(r"\bpaddle\b")
# The receiver is a module: a class goes on with a dot at a line's beginning.
_DEF = re.compile(r"\b\w+\.def\s*\(")
_NAME = re.compile(r'\s*"(\w+)"\s*,')
_HEAD = re.compile(r"^[^\n;{}#()=]*?\b([A-Za-z_]\w*)[ \t]*\(", re.MULTILINE)
_AFTER_HEAD = re.compile(r"\s*(?:const\b\s*)?(?:noexcept\b\s*)?\{")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)", re.MULTILINE)
# `template void run<float>(...);` makes a template's function in the file where it stands.
_INSTANCE = re.compile(r"^[ \t]*template\s+(?!<)[^;{}()]*?\b(\w+)\s*<[^;{}]*?>\s*\(", re.MULTILINE)
# What may be a function of the repository: called, launched, or pointed to; no member.
_CALLED = re.compile(r"(?<![.\w])(?<!->)([A-Za-z_]\w*)\s*[<(]|&\s*(?:\w+::)*([A-Za-z_]\w*)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_COMPILED = (".cu", ".cc", ".cpp")
_HEADERS = (".cuh", ".h", ".hpp", ".inl", ".inc")
_BUILD_FILES = "setup*.py"
_NAMES_MODULE = re.compile(r"extension$", re.IGNORECASE)
_NO_FUNCTION = {"if", "for", "while", "switch", "return", "else", "catch", "PYBIND11_MODULE"}


@dataclass(frozen=True)
class Extension:
    """A module: the file that binds it, the files that it is built of (this one first), and the
    names that Python imports it by.

    `functions` are the names of its functions, each with the files that its work is done in.
    """

    binding: str
    members: tuple[str, ...]
    modules: tuple[str, ...]
    functions: Mapping[str, frozenset[str]]

    @property
    def name(self) -> str:
        """What its ops are named after: two modules may have a function of one name."""
        known = self.modules[0] if self.modules else PurePosixPath(self.binding).stem
        return known.rpartition(".")[2]

    def op(self, function: str) -> str:
        """The name of a function's op."""
        return f"{self.name}.{function}"

    def ops_of(self, source: str) -> tuple[str, ...]:
        """The ops that a source does a part of."""
        names = [name for name, files in self.functions.items() if source in files]
        return tuple(self.op(name) for name in sorted(names))


@dataclass(frozen=True)
class _Function:
    """A definition, or a template's instance: its file, and the functions that it may call."""

    path: str
    calls: frozenset[str] = frozenset()
    is_instance: bool = False


_Definitions = Mapping[str, Sequence[_Function]]


def extensions_of(root: Path) -> list[Extension]:
    """The modules of a repository that have functions of their own."""
    bindings = [path for path in _files(root, _COMPILED) if _is_binding(_read(root, path))]
    if not bindings:
        return []
    names = _module_names(root, bindings)
    definitions = _definitions(root)
    found = [_extension(root, path, definitions, names.get(path, ())) for path in bindings]
    return [extension for extension in found if extension.functions]


def bind_by_given_name(text: str) -> str:
    """A binding file's text with the name that its build gives in the place of its own."""
    match = _MODULE.search(mask(text))
    if match is None:
        return text
    return text[: match.start(1)] + _GIVEN_NAME + text[match.end(1) :]


def _files(root: Path, suffixes: Sequence[str]) -> list[str]:
    return [
        path.relative_to(root).as_posix()
        for path in sorted(root.rglob("*"))
        if path.suffix in suffixes and path.is_file() and not path.is_symlink()
    ]


def _read(root: Path, path: str) -> str:
    return (root / path).read_text("utf-8", "replace")


def _is_binding(text: str) -> bool:
    if "PYBIND11_MODULE" not in text or _PADDLE.search(text):
        return False
    return bool(_TORCH.search(text) and _MODULE.search(mask(text)))


def _calls(code: str) -> frozenset[str]:
    return frozenset(called or pointed for called, pointed in _CALLED.findall(code))


def _definitions(root: Path) -> _Definitions:
    """The functions and macros that the repository defines, by name."""
    found: dict[str, list[_Function]] = {}
    for path in _files(root, (*_COMPILED, *_HEADERS)):
        code = mask(_read(root, path))
        for name, body in (*_functions_in(code), *_MACRO.findall(code)):
            found.setdefault(name, []).append(_Function(path, _calls(body)))
        for name in _INSTANCE.findall(code):
            found.setdefault(name, []).append(_Function(path, is_instance=True))
    return found


def _functions_in(code: str) -> Iterator[tuple[str, str]]:
    """Each function that masked text defines, and its body."""
    for head in _HEAD.finditer(code):
        if head[1] in _NO_FUNCTION:
            continue
        try:
            brace = _AFTER_HEAD.match(code, closing(code, head.end() - 1) + 1)
            if brace is not None:
                yield head[1], code[brace.end() : closing(code, brace.end() - 1)]
        except UnbalancedBracket:
            continue


def _extension(
    root: Path, binding: str, definitions: _Definitions, modules: tuple[str, ...]
) -> Extension:
    """The extension that a file binds, with all that its functions reach."""
    text = _read(root, binding)
    # A function that is given the module may bind in another file.
    files = {binding} | _reached(_calls(_module_body(text)), binding, definitions)
    functions: dict[str, frozenset[str]] = {}
    for path in sorted(files):
        for name, words in _bound(_read(root, path)):
            functions.setdefault(name, frozenset(_reached(words, path, definitions)))
    members = files.union(*functions.values())
    compiled = sorted(path for path in members if path.endswith(_COMPILED) and path != binding)
    own = _MODULE.search(mask(text))
    if own is not None and own[1] != _GIVEN_NAME:
        modules = tuple(dict.fromkeys((*modules, own[1])))
    return Extension(binding, (binding, *compiled), modules, functions)


def _module_body(text: str) -> str:
    """The code within `PYBIND11_MODULE`'s braces."""
    code = mask(text)
    match = _MODULE.search(code)
    return "" if match is None else code[match.end() : _end(code, match.end() - 1)]


def _bound(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The names that a text gives to functions in Python, each with the words of its binding."""
    if "pybind" not in text and "PYBIND" not in text and "torch/extension.h" not in text:
        return
    code = mask(text)
    for call in _DEF.finditer(code):
        end = _end(code, call.end() - 1)
        name = _NAME.match(text, call.end())
        if name is not None:
            yield name[1], frozenset(_WORD.findall(code[name.end() : end]))


def _end(code: str, bracket: int) -> int:
    """Where the bracket closes, or the text ends."""
    try:
        return closing(code, bracket)
    except UnbalancedBracket:
        return len(code)


def _reached(names: Iterable[str], path: str, definitions: _Definitions) -> set[str]:
    """The files of the functions that `names`, said in the file `path`, lead to."""
    pending = [(name, path) for name in names]
    seen: set[tuple[str, str]] = set()
    while pending:
        name, said_in = pending.pop()
        for function in _nearest(definitions.get(name, ()), said_in):
            if (name, function.path) not in seen:
                seen.add((name, function.path))
                pending += [(called, function.path) for called in function.calls]
    return {file for _, file in seen}


def _nearest(functions: Sequence[_Function], path: str) -> list[_Function]:
    """Of several definitions of a name those in the same file, or else in the nearest one; and all
    instances."""
    whole = [function for function in functions if not function.is_instance]
    if not whole:
        return []
    best = max(whole, key=lambda function: _nearness(function.path, path)).path
    return [function for function in functions if function.is_instance or function.path == best]


def _nearness(path: str, other: str) -> tuple[bool, int]:
    return path == other, len(PurePosixPath(commonpath(["/" + path, "/" + other])).parts)


def _module_names(root: Path, bindings: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The names that build files give to the modules of binding files."""
    names: dict[str, tuple[str, ...]] = {}
    for file in sorted(root.rglob(_BUILD_FILES)):
        folder = file.parent.relative_to(root).as_posix()
        below = [b for b in bindings if PurePosixPath(b).is_relative_to(folder)]
        text = file.read_text("utf-8", "replace")
        for name, sources in built_modules(text):
            named = [b for b in below if any(f"/{b}".endswith(f"/{s}") for s in sources)]
            chosen = named or below
            if len(chosen) == 1:
                names[chosen[0]] = (*names.get(chosen[0], ()), name)
    return names


def built_modules(text: str) -> Iterator[tuple[str, list[str]]]:
    """The modules that a `setup.py` builds: the name, and the sources that are written there."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    everywhere = _sources_in(tree)
    texts = _texts_of(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _NAMES_MODULE.search(ast.unparse(node.func)):
            names = [k.value for k in node.keywords if k.arg == "name"] or node.args[:1]
            for name in names:
                known = _text(name, texts)
                if known:
                    yield known, _sources_in(node) or everywhere


def _texts_of(tree: ast.AST) -> dict[str, str]:
    """The names that a file gives to texts."""
    texts = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                if isinstance(target, ast.Name) and isinstance(node.value.value, str):
                    texts[target.id] = node.value.value
    return texts


def _text(node: ast.expr, texts: Mapping[str, str]) -> str:
    """A literal, a name of one, or an f-string of those; nothing where it is anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return texts.get(name, "")
        case ast.FormattedValue(value=inner):
            return _text(inner, texts)
        case ast.JoinedStr(values=parts):
            found = [_text(part, texts) for part in parts]
            return "".join(found) if all(found) else ""
    return ""


def _sources_in(tree: ast.AST) -> list[str]:
    """The texts that name a source."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value.endswith(_COMPILED):
                found.append(node.value.removeprefix("./"))
    return found
