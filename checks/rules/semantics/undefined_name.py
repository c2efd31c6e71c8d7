"""A name that nothing defines: the line raises `NameError` when it is reached.

## What it does

Compares the names that changed Python files use and nothing binds, before and after the change:
what a new line uses and nobody imports, and what an old line still uses after its import or
definition went away. pyflakes knows what binds a name.

## Why it matters

A branch that tests do not reach hides it. PaddlePaddle/FastDeploy@90ef28d98 read `spec_init` where
the parameter had gone; sgl-project/sglang@712216928 called four functions without importing them.

## Example

```python
def gather(rows):
    return all_gather(rows)      # neither imported nor defined
```

## Known limits

Files with `from x import *` are not judged, nor those that put names into `globals()` themselves,
and neither are annotations that are never evaluated. A name that another module puts into this one
from outside counts as not defined.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from pyflakes.checker import Checker
from pyflakes.messages import ImportStarUsage, UndefinedName

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Severity
from checks.lang.ir.source_file import SourceFile
from checks.lang.python.text import REFUSED

ID = "semantics.undefined-name"

# With this import no annotation is evaluated.
_LAZY_ANNOTATIONS = ("__future__", "annotations")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each name that the change left without a definition."""
    for unit, base in changed_files(change, config, "python"):
        used = _undefined_names(unit)
        if not used:
            continue
        known = set() if base is None else {name for name, _ in _undefined_names(base)}
        told: set[str] = set()
        for name, line in used:
            if name not in known and name not in told:
                told.add(name)
                yield _finding(name, line, unit)


def _undefined_names(unit: SourceFile) -> list[tuple[str, int]]:
    """(name, line) of each use of a name that nothing binds; none where that is not certain, or the
    code is too deep to be walked."""
    try:
        return _unbound(ast.parse("\n".join(unit.lines)), unit)
    except REFUSED:
        return []


def _unbound(tree: ast.Module, unit: SourceFile) -> list[tuple[str, int]]:
    lazy = any((item.module, item.name) == _LAZY_ANNOTATIONS for item in unit.imports)
    ignored = set(_unevaluated_lines(tree, in_function=False, never=lazy))
    bound = _bound_otherwise(tree, unit)
    if _fills_namespace(tree):
        return []
    names = []
    for message in Checker(tree, unit.path).messages:
        if isinstance(message, ImportStarUsage):
            return []
        if isinstance(message, UndefinedName) and message.lineno not in ignored:
            names.append((str(message.message_args[0]), message.lineno))
    return [(name, line) for name, line in names if name not in bound]


def _bound_otherwise(tree: ast.AST, unit: SourceFile) -> set[str]:
    """Names that pyflakes does not take for bound: what a function sets by `global`, and the
    modules of a package that its own `__init__.py` imports."""
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            bound.update(node.names)
    if unit.path.endswith("__init__.py"):
        for item in unit.imports:
            bound.update(item.module.split("."))
    return bound


def _fills_namespace(tree: ast.Module) -> bool:
    """Whether a line of the module puts names that are computed into its namespace.

    huggingface/text-generation-inference@cb747b33d has a constant for each member of an enum:
    `names = locals()`, then `names[member.name] = member.value`.
    """
    aliases: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_namespace(value, ()):
                aliases.add(name)
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=holder, ctx=ast.Store()):
                if _is_namespace(holder, aliases):
                    return True
            case ast.Call(func=ast.Attribute(value=holder, attr="update" | "setdefault")):
                if _is_namespace(holder, aliases):
                    return True
    return False


def _is_namespace(value: ast.expr, aliases: Collection[str]) -> bool:
    """Whether a value is `globals()` or its like, or a name of that."""
    match value:
        case ast.Call(func=ast.Name(id="globals" | "locals" | "vars"), args=[]):
            return True
        case ast.Name(id=name):
            return name in aliases
        case _:
            return False


def _unevaluated_lines(node: ast.AST, *, in_function: bool, never: bool) -> Iterator[int]:
    """Lines of annotations that nobody evaluates: quoted ones, those of locals, and all of them
    under `from __future__ import annotations` (`never`)."""
    for annotation in _annotations(node):
        is_local = in_function and isinstance(node, ast.AnnAssign)
        if never or is_local or _holds_text(annotation):
            yield from range(annotation.lineno, (annotation.end_lineno or annotation.lineno) + 1)
    inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _unevaluated_lines(child, in_function=inside, never=never)


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case (
            ast.FunctionDef(returns=ast.expr() as returns)
            | ast.AsyncFunctionDef(returns=ast.expr() as returns)
        ):
            yield returns
        case ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation):
            yield annotation


def _holds_text(annotation: ast.expr) -> bool:
    for part in ast.walk(annotation):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            return True
    return False


def _finding(name: str, line: int, unit: SourceFile) -> Finding:
    function = unit.function_at(line)
    return Finding.at(
        ID,
        Location(unit.path, line),
        "undefined",
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        symbol=function.qualname if function is not None else "",
        subject=name,
        name=name,
    )
