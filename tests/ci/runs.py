"""Small CI runs in memory for the tests of `checks.ci`."""

from __future__ import annotations

import io
from datetime import UTC, datetime

from checks.change import ChangeSet, FileChange, Hunk
from checks.ci.model import CIRun, Conclusion, Job, LogState, Pull, Requirement, Revisions
from checks.tree import MemoryTree

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
    given = {"pull": Pull("octo/engine", 7, author="ann"), "revisions": Revisions("head", "base", "fork")}
    return CIRun(collected=NOW, jobs=jobs, **{**given, **fields})


def change(base, head):
    """The change from `base` to `head` (path -> text); a hunk for each run of differing lines at the same place."""
    files = tuple(_file(p, base.get(p), head.get(p)) for p in sorted({*base, *head}) if base.get(p) != head.get(p))
    return ChangeSet(MemoryTree(base), MemoryTree(head), files)


def _file(path, before, after):
    old, new = ((text or "").split("\n") for text in (before, after))
    lines = [n for n in range(1, len(new) + 1) if n > len(old) or new[n - 1] != old[n - 1]]
    hunks = tuple(Hunk(n, 1, n, 1) for n in lines)
    status = "A" if before is None else "D" if after is None else "M"
    return FileChange(status, path if before is not None else None, path if after is not None else None, hunks)
