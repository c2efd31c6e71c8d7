"""Saved CI runs made of the log windows that the tests bundle: each window is the log of one failed
job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tests.ci_logs.windows import SETS, Window, load

MOST_JOBS = 12


def save_runs(folder: Path) -> Iterator[Path]:
    """Write the runs below `folder`, and give the folder of each."""
    for name in SETS:
        windows = load(name)
        for number, start in enumerate(range(0, len(windows), MOST_JOBS)):
            run = folder / f"{name}-{number}"
            (run / "logs").mkdir(parents=True, exist_ok=True)
            jobs = [_save_job(run, window) for window in windows[start : start + MOST_JOBS]]
            (run / "run.json").write_text(json.dumps(_run(jobs), indent=1), "utf-8")
            yield run


def _run(jobs: list[dict[str, object]]) -> dict[str, object]:
    return {
        "version": 1,
        "pull": {"repo": "octo/engine", "number": 7, "title": "Pack meta", "base_branch": "main"},
        "revisions": {"head": "1f" * 20, "merge_base": "9a" * 20},
        "collected": "2026-05-22T13:08:27Z",
        "jobs": jobs,
    }


def _save_job(run: Path, window: Window) -> dict[str, object]:
    log = f"logs/{window.name}.log"
    (run / log).write_text("\n".join(window.lines) + "\n", "utf-8")
    return {
        "id": window.name,
        "name": window.name,
        "requirement": "required",
        "conclusion": "failure",
        "started": "2026-05-22T11:50:01Z",
        "completed": "2026-05-22T13:04:40Z",
        "runner": "gpu-3",
        "log": log,
        "log_state": "present",
    }
