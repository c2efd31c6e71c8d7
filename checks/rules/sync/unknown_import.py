"""A file imports from a module of the tree a name that is not there.

## What it does

Looks at the imports that the change wrote, and, for every name that it took out of a module or
renamed, at who still imports it from there. Reports names that the module does not bind.

## Why it matters

PaddlePaddle/FastDeploy#3413 moved `default_weight_loader` to another module; one model went on
importing it, inside a function, from where it had stood, until #3571. What a package imports it
gives on: others take it from there.

## Example

```python
# engine/ops.py: the change renamed `pad_rows` to `pad`
from engine.ops import pad_rows          # another runner: ImportError
```

## Known limits

A module that binds names by other means (`import *`, `__getattr__`, `globals()`) is left out, and
so are imports inside `try` and for type checkers. A new import from a package may mean a module
that a build makes, and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Severity, Side
from checks.domain.calls.exports import Exports, is_package, names_lost
from checks.lang.ir.source_file import Import, SourceFile

ID = "sync.unknown-import"

_LENIENT = re.compile(r"\btry\b|TYPE_CHECKING|\bexcept\b")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """New imports, then imports of what went away; one finding for each name in a file."""
    exports = Exports.of_change(change)
    reported: set[tuple[str, str, str]] = set()
    for item, unit in [*_new_imports(change, config), *_stale_imports(change, config)]:
        key = unit.path, item.module, item.name
        if key in reported or _LENIENT.search(item.guard):
            continue
        if exports.certainly_lacks(item, unit) and not _was_lacking(item, unit, change):
            reported.add(key)
            yield _finding(item, unit, exports)


def _new_imports(change: ChangeSet, config: Config) -> Iterator[tuple[Import, SourceFile]]:
    exports = Exports.of_change(change)
    for unit, _ in changed_files(change, config, "python"):
        for item in unit.imports:
            if not item.name or not change.touches(unit.path, item.line, item.line):
                continue
            module = exports.module(item, unit)
            if module is not None and not is_package(module):
                yield item, unit


def _stale_imports(change: ChangeSet, config: Config) -> Iterator[tuple[Import, SourceFile]]:
    """The imports, anywhere in the product, of names that a changed module does not have now."""
    exports = Exports.of_change(change)
    for unit, base_unit in changed_files(change, config, "python"):
        if base_unit is None:
            continue
        for name in sorted(names_lost(base_unit, unit)):
            for path in change.head.paths_containing(name, "python"):
                other = None if config.is_test(path) else change.unit(path)
                for item in other.imports if other is not None else ():
                    if other is None or item.name != name:
                        continue
                    module = exports.module(item, other)
                    if module is not None and module.path == unit.path:
                        yield item, other


def _was_lacking(item: Import, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether the same file imported the same name before, and it was not there then either."""
    file = change.changed(unit.path)
    path = file.base_path if file is not None else unit.path
    base_unit = change.unit(path, Side.BASE) if path else None
    exports = Exports.of_change(change, Side.BASE)
    for old in base_unit.imports if base_unit is not None else ():
        if base_unit is None or (old.module, old.name) != (item.module, item.name):
            continue
        if exports.module(old, base_unit) is None or exports.certainly_lacks(old, base_unit):
            return True
    return False


def _finding(item: Import, unit: SourceFile, exports: Exports) -> Finding:
    module = exports.module(item, unit)
    place = Location(module.path if module is not None else "", 0)
    return Finding.at(
        ID,
        Location(unit.path, item.line),
        "unknown",
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        symbol=item.function,
        subject=f"{item.module} {item.name}",
        name=item.name,
        module=item.module,
        at=place,
    ).with_evidence(Definition(item.name, place, item.module, unit.excerpt(item.line)))
