"""Lines for the sections an author left empty, from what the change does. Facts only: what is not
known is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from checks.core.change import FileChange
from checks.core.finding import Message
from checks.domain.change_facts import Facts, FileFact, FunctionFact
from checks.rules.convention._draft import Draft
from checks.rules.convention._effects import Rewrite, rewrites
from checks.rules.convention.proposal import PENDING, Line

MOST_FILES = 20
MOST_NAMES = 8
MOST_IN_SENTENCE = 4
MOST_REWRITES = 6
_SCRIPT = re.compile(r"(test_.*|.*_test)\.py")

_KINDS: tuple[tuple[str, str], ...] = (
    ("accuracy", r"accura|precision|精度"),
    ("tests", r"\btests?\b|测试|单测"),
    ("usage", r"usage|command|how to|用法|使用|命令"),
    ("motivation", r"motivation|why|purpose|background|summary|description|目的|背景|动机|描述"),
    ("modifications", r"modif|changes?\b|what|detail|改动|修改|变更|内容"),
)


def kind(section: str) -> str:
    """What a section is about, by its name; empty for one that the facts cannot fill."""
    return next((k for k, p in _KINDS if re.search(p, section, re.I)), "")


def lines(section: str, draft: Draft) -> Iterator[str | Line]:
    """What can be said under `section`."""
    match kind(section):
        case "motivation":
            yield from _motivation(draft)
        case "modifications":
            yield from _modifications(draft)
        case "usage":
            yield from _commands(draft)
        case "accuracy":
            yield _accuracy(draft)
        case "tests":
            yield from _commands(draft)
        case _:
            yield Line(Message("paste-unknown"), PENDING)


def _motivation(draft: Draft) -> Iterator[str | Line]:
    if draft.title.words:
        yield f"{draft.title.words}\n"
    found = draft.facts
    folders = [f"{a.folder}/" for a in found.areas if a.folder != "."]
    if folders:
        args = {"folders": folders[:MOST_NAMES], "more": len(folders) - MOST_NAMES}
        yield Line(Message("paste-range", args))


def _modifications(draft: Draft) -> Iterator[str | Line]:
    found = draft.facts
    changes = {f.path: f for f in draft.change.files}
    # Product code first: it is what a description is read for.
    ordered = sorted(
        found.files, key=lambda f: (f.kind != "source", f.kind in ("test", "e2e"), f.path)
    )
    for file in ordered[:MOST_FILES]:
        yield from _file(file, changes[file.path], found, draft)
    if len(ordered) > MOST_FILES:
        yield Line(Message("paste-more-files", {"count": len(ordered) - MOST_FILES}), "- ")


def _file(file: FileFact, change: FileChange, found: Facts, draft: Draft) -> Iterator[Line]:
    # A registration macro such as PYBIND11_MODULE is no function to a reader.
    own = [f for f in found.functions if f.path == file.path and not f.name.isupper()]
    groups = {
        what: [_short(f.name) for f in own if f.what in whats]
        for what, whats in (
            ("added", ("added",)),
            ("removed", ("removed",)),
            ("changed", ("body", "signature")),
        )
    }
    if file.kind in ("test", "e2e"):
        groups["changed"] = _test_names(change, draft)
    args = {
        "path": file.path,
        "status": file.status,
        "was": file.old_path,
        "lines_added": file.added,
        "lines_removed": file.removed,
        "binary": file.binary,
    }
    for what, names in groups.items():
        args[what] = names[:MOST_NAMES]
        args[f"{what}_more"] = max(len(names) - MOST_NAMES, 0)
    yield Line(Message("paste-file", args), "- ")
    yield from _details(file, change, own, found, draft)


def _details(
    file: FileFact, change: FileChange, own: list[FunctionFact], found: Facts, draft: Draft
) -> Iterator[Line]:
    for function in own:
        if function.what == "signature":
            yield from _signature(function)
    for op in (o for o in found.ops if o.path == file.path):
        args = {"name": op.name, "what": op.what, "gained": op.gained, "lost": op.lost}
        yield Line(Message("paste-op", args), "  - ")
    # Of a macro over several lines the first may be the same on both sides.
    for constant in (c for c in found.constants if c.path == file.path and c.old != c.new):
        args = {"name": constant.name, "old": constant.old, "new": constant.new}
        yield Line(Message("paste-constant", args), "  - ")
    if file.kind == "source":
        found_here = list(rewrites(draft.change, change))
        several = len({r.function for r in found_here}) > 1
        for changed in _spread(found_here):
            yield Line(_rewrite(changed, several), "  - ")


def _signature(function: FunctionFact) -> Iterator[Line]:
    """Parameters gained and lost; those that are only spaced differently are the same."""
    old = {_squeezed(p) for p in function.old_params}
    new = {_squeezed(p) for p in function.new_params}
    gained = [p for p in function.new_params if _squeezed(p) not in old]
    lost = [p for p in function.old_params if _squeezed(p) not in new]
    args = {
        "name": _short(function.name),
        "gained": gained[:MOST_NAMES],
        "lost": lost[:MOST_NAMES],
        "more": max(len(gained) - MOST_NAMES, 0) + max(len(lost) - MOST_NAMES, 0),
    }
    if (
        gained
        or lost
        or list(map(_squeezed, function.old_params)) != list(map(_squeezed, function.new_params))
    ):
        yield Line(Message("paste-signature", args), "  - ")


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def _short(name: str) -> str:
    """A qualified name without its C++ namespaces."""
    return name.rpartition("::")[2]


def _spread(found: list[Rewrite]) -> Iterator[Rewrite]:
    """The first rewrites of each function, so that one long function does not hide the others."""
    functions = {r.function: 0 for r in found}
    most = max(MOST_REWRITES // max(len(functions), 1), 2)
    for rewrite in found:
        functions[rewrite.function] += 1
        if functions[rewrite.function] <= most:
            yield rewrite


def _rewrite(changed: Rewrite, named: bool) -> Message:
    """The sentence of a rewrite; its function is `named` where the file has several."""
    args = {
        "function": _short(changed.function) if named else "",
        "target": changed.target,
        "before": changed.before,
        "after": changed.after,
    }
    match changed.kind:
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
        case _:
            return Message("paste-rewrite", args)


def _test_names(change: FileChange, draft: Draft) -> list[str]:
    """Test functions of the head in which a line was added, else those around the change."""
    unit = draft.change.unit(change.head_path) if change.head_path else None
    if unit is None:
        return []
    named = {f.qualname: None for n in sorted(change.head_lines()) if (f := unit.function_at(n))}
    tests = [n for n in named if n.rpartition(".")[2].startswith("test")]
    return tests or list(named)


def _commands(draft: Draft) -> Iterator[str | Line]:
    """How to run the tests that the change touches; they are the only commands it proves to
    exist.
    """
    named = [f.path for f in draft.tests if _SCRIPT.fullmatch(PurePosixPath(f.path).name)]
    # End-to-end tests need a model and a machine; they are named only where there is nothing else.
    scripts = [p for p in named if not draft.config.is_e2e(p)] or named
    if scripts:
        yield "\n".join(
            ("```bash", f"python -m pytest {' '.join(sorted(scripts)[:MOST_NAMES])}", "```")
        )
    else:
        yield Line(Message("paste-no-command" if draft.sources else "paste-no-usage"))


def _accuracy(draft: Draft) -> Line:
    if not draft.sources:
        return Line(Message("paste-accuracy-untouched"))
    names = [
        _short(f.name)
        for f in draft.facts.functions
        if f.what != "removed" and not f.name.isupper()
    ]
    more = max(len(names) - MOST_IN_SENTENCE, 0)
    return Line(
        Message("paste-accuracy-open", {"names": names[:MOST_IN_SENTENCE], "more": more}), PENDING
    )
