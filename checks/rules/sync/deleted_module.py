"""A file imports a module that the change deletes or moves.

## What it does

For every Python file that the change deletes or gives another path, looks at who imports it by its
old name: anywhere in the tree, tests too.

## Why it matters

PaddlePaddle/FastDeploy#3250 deleted `parallel_state.py`, which another module of the same package
imported: had that line stayed, the whole package could not have been imported.

## Example

```python
# the change moved engine/layers/pad.py to engine/ops/pad.py
from engine.layers.pad import pad_rows      # ModuleNotFoundError
```

## Known limits

Imports inside `try` and for type checkers are left out, and so is a module in whose place something
of another kind stands (a package, a stub, a source that a build makes a module of).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Severity, Side
from checks.domain.calls.exports import Exports
from checks.eval.interpreter.program import absolute_module_name
from checks.lang.ir.source_file import Import, SourceFile

ID = "sync.deleted-module"

_LENIENT = re.compile(r"\btry\b|TYPE_CHECKING|\bexcept\b")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each file that imports a module that is gone."""
    for path in _gone_modules(change):
        for importer in change.head.paths_containing(_last_name(path), "python"):
            unit = change.unit(importer)
            for item in unit.imports if unit is not None else ():
                if unit is not None and _takes(item, path, unit, change):
                    yield _finding(item, path, unit)
                    break


def _gone_modules(change: ChangeSet) -> Iterator[str]:
    """The Python files that had a path before the change and have it no longer."""
    for file in change.files:
        path = file.base_path
        if path is None or not path.endswith(".py") or path == file.head_path:
            continue
        place = re.compile(rf"{re.escape(_stem(path))}[./]")
        if not any(place.match(other) for other in change.head.paths()):
            yield path


def _stem(path: str) -> str:
    """The path that a module has without its ending; the folder of a package."""
    return path.removesuffix(".py").removesuffix("/__init__")


def _last_name(path: str) -> str:
    return _stem(path).rpartition("/")[2]


def _takes(item: Import, path: str, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether an import means the module at `path`, and nothing else of its name is there now."""
    if _LENIENT.search(item.guard):
        return False
    before, now = Exports.of_change(change, Side.BASE), Exports.of_change(change)
    module = before.module(item, unit)
    if module is not None and module.path == path:
        return now.module(item, unit) is None
    is_member = module is not None and item.name == _last_name(path)
    return is_member and _is_submodule(item, path, unit) and now.certainly_lacks(item, unit)


def _is_submodule(item: Import, path: str, unit: SourceFile) -> bool:
    """Whether `from package import name` means the module at `path`."""
    name = f"{absolute_module_name(item.module, unit.path)}.{item.name}".replace(".", "/")
    return _stem(path) == name or _stem(path).endswith(f"/{name}")


def _finding(item: Import, path: str, unit: SourceFile) -> Finding:
    place = Location(path, 0, side=Side.BASE)
    return Finding.at(
        ID,
        Location(unit.path, item.line),
        "deleted",
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        symbol=item.function,
        subject=path,
        module=_last_name(path),
        path=path,
    ).with_evidence(Definition(_last_name(path), place, path, unit.excerpt(item.line)))
