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
    files = tuple(
        _file(p, base.get(p), head.get(p))
        for p in sorted({*base, *head})
        if base.get(p) != head.get(p)
    )
    return ChangeSet(MemoryTree(base), MemoryTree(head), files)


def _file(path, before, after):
    old, new = ((text or "").splitlines() for text in (before, after))
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    hunks = tuple(Hunk(a + 1, b - a, c + 1, d - c) for kind, a, b, c, d in steps if kind != "equal")
    status = "A" if before is None else "D" if after is None else "M"
    return FileChange(
        status, path if before is not None else None, path if after is not None else None, hunks
    )
