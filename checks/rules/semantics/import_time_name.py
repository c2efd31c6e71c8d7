"""A name that a condition binds is needed whenever the file is imported.

## What it does

Finds names that a Python file reads while it is imported (annotations, defaults, decorators, bases,
values at the top level and in classes) and that it binds under an `if` without `else` alone, or in
a `try` whose handler goes on without them.

## Why it matters

`vllm-project/vllm#33005` annotated a parameter with a class that is imported for type checkers
only: the model could not be imported, until #33350. `sgl-project/sglang#5068` declared an attribute
of a class from a package that is optional, and the server needed the package, until #5179.

## Example

```python
if TYPE_CHECKING:
    from engine.config import VisionConfig

class Tower:
    def __init__(self, config: VisionConfig):    # NameError
        self.config = config
```

## Known limits

What a condition around the reading says is not compared with the one around the import, so that
only what stands under no condition is looked at. A file that the product imports only where the
name is bound is left out, and so is a package that it asks for here and imports elsewhere without
asking. From Python 3.14 on annotations are not evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.keys import product_files
from checks.domain.source_search import imports_from
from checks.lang.ir.source_file import Import, SourceFile
from checks.lang.python.text import REFUSED
from checks.rules.semantics._import_time import PossibleBinding, names_needed, possible_bindings

ID = "semantics.import-time-name"

_ASKS_FOR_PACKAGE = re.compile(r"_available\b|_installed\b|find_spec|\b[Hh][Aa][Ss]_")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each name that the change left without a certain binding, and for all names
    of one condition."""
    for unit, base in changed_files(change, config, "python"):
        needed = _uncertain_names(unit)
        if not needed:
            continue
        known = {binding.name for binding, _ in _uncertain_names(base)} if base else set()
        told: set[str] = set()
        for binding, line in needed:
            cause = binding.condition or binding.name
            if binding.name in known or cause in told:
                continue
            told.add(cause)
            if _is_imported_under(binding.condition, unit, change, config):
                continue
            if not _is_required(binding, unit, change, config):
                yield _finding(binding, line, unit)


def _is_imported_under(condition: str, unit: SourceFile, change: ChangeSet, config: Config) -> bool:
    """Whether the product imports this file, and only where the condition holds."""
    if not condition:
        return False
    stem = unit.path.rpartition("/")[2].removesuffix(".py")
    guards: list[str] = []
    for path in product_files(stem, change, config):
        other = change.unit(path)
        if other is not None and path != unit.path:
            guards += [item.guard for item in imports_from(unit.path, other)]
    return bool(guards) and all(condition in _as_unparsed(guard) for guard in guards)


def _is_required(
    binding: PossibleBinding, unit: SourceFile, change: ChangeSet, config: Config
) -> bool:
    """Whether the condition asks for a package that another file of the product imports without
    asking: nothing runs where it is not there.

    huggingface/text-generation-inference@ed46c2c41 copied a file of a library, with its question
    for the package of images.
    """
    if not _ASKS_FOR_PACKAGE.search(binding.condition):
        return False
    packages = [_package(item) for item in unit.imports if binding.name in _names_of(item)]
    for package in packages:
        for path in product_files(package, change, config):
            other = change.unit(path)
            if other is not None and path != unit.path and _imports_always(package, other):
                return True
    return False


def _imports_always(package: str, unit: SourceFile) -> bool:
    """Whether the file imports the package at its top level, under no condition."""
    statement = re.compile(rf"(import|from) {re.escape(package)}\b")
    return any(statement.match(line) for line in unit.lines)


def _package(item: Import) -> str:
    return item.module.partition(".")[0]


def _names_of(item: Import) -> tuple[str, ...]:
    """The names that an import may bind."""
    return item.alias, item.name, _package(item)


def _as_unparsed(guard: str) -> str:
    """A condition with the quotes and spaces of `ast.unparse`."""
    try:
        return ast.unparse(ast.parse(guard, mode="eval"))
    except SyntaxError:
        return guard


def _uncertain_names(unit: SourceFile) -> list[tuple[PossibleBinding, int]]:
    """(binding, line of the reading) of each name that the import may lack; none where the code is
    too deep to be walked."""
    try:
        return _needed(ast.parse("\n".join(unit.lines)))
    except REFUSED:
        return []


def _needed(tree: ast.Module) -> list[tuple[PossibleBinding, int]]:
    possible = possible_bindings(tree)
    if not possible:
        return []
    read = [name for name in names_needed(tree) if name.id in possible]
    return [(possible[name.id], name.lineno) for name in read]


def _finding(binding: PossibleBinding, line: int, unit: SourceFile) -> Finding:
    place = Location(unit.path, binding.line)
    never = "TYPE_CHECKING" in binding.condition
    args = {"name": binding.name, "at": place, "condition": binding.condition}
    key = "never" if never else "condition" if binding.condition else "try"
    function = unit.function_at(line)
    return Finding(
        rule=ID,
        # A condition may be one that holds wherever the file is imported at all.
        severity=Severity.SUGGESTION if key == "condition" else Severity.BUG,
        confidence=Confidence.HIGH if never else Confidence.MEDIUM,
        location=Location(unit.path, line),
        message=Message(key, args),
        symbol=function.qualname if function is not None else "",
        subject=binding.name,
        related=(Related(place, Message("bound-here", {})),),
    )
