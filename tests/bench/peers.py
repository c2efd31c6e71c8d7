"""What a review is measured beside: the same files read by `semgrep` with one pattern, and parsed
alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.bench.scratch import Scratch

ROOT = Path(__file__).resolve().parents[2]
# `make bench` installs it there: its packages do not go with ours.
SEMGREP = ROOT / "build" / "semgrep" / "bin" / "semgrep"
# One pattern that both languages have, and that matches often enough to be looked for everywhere.
RULES = """rules:
  - id: subtract-one
    message: one less
    severity: INFO
    languages: [python, cpp]
    pattern: $X - 1
"""


def semgrep_command(folder: Path) -> list[str] | None:
    """The command that searches `folder` in one process, None where semgrep is not installed."""
    program = SEMGREP if SEMGREP.exists() else shutil.which("semgrep")
    if program is None:
        return None
    rules = folder.with_suffix(".yaml")
    rules.write_text(RULES, "utf-8")
    options = ("--metrics=off", "--disable-version-check", "--quiet", "--jobs=1", "--no-git-ignore")
    return [str(program), "scan", *options, "--config", str(rules), str(folder)]


def parse_command(folder: Path) -> list[str]:
    """The command that parses every file of `folder` with `ast` or tree-sitter, and does nothing
    else."""
    return [sys.executable, "-m", "tests.bench.parse_only", str(folder)]


def write_files(scratch: Scratch, commit: str, paths: set[str], folder: Path) -> None:
    """Write these files of `commit` to `folder`; semgrep knows CUDA by the name of C++."""
    for path in sorted(paths):
        name = path
        if path.endswith((".cu", ".cuh", ".xpu")):
            name += ".cpp"
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(scratch.read(commit, path))


def cpu_of(command: list[str]) -> float:
    """Seconds of CPU, children included."""
    environment = {**os.environ, "SEMGREP_SEND_METRICS": "off"}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed with {process.returncode}: {' '.join(command)}")
    return used.ru_utime + used.ru_stime
