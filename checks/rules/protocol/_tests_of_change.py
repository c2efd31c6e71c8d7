"""The tests that may run the Python functions which a change altered."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.words import as_bytes, contains_word, find_word
from checks.lang.ir.source_file import Function, SourceFile, any_line_in
from checks.lang.source import language

_MOST_TESTS = 80
_MOST_FILES = 24

# The last part of a module's name -> the names by which a test may call what the change altered.
EntryPoints = dict[str, set[str]]


def tests_of_change(change: ChangeSet, config: Config) -> Iterator[tuple[SourceFile, Function]]:
    """Test functions of the head that name an altered function, tests of touched files first.

    A test that is named after the function counts too: it may call it through a helper. A file is
    searched when its turn comes, so that a caller may stop early.
    """
    entry_points = _entry_points(change, config)
    if entry_points:
        yield from islice(_tests(entry_points, change, config), _MOST_TESTS)


def _tests(
    entry_points: EntryPoints, change: ChangeSet, config: Config
) -> Iterator[tuple[SourceFile, Function]]:
    for path, names in islice(_test_files(entry_points, change, config), _MOST_FILES):
        unit = change.unit(path)
        if unit is None:
            continue
        lines = _lines_naming(names, path, change)
        for function in unit.functions:
            if not function.name.startswith("test"):
                continue
            is_named_after = any(name in function.name for name in names)
            names_one = any_line_in(lines, function.start_line, function.end_line)
            if (is_named_after or names_one) and function.clean:
                yield unit, function


def _lines_naming(names: set[str], path: str, change: ChangeSet) -> list[int]:
    """The lines of a head file in which one of `names` stands, in order."""
    data = change.head.read(path) or b""
    lines: set[int] = set()
    for name in names:
        lines.update(line for line, _ in find_word(data, name))
    return sorted(lines)


def _entry_points(change: ChangeSet, config: Config) -> EntryPoints:
    """The altered functions of each module, and those of the same file that call them."""
    entry_points: EntryPoints = {}
    for _, head in change.changed_functions():
        if head is None or language(head.path) != "python" or config.is_test(head.path):
            continue
        names = entry_points.setdefault(_module_name(head.path), set())
        # A constructor is called by its class's name.
        is_constructor = head.name == "__init__" and head.owner
        names.add(head.owner if is_constructor else head.name)
        names.update(_callers_in_file(head, change))
    for module, names in entry_points.items():
        entry_points[module] = {name for name in names if not name.startswith("__")}
    return entry_points


def _module_name(path: str) -> str:
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


def _callers_in_file(function: Function, change: ChangeSet) -> Iterator[str]:
    """Other functions of the same file that name `function`."""
    unit = change.unit(function.path)
    if unit is None:
        return
    for other in unit.functions_naming(function.name):
        if other.name != function.name:
            yield other.name


def _test_files(
    entry_points: EntryPoints, change: ChangeSet, config: Config
) -> Iterator[tuple[str, set[str]]]:
    """The test files that name an altered module, each with the altered functions it names."""
    touched: set[str] = set()
    for file in change.files:
        if file.head_path and language(file.head_path) == "python":
            touched.add(file.head_path)
    for path in sorted(touched):
        if config.is_test(path):
            names = _names_of_imported(entry_points, path, change)
            if names:
                yield path, names
    candidates: dict[str, set[str]] = {}
    for module, names in entry_points.items():
        for path in change.head.paths_containing(module, "python"):
            if path not in touched and config.is_test(path):
                candidates.setdefault(path, set()).update(names)
    for path, names in sorted(candidates.items()):
        named = _names_in(change.head.read(path) or b"", names)
        if named:
            yield path, named


def _names_of_imported(entry_points: EntryPoints, path: str, change: ChangeSet) -> set[str]:
    """The altered functions that a file names together with their module."""
    data = change.head.read(path) or b""
    names: set[str] = set()
    for module, functions in entry_points.items():
        if contains_word(data, as_bytes(module)):
            names |= functions
    return _names_in(data, names)


def _names_in(data: bytes, names: set[str]) -> set[str]:
    return {name for name in names if contains_word(data, as_bytes(name))}
