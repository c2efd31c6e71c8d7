"""A list of the changed files with what happened in each, for the section on modifications."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from checks.core.change import FileChange
from checks.core.finding import Message
from checks.domain.change_facts import FileFact, FunctionFact
from checks.domain.paste import PasteLine
from checks.domain.rewrites import Rewrite, find_rewrites
from checks.rules.convention._draft import Draft

MOST_FILES = 20
MOST_NAMES = 8
MOST_REWRITES = 6
_LEAST_REWRITES_OF_A_FUNCTION = 2
_ITEM, _SUB_ITEM = "- ", "  - "


def describe_files(draft: Draft) -> Iterator[PasteLine]:
    """A list item for each of at most twenty files, with its details below it."""
    changes = {file.path: file for file in draft.change.files}
    files = sorted(draft.facts.files, key=_reading_order)
    for file in files[:MOST_FILES]:
        yield from _describe_file(file, changes[file.path], draft)
    if len(files) > MOST_FILES:
        yield PasteLine(Message("paste-more-files", {"count": len(files) - MOST_FILES}), _ITEM)


def _reading_order(file: FileFact) -> tuple[bool, bool, str]:
    """Product code first, tests last: the code is what a description is read for."""
    return file.kind != "source", file.kind in ("test", "e2e"), file.path


def _describe_file(file: FileFact, change: FileChange, draft: Draft) -> Iterator[PasteLine]:
    # A registration macro such as PYBIND11_MODULE is no function to a reader.
    functions = [f for f in draft.facts.functions_of(file.path) if not f.name.isupper()]
    added, changed = _names_of(functions, "added"), _names_of(functions, "body", "signature")
    if file.kind in ("test", "e2e"):
        added, changed = _test_names(change, draft)
    args: dict[str, Any] = {
        "path": file.path,
        "status": file.status,
        "was": file.old_path,
        "lines_added": file.added,
        "lines_removed": file.removed,
        "binary": file.binary,
        **_limited("added", added),
        **_limited("removed", _names_of(functions, "removed")),
        **_limited("changed", changed),
    }
    yield PasteLine(Message("paste-file", args), _ITEM)
    for message in _details(file, change, functions, draft):
        yield PasteLine(message, _SUB_ITEM)


def _names_of(functions: Sequence[FunctionFact], *what: str) -> list[str]:
    """The names of the functions to which one of these things happened."""
    return [short_name(function.name) for function in functions if function.what in what]


def _limited(key: str, names: list[str]) -> dict[str, Any]:
    return {key: names[:MOST_NAMES], f"{key}_more": max(len(names) - MOST_NAMES, 0)}


def _test_names(change: FileChange, draft: Draft) -> tuple[list[str], list[str]]:
    """Test functions of the head in which a line was added, else those around the change: the new
    ones, and those that were there."""
    unit = draft.change.head_unit(change)
    if unit is None:
        return [], []
    names: dict[str, None] = {}
    for line in sorted(change.head_lines()):
        function = unit.function_at(line)
        if function is not None:
            names[function.qualname] = None
    tests = [name for name in names if name.rpartition(".")[2].startswith("test")] or list(names)
    base = draft.change.base_unit(change)
    known = {function.qualname for function in base.functions} if base is not None else set()
    added = [name for name in tests if name not in known]
    return added, [name for name in tests if name in known]


def _details(
    file: FileFact, change: FileChange, functions: Sequence[FunctionFact], draft: Draft
) -> Iterator[Message]:
    """What happened to parameters, ops, constants and single statements of the file."""
    for function in functions:
        if function.what == "signature":
            yield from _signature_message(function)
    for op in draft.facts.ops:
        if op.path == file.path:
            args = {"name": op.name, "what": op.what, "gained": op.gained, "lost": op.lost}
            yield Message("paste-op", args)
    for constant in draft.facts.constants:
        # Of a macro over several lines the first may be the same on both sides.
        if constant.path == file.path and constant.old != constant.new:
            values = {"name": constant.name, "old": constant.old, "new": constant.new}
            yield Message("paste-constant", values)
    if file.kind == "source":
        rewrites = list(find_rewrites(draft.change, change))
        several = len(functions) > 1
        for rewrite in _spread_over_functions(rewrites):
            yield _rewrite_message(rewrite, with_function=several)


def _signature_message(function: FunctionFact) -> Iterator[Message]:
    """Parameters gained, lost or moved; those that are only spaced differently are the same."""
    old = [_without_spaces(parameter) for parameter in function.old_params]
    new = [_without_spaces(parameter) for parameter in function.new_params]
    if old == new:
        return
    gained = [p for p in function.new_params if _without_spaces(p) not in old]
    lost = [p for p in function.old_params if _without_spaces(p) not in new]
    more = max(len(gained) - MOST_NAMES, 0) + max(len(lost) - MOST_NAMES, 0)
    args = {
        "name": short_name(function.name),
        "gained": gained[:MOST_NAMES],
        "lost": lost[:MOST_NAMES],
        "more": more,
    }
    yield Message("paste-signature", args)


def _without_spaces(text: str) -> str:
    return re.sub(r"\s+", "", text)


def short_name(name: str) -> str:
    """A qualified name without its C++ namespaces."""
    return name.rpartition("::")[2]


def _spread_over_functions(rewrites: Sequence[Rewrite]) -> Iterator[Rewrite]:
    """The first rewrites of each function, so that one long function does not hide the others."""
    functions = {rewrite.function for rewrite in rewrites}
    share = MOST_REWRITES // max(len(functions), 1)
    most = max(share, _LEAST_REWRITES_OF_A_FUNCTION)
    counts: Counter[str] = Counter()
    for rewrite in rewrites:
        counts[rewrite.function] += 1
        if counts[rewrite.function] <= most:
            yield rewrite


def _rewrite_message(rewrite: Rewrite, *, with_function: bool) -> Message:
    """The sentence of a rewrite, which names its function where the file has several."""
    args = {
        "function": short_name(rewrite.function) if with_function else "",
        "target": rewrite.target,
        "before": rewrite.before,
        "after": rewrite.after,
    }
    match rewrite.kind:
        case "loop":
            return Message("paste-loop", args)
        case "condition":
            return Message("paste-condition", args)
        case "part":
            return Message("paste-part", args)
        case "branch":
            return Message("paste-branch", args)
        case "new":
            return Message("paste-new", args)
        case "set":
            return Message("paste-set", args)
        case _:
            return Message("paste-rewrite", args)
