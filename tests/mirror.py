"""`python -m tests.mirror`: the code's own measures, beside those of any other Python package: a
mirror, not a gate."""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

OWN = ("checks", "bot", "kernels")
WIDTH = 100
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.IfExp, ast.ExceptHandler, ast.Assert)


@dataclass
class Measures:
    """What was counted in one folder."""

    modules: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    long_lines: int = 0
    comment_lines: int = 0
    comprehensions: int = 0
    ternaries: int = 0
    function_lines: list[int] = field(default_factory=list)
    complexities: list[int] = field(default_factory=list)
    densities: list[float] = field(default_factory=list)
    classes: dict[str, set[Path]] = field(default_factory=dict)


def measure(folder: Path) -> Measures:
    """Count over every module below `folder`; files that do not parse are left out."""
    measures = Measures()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8", "replace")
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        measures.modules[str(path.parent)] += 1
        _count_lines(text, measures)
        _count_nodes(tree, path, measures)
    return measures


def _count_lines(text: str, measures: Measures) -> None:
    lines = text.splitlines()
    measures.lines += sum(1 for line in lines if line.strip())
    measures.long_lines += sum(1 for line in lines if len(line) > WIDTH)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            measures.comment_lines += 1


def _count_nodes(tree: ast.Module, path: Path, measures: Measures) -> None:
    for node in ast.walk(tree):
        if isinstance(node, _LOOPS):
            measures.comprehensions += 1
        elif isinstance(node, ast.IfExp):
            measures.ternaries += 1
        elif isinstance(node, ast.ClassDef):
            measures.classes.setdefault(node.name, set()).add(path)
        elif isinstance(node, _FUNCTIONS):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            complexity = 1 + sum(map(_decisions, _own_nodes(node)))
            measures.function_lines.append(lines)
            measures.complexities.append(complexity)
            measures.densities.append(10 * complexity / lines)


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside it."""
    for child in ast.iter_child_nodes(function):
        if isinstance(child, _FUNCTIONS):
            continue
        yield child
        yield from _own_nodes(child)


def _decisions(node: ast.AST) -> int:
    """How many ways to go on a node adds (McCabe, with `and`, `or` and comprehensions counted)."""
    if isinstance(node, _BRANCHES):
        return 1
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    if isinstance(node, ast.match_case):
        return 1
    return 0


def _percentile(values: list[float] | list[int], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


def rows(measures: Measures) -> Iterator[tuple[str, str]]:
    """What is printed of one folder: the measure's name, and its value."""
    thousand = max(measures.lines, 1) / 1000
    repeated = sum(1 for paths in measures.classes.values() if len(paths) > 1)
    yield "decisions per 10 lines of function, p50", f"{_percentile(measures.densities, 0.5):.1f}"
    highest = max(measures.complexities, default=0)
    yield "complexity p90/max", f"{_percentile(measures.complexities, 0.9):.0f}/{highest}"
    comprehensions = measures.comprehensions / thousand
    ternaries = measures.ternaries / thousand
    yield "comprehensions/ternaries per 1,000 lines", f"{comprehensions:.0f}/{ternaries:.0f}"
    yield f"lines over {WIDTH} columns", f"{100 * measures.long_lines / measures.lines:.1f} %"
    yield "comment lines", f"{100 * measures.comment_lines / measures.lines:.1f} %"
    yield (
        "class names in more than one file",
        f"{100 * repeated / max(len(measures.classes), 1):.0f} %",
    )
    yield "largest package, modules", str(max(measures.modules.values(), default=0))
    median = _percentile(measures.function_lines, 0.5)
    ninth = _percentile(measures.function_lines, 0.9)
    yield "function lines p50/p90", f"{median:.0f}/{ninth:.0f}"
    yield "lines", f"{measures.lines:,}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mirror", description=__doc__)
    parser.add_argument(
        "folders",
        nargs="*",
        type=Path,
        default=[Path(name) for name in OWN],
        metavar="FOLDER",
        help=f"a Python package, of another project too (default: {' '.join(OWN)})",
    )
    folders = parser.parse_args().folders
    for folder in folders:
        if not any(folder.rglob("*.py")):
            parser.error(f"there is no Python in {folder}")
    columns = [dict(rows(measure(folder))) for folder in folders]
    print(" " * 44 + "".join(f"{folder.name:>14}" for folder in folders))
    for name in columns[0]:
        print(f"{name:44}" + "".join(f"{column[name]:>14}" for column in columns))


if __name__ == "__main__":
    main()
