"""The cases of `spread_cases.py`, in a process without other threads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CASES = Path(__file__).with_name("spread_cases.py")


def test_work_is_shared_out_over_two_processes() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        str(CASES),
    ]
    done = subprocess.run(command, cwd=CASES.parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
