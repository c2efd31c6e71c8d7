"""One review in a process of its own: how long, and how much memory."""

from __future__ import annotations

import json
import os
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
    """Seconds by the clock, seconds of CPU (git's too), and peak resident memory in MB."""

    wall: float
    cpu: float
    memory: float


def review(repo: Path, compared: Range, runs: int) -> Cost:
    """Medians of `runs` processes; the memory is the largest."""
    costs = [_once(repo, compared) for _ in range(runs)]
    return Cost(median(c.wall for c in costs), median(c.cpu for c in costs), max(c.memory for c in costs))


def _once(repo: Path, compared: Range) -> Cost:
    args = ["--repo", str(repo), "--base", compared.base, "--head", compared.head, "--lang", "en", "--no-merge-base"]
    command = [sys.executable, "-m", "bot", "review", *args, "--fail-on", "never", "-o", os.devnull]
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, env=_environment())
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if status:
        raise SystemExit(f"the review of {compared.label} failed: {' '.join(command)}")
    process.returncode = 0
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 1e6)


def stages(repo: Path, compared: Range, runs: int) -> tuple[dict[str, dict[str, float]], set[str]]:
    """Milliseconds of CPU in each stage and in each rule, medians of `runs` processes; and the files parsed."""
    command = [sys.executable, "-m", "tests.bench.stages", str(repo), compared.base, compared.head]
    found = [
        json.loads(subprocess.run(command, cwd=ROOT, env=_environment(), check=True, capture_output=True).stdout)
        for _ in range(runs)
    ]
    spent = {group: {n: median(f[group][n] for f in found) for n in found[0][group]} for group in ("stages", "rules")}
    return spent, set(found[0]["parsed"])


def _environment() -> dict[str, str]:
    """Ours, but with bytecode kept on disk, as an installed package has it."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
