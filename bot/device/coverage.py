"""Which lines of device code the tests reached, as gcov counts them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from bot.device.workspace import Workspace
from bot.reports.device_run import CoveredLines, SideBuild
from checks.core.change import ChangeSet

_LONGEST = 120.0
_LARGEST = 64 << 20


def covered_lines(workspace: Workspace, build: SideBuild) -> tuple[CoveredLines, ...]:
    """The lines of the sources, added up over all processes that ran them."""
    gcov = shutil.which("gcov")
    if gcov is None:
        return ()
    wanted = {source.path for source in build.sources if source.library}
    totals: dict[str, dict[int, int]] = {}
    output = Path(next(iter(build.libraries))).parent if build.libraries else workspace.folder
    for notes in sorted(output.glob("tree-*/object.gcno")):
        for job in sorted((workspace.folder / "jobs").glob("covered-*")):
            data = job / "out" / str(notes.with_suffix(".gcda")).lstrip("/")
            if data.is_file() and not data.is_symlink():
                _add(totals, wanted, _gcov(gcov, notes, data, workspace.folder))
    return tuple(CoveredLines(path, counts) for path, counts in sorted(totals.items()))


def _gcov(gcov: str, notes: Path, data: Path, folder: Path) -> list[dict[str, object]]:
    """What gcov says of one process's counts; nothing where the file is not what it should be."""
    shutil.copyfile(data, notes.with_suffix(".gcda"))
    command = [gcov, "--stdout", "--json-format", str(notes.with_suffix(".gcda"))]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=_LONGEST, check=False
        )
        files = json.loads(done.stdout[:_LARGEST])["files"]
    except (subprocess.TimeoutExpired, ValueError, KeyError, TypeError):
        return []
    return list(files) if isinstance(files, list) else []


def _add(
    totals: dict[str, dict[int, int]], wanted: set[str], files: Iterable[dict[str, object]]
) -> None:
    for file in files:
        path = str(file["file"])
        if path not in wanted:
            continue
        counts = totals.setdefault(path, {})
        lines = file["lines"]
        assert isinstance(lines, list)
        for line in lines:
            number = int(line["line_number"])
            counts[number] = counts.get(number, 0) + int(line["count"])


def changed_lines(
    change: ChangeSet, covered: Sequence[CoveredLines]
) -> Iterator[tuple[str, int, int]]:
    """Runs of changed lines that have code and that nothing reached: path, first and last line."""
    for source in covered:
        file = change.changed(source.path)
        if file is None:
            continue
        missed = [line for line in file.head_lines() if source.counts.get(line) == 0]
        for _, group in groupby(enumerate(sorted(missed)), lambda pair: pair[1] - pair[0]):
            run = [line for _, line in group]
            yield source.path, run[0], run[-1]
