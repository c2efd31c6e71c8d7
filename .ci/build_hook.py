"""The build step that makes one package, `specbot`, of the checkout's folders.

In the checkout the packages are called `bot`, `checks`, `kernels` and `templates`. They cannot be
installed under these names: `kernels` is Hugging Face's package, which vLLM and SGLang bring along,
and `bot` is nobody's to take. So the wheel has them below `specbot`, and this hook rewrites what
would no longer be found there: absolute imports of the four become relative ones.

Relative, because `specbot kernels run` copies the kernels out and runs them as a package of another
name; the same files are right in both places. A statement stays on its lines, so a traceback of the
wheel names the lines of the checkout.

An editable install keeps the checkout's names, and has `specbot.__main__` for the command alone.
"""

from __future__ import annotations

import ast
import io
import shutil
import tempfile
import tokenize
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "specbot"
FOLDERS = ("bot", "checks", "kernels", "templates")
COMMAND = "bot/__main__.py"
PACKAGE_DOCSTRING = '"""Reviews pull requests that touch speculative decoding."""\n'


class ImportRewriteError(Exception):
    """An import that has no relative form, with its file and line."""


class SpecbotPackage(BuildHookInterface[Any]):
    """What hatchling calls before and after it writes a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Prepare the package in a folder of its own and tell hatchling to take it from there."""
        root = Path(self.root)
        self._folder = Path(tempfile.mkdtemp(prefix="specbot-wheel-"))
        if version == "editable":
            build_data["force_include_editable"] = {
                str(root / COMMAND): f"{PACKAGE}/__main__.py",
            }
            return
        write_package(root, self._folder / PACKAGE)
        build_data["force_include"] = {str(self._folder / PACKAGE): PACKAGE}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def write_package(root: Path, package: Path) -> None:
    """Write the package `specbot` to the folder `package`, from the checkout at `root`.

    Raises `ImportRewriteError`, and `SyntaxError` for a file that is no Python.
    """
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PACKAGE_DOCSTRING, encoding="utf-8")
    (package / "py.typed").touch()
    for name in FOLDERS:
        skip = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
        shutil.copytree(root / name, package / name, ignore=skip)
    shutil.copy(root / COMMAND, package / "__main__.py")
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        folders = path.relative_to(package).parent.parts
        try:
            rewritten = with_relative_imports(source, folders)
        except ImportRewriteError as error:
            raise ImportRewriteError(f"{path.relative_to(package)}: {error}") from None
        if rewritten != source:
            path.write_bytes(rewritten)


def with_relative_imports(source: bytes, folders: tuple[str, ...]) -> bytes:
    """`source` with each absolute import of the four packages made relative.

    `folders` are those between `specbot` and the module. Positions come from the syntax tree and
    the tokens, so strings and comments stay as they are.
    """
    text = source.decode("utf-8")
    # `splitlines` would also split at form feeds, which Python does not count as lines.
    lines = io.StringIO(text).readlines()
    for node in _imports(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            _rewrite_from(node, lines, folders)
        else:
            _rewrite_import(node, lines, folders)
    return "".join(lines).encode("utf-8")


def _relative(module: str, folders: tuple[str, ...]) -> str:
    """`module` as a module in `folders` names it.

    The way never leads over `specbot` within one package: the copy of `kernels` that runs by itself
    has nothing above it.
    """
    package, _, rest = module.partition(".")
    if folders and package == folders[0]:
        return "." * len(folders) + rest
    return "." * (len(folders) + 1) + module


def _imports(tree: ast.AST) -> list[ast.Import | ast.ImportFrom]:
    """The statements that import one of the four packages by its absolute name."""
    found: list[ast.Import | ast.ImportFrom] = []
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(level=0, module=str() as module) if _is_ours(module):
                found.append(node)
            case ast.Import(names=names) if any(_is_ours(alias.name) for alias in names):
                found.append(node)
    return found


def _is_ours(module: str) -> bool:
    return module.split(".")[0] in FOLDERS


def _rewrite_from(node: ast.ImportFrom, lines: list[str], folders: tuple[str, ...]) -> None:
    """`from checks.core import x` to `from ..checks.core import x`, say."""
    module = node.module or ""
    line, column = _position_of_name(node, lines)
    before, after = lines[line][:column], lines[line][column:]
    if not after.startswith(module):
        raise ImportRewriteError(f"line {node.lineno}: write `{module}` without spaces")
    lines[line] = before + _relative(module, folders) + after.removeprefix(module)


def _rewrite_import(node: ast.Import, lines: list[str], folders: tuple[str, ...]) -> None:
    """`import bot` to `from .. import bot`, `import bot.git as g` to `from ..bot import git as g`.

    Raises `ImportRewriteError` for `import bot.git`, which binds `bot`, and for several modules in
    one statement.
    """
    if len(node.names) > 1:
        raise ImportRewriteError(f"line {node.lineno}: more than one module in an import")
    (alias,) = node.names
    parent, _, name = alias.name.rpartition(".")
    if parent and alias.asname is None:
        raise ImportRewriteError(f"line {node.lineno}: write `from {parent} import {name}`")
    package = _relative(parent, folders) if parent else "." * (len(folders) + 1)
    line, column = _position_of_name(node, lines)
    before, after = lines[line][: column - len("import ")], lines[line][column:]
    lines[line] = f"{before}from {package} import {name}{after.removeprefix(alias.name)}"


def _position_of_name(node: ast.Import | ast.ImportFrom, lines: list[str]) -> tuple[int, int]:
    """Line and column, from 0 and in characters, of the first name after `from` or `import`."""
    first = node.lineno - 1
    # The tree counts bytes of UTF-8, the lines are characters.
    column = len(lines[first].encode("utf-8")[: node.col_offset].decode("utf-8"))
    rest = [lines[first][column:], *lines[first + 1 : node.end_lineno]]
    tokens = tokenize.generate_tokens(iter(rest).__next__)
    next(tokens)
    name = next(token for token in tokens if token.type == tokenize.NAME)
    row, offset = name.start
    return first + row - 1, offset + (column if row == 1 else 0)
