"""Which tests call an op, and which did before a change deleted them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.lang.ir.source_file import SourceFile


@dataclass(frozen=True, slots=True)
class LostTests:
    """An op that the change rewrites, from `line` of `path` on, and the deleted tests that called it."""

    op: str
    path: str
    line: int
    tests: tuple[str, ...]


def exercised(op: str, change: ChangeSet, config: Config) -> bool:
    """Whether a test of the head calls the op, or imports it to do so. A stub of the same name does not count."""
    word = re.escape(op)
    use = re.compile(
        rf"(?<!def )(?<![\"'\w]){word}\s*\(|\bimport\b.*\b{word}\b|^\s*{word},?\s*(#.*)?$"
    )
    return any(
        config.is_test(h.path) and not h.text.lstrip().startswith("#") and use.search(h.text)
        for h in change.head.find(op)
    )


def lost_tests(files: list[FileChange], change: ChangeSet, config: Config) -> Iterator[LostTests]:
    """Ops of `files` that this change rewrites while it deletes the only tests that called them; one for each file."""
    tests = [
        f
        for f in change.files
        if f.head_path is None and f.base_path and config.is_test(f.base_path)
    ]
    texts = {f.path: (change.base.read(f.path) or b"").decode("utf-8", "replace") for f in tests}
    for file in files if texts else ():
        unit = change.unit(file.head_path) if file.head_path else None
        for name in _rewritten(file, unit, change) if unit is not None else ():
            # A test of `op_v1` was a test of what is `op` now.
            plain = re.sub(r"_v\d+$", "", name)
            called = re.compile(rf"(?<!\w){re.escape(plain)}(_v\d+)?\s*\(")
            lost = tuple(path for path, text in texts.items() if called.search(text))
            if lost and not exercised(name, change, config):
                yield LostTests(name, file.path, min(file.head_lines(), default=1), lost)
                break


def _rewritten(file: FileChange, unit: SourceFile, change: ChangeSet) -> Iterator[str]:
    """The ops of this file whose kernel function the change wrote or altered."""
    touched = {
        f.name for f in unit.functions if change.touches(unit.path, f.start_line, f.end_line)
    }
    for op in unit.ops:
        if op.kernel.rsplit("::", 1)[-1] in touched or file.base_path is None:
            yield op.name
