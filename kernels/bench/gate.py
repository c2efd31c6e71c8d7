"""The green-test gate: an op's speed is only worth printing if the op is right, on this machine, in
this run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Outcome:
    """What the tests of one op said."""

    op: str
    green: bool
    passed: int
    failed: int
    skipped: int
    seconds: float
    said: str  # the first failure, or why nothing ran

    def record(self) -> dict[str, object]:
        """As it stands in the results file."""
        return asdict(self)


def run_tests(ops: list[str], examples: int, jobs: int) -> dict[str, Outcome]:
    """Runs ``tests/kernels/test_<op>*.py`` of every op in one pytest process, ``examples`` cases a
    property."""
    files = {op: sorted((ROOT / "tests" / "kernels").glob(f"test_{op}*.py")) for op in ops}
    chosen = [str(file.relative_to(ROOT)) for found in files.values() for file in found]
    started = time.monotonic()
    cases: list[ElementTree.Element] = []
    said = "no tests were found"
    if chosen:
        cases, said = _pytest(chosen, examples, jobs)
    seconds = time.monotonic() - started
    return {op: _outcome(op, cases, seconds, said) for op in ops}


def _pytest(files: list[str], examples: int, jobs: int) -> tuple[list[ElementTree.Element], str]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "junit.xml"
        # A line for each test as it ends: a run that is stopped has told by then what had failed.
        command = [sys.executable, "-m", "pytest", "-v", f"--junitxml={report}", *files]
        if jobs > 1:
            command += ["-n", str(jobs), "--dist", "worksteal"]
        environment = os.environ | {"KERNEL_EXAMPLES": str(examples)}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr, check=False)
        if not report.exists():
            return [], f"pytest stopped with exit code {done.returncode} and left no report"
        return list(ElementTree.parse(report).getroot().iter("testcase")), ""


def _outcome(op: str, cases: list[ElementTree.Element], seconds: float, said: str) -> Outcome:
    own = [case for case in cases if f".test_{op}" in case.get("classname", "")]
    failed = [c for c in own if c.find("failure") is not None or c.find("error") is not None]
    skipped = [c for c in own if c.find("skipped") is not None]
    passed = len(own) - len(failed) - len(skipped)
    if failed:
        problem = failed[0].find("failure")
        problem = problem if problem is not None else failed[0].find("error")
        said = f"{failed[0].get('name')}: {(problem.get('message') or '').splitlines()[0][:200]}"
    return Outcome(op, passed > 0 and not failed, passed, len(failed), len(skipped), seconds, said)
