"""One review in a process of its own: how long, and how much memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.bench.changes import Range

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, seconds of CPU (git's too), and the most memory in MB that the review's own processes had
    together, pages that they share counted once (0 where there is no `/proc`)."""

    wall: float
    cpu: float
    memory: float


def review(repo: Path, compared: Range, runs: int) -> Cost:
    """Medians of `runs` processes; the memory is that of one more, which is watched."""
    costs = [_once(repo, compared) for _ in range(runs)]
    return Cost(median(c[0] for c in costs), median(c[1] for c in costs), _memory(repo, compared))


def _started(repo: Path, compared: Range) -> subprocess.Popen[bytes]:
    args = [
        "--repo",
        str(repo),
        "--base",
        compared.base,
        "--head",
        compared.head,
        "--lang",
        "en",
        "--no-merge-base",
    ]
    command = [sys.executable, "-m", "bot", "review", *args, "--fail-on", "never", "-o", os.devnull]
    return subprocess.Popen(command, cwd=ROOT, env=_environment())


def _once(repo: Path, compared: Range) -> tuple[float, float]:
    """(seconds by the clock, seconds of CPU)."""
    started = time.perf_counter()
    process = _started(repo, compared)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if status:
        raise SystemExit(f"the review of {compared.label} failed: {process.args}")
    process.returncode = 0
    return wall, used.ru_utime + used.ru_stime


def _memory(repo: Path, compared: Range) -> float:
    process = _started(repo, compared)
    most = 0.0
    while process.poll() is None:
        most = max(most, _resident(process.pid))
        time.sleep(0.01)
    return most


def _resident(pid: int) -> float:
    """MB of a process and of what was forked from it; not of git, which is another program."""
    folder = Path("/proc", str(pid))
    try:
        program = os.readlink(folder / "exe")
        found = re.search(r"^Pss:\s+(\d+) kB", (folder / "smaps_rollup").read_text(), re.MULTILINE)
        below = (folder / "task" / str(pid) / "children").read_text().split()
        same = [int(child) for child in below if os.readlink(f"/proc/{child}/exe") == program]
    except OSError:  # it has just ended
        return 0.0
    return (int(found[1]) * 1024 / 1e6 if found else 0.0) + sum(map(_resident, same))


def stages(repo: Path, compared: Range, runs: int) -> tuple[dict[str, dict[str, float]], set[str]]:
    """Milliseconds of CPU in each stage and in each rule, medians of `runs` processes; and the files parsed."""
    command = [sys.executable, "-m", "tests.bench.stages", str(repo), compared.base, compared.head]
    found = [
        json.loads(
            subprocess.run(
                command, cwd=ROOT, env=_environment(), check=True, capture_output=True
            ).stdout
        )
        for _ in range(runs)
    ]
    spent = {
        group: {n: median(f[group][n] for f in found) for n in found[0][group]}
        for group in ("stages", "rules")
    }
    return spent, set(found[0]["parsed"])


def _environment() -> dict[str, str]:
    """Ours, but with bytecode kept on disk, as an installed package has it."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
