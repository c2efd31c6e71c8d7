"""Where the code has steps: every decorated function, and every call that runs one under a name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[2]
_BOT = ROOT / "bot"
END = "(end)"


@dataclass(frozen=True, order=True)
class Site:
    """Lines of a file of the code, and what it calls the step there."""

    path: str
    name: str
    first: int
    last: int


def sites() -> set[Site]:
    """Every step that the code defines."""
    found = set[Site]()
    for file in sorted(_BOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if name := _decorated(node) or _called(node):
                assert isinstance(node, ast.FunctionDef | ast.Call)
                path = file.relative_to(ROOT).as_posix()
                found.add(Site(path, name, node.lineno, node.end_lineno or node.lineno))
    return found


def kinds() -> set[str]:
    """Every workflow that the code defines."""
    return {
        kind
        for file in sorted(_BOT.rglob("*.py"))
        for kind in _workflows(ast.parse(file.read_text("utf-8")))
    }


def _workflows(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "DBOS.workflow":
            yield ast.literal_eval(node.keywords[0].value)


def _decorated(node: ast.AST) -> str:
    if isinstance(node, ast.FunctionDef) and any(
        ast.unparse(d) == "step" for d in node.decorator_list
    ):
        return node.name
    return ""


def _called(node: ast.AST) -> str:
    """`step("spoken", ...)` and `task.step(f"plan {number}", ...)`, not `progress.step()`."""
    if (
        not isinstance(node, ast.Call)
        or len(node.args) != 2
        or ast.unparse(node.func) not in ("step", "task.step")
    ):
        return ""
    return ast.unparse(node.args[0])


def caller() -> tuple[str, int]:
    """The file and line of the bot's code that runs the step which is being written down now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        if path.startswith(f"{_BOT}/") and name not in ("step", "acting"):
            return path.removeprefix(f"{ROOT}/"), frame.f_lineno
        frame = frame.f_back
    return "", 0


def site_of(path: str, line: int, name: str, known: set[Site]) -> Site | None:
    """Which of `known` the step was that had `name` and was run from there."""
    for site in known:
        if site.path == path and (site.name == name or site.first <= line <= site.last):
            return site
    return None
