"""Small CI runs in memory for the tests of `checks.ci`."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from difflib import SequenceMatcher

from checks.ci.model import CIRun, Conclusion, Job, LogState, Pull, Requirement, Revisions
from checks.core.change import ChangeSet, FileChange, Hunk
from checks.core.tree import MemoryTree

NOW = datetime(2026, 6, 10, 12, tzinfo=UTC)


class Files:
    """The documents of a run, held in memory."""

    def __init__(self, **files):
        self.files = {k: v.encode() if isinstance(v, str) else v for k, v in files.items()}

    def open(self, name):
        return io.BytesIO(self.files[name]) if name in self.files else None


def job(id="1", name="unit", **fields):
    """A required job that failed, with the log `log` unless told otherwise."""
    given = {
        "requirement": Requirement.REQUIRED,
        "conclusion": Conclusion.FAILURE,
        "runner": "gpu-3",
        "log": "log",
        "log_state": LogState.PRESENT,
    }
    return Job(id, name, **{**given, **fields})


def run(*jobs, **fields):
    given = {
        "pull": Pull("octo/engine", 7, author="ann"),
        "revisions": Revisions("head", "base", "fork"),
    }
    return CIRun(collected=NOW, jobs=jobs, **{**given, **fields})


def change(base, head):
    """The change from `base` to `head` (path -> text)."""
    files = []
    for path in sorted({*base, *head}):
        if base.get(path) != head.get(path):
            files.append(_file(path, base.get(path), head.get(path)))
    return ChangeSet(MemoryTree(base), MemoryTree(head), tuple(files))


def _file(path, before, after):
    if before is None:
        return FileChange("A", None, path, _hunks("", after))
    if after is None:
        return FileChange("D", path, None, _hunks(before, ""))
    return FileChange("M", path, path, _hunks(before, after))


def _hunks(before, after):
    matcher = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    hunks = []
    for kind, old, old_end, new, new_end in matcher.get_opcodes():
        if kind != "equal":
            hunks.append(Hunk(old + 1, old_end - old, new + 1, new_end - new))
    return tuple(hunks)
