"""One test file of a repository, run unmodified by pytest on the emulated ops."""

from __future__ import annotations

import importlib
import random
import runpy
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from kernels.emulator.discovery import hardware_of
from kernels.emulator.events import Events
from kernels.emulator.job_ops import load_library, unloaded
from kernels.emulator.library import Library, OpError
from kernels.emulator.ops_modules import OpsFinder, modules_with_ops
from kernels.emulator.recording import Recorder
from kernels.emulator.session import SESSION
from kernels.emulator.standins import NotEmulated
from kernels.emulator.torch_tests import emulated_torch, uses_torch

_LONGEST_TEXT = 4000
# What a test needs that this machine does not have, or that no stand-in has.
_NOT_RUN = (NotEmulated, ImportError)
# A fixture of a `conftest.py`, which is not read: it prepares engines and models.
_NO_FIXTURE = "FixtureLookupError"


def run_tests(job: dict[str, Any]) -> None:
    """Run `job["test"]` and write an event a line to `job["events"]`."""
    root = Path(job["root"])
    test = root / job["test"]
    SESSION.seed = job.get("seed", 0)
    SESSION.hardware = hardware_of(job["test"])
    # A test that draws its inputs without a seed draws the same ones every time.
    random.seed(0)
    np.random.seed(0)
    events = Events(Path(job["events"]))
    if uses_torch(test.read_text("utf-8")):
        with emulated_torch(job, root, test) as library:
            _run_pytest(job, root, test, events, library)
        seen = library.observations().barriers
        barriers = {op: list(seen) for op in job["ops"]} if seen else {}
        events.write({"event": "end", "barriers": barriers})
        return
    try:
        library = _prepare_paddle(job, root, test)
    except OSError as error:
        # A source that is changed may need what no source defines any more: that is its failure.
        failed = {"event": "case", "case": "the whole file", "outcome": "failed", "kind": "device"}
        events.write({**failed, "why": unloaded(error)})
        events.write({"event": "end", "barriers": {}})
        return
    _run_pytest(job, root, test, events, library)
    events.write({"event": "end", "barriers": SESSION.barriers})


def _prepare_paddle(job: dict[str, Any], root: Path, test: Path) -> Library:
    """Paddle's stand-in, and the modules that the test imports ops from."""
    # Tests for other hardware only show inputs here: whether a copy can be linked is not asked.
    library = SESSION.library = load_library(job, namesakes=SESSION.hardware == "xpu")
    importlib.import_module("kernels.emulator.standins.paddle")
    ops = set(SESSION.ops()) | set(job["refusals"])
    modules = modules_with_ops(test, ops)
    sys.meta_path.insert(0, OpsFinder(root, modules, job["refusals"]))
    sys.path.insert(0, str(root))
    if job.get("record"):
        recorder = Recorder(Path(job["record"]), lambda op: SESSION.ops()[op].parameters)
        SESSION.watchers.append(recorder.record)
    return library


def _run_pytest(
    job: dict[str, Any], root: Path, test: Path, events: Events, library: Library
) -> None:
    try:
        import pytest
    except ImportError:
        why = "pytest is not installed beside specbot"
        events.write({"event": "case", "case": "the whole file", "outcome": "not_run", "why": why})
        return
    # What the sanitizers say comes from below Python: only sys.stderr is caught.
    options = [
        "-q",
        "--capture=sys",
        "--noconftest",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
    ]
    options += ["-c", "/dev/null", "--rootdir", str(root), "--tb=short", str(test)]
    reporter = _Reporter(events, job, library)
    pytest.main(options, plugins=[reporter])
    if not reporter.passed and not job["left_out"] and _is_script(test):
        _run_script(test, reporter)


def _is_script(test: Path) -> bool:
    """Whether the file's own `__main__` block makes the calls, in place of a test runner."""
    _, block, body = test.read_text("utf-8").partition("\nif __name__ ==")
    return bool(block) and "unittest.main" not in body and "pytest.main" not in body


def _run_script(test: Path, reporter: _Reporter) -> None:
    """Run a file as its author does: `python test_op.py`."""
    nodeid = f"{test.name}::as a script"
    reporter.pytest_runtest_logstart(nodeid)
    try:
        runpy.run_path(str(test), run_name="__main__")
    except SystemExit as ended:
        if ended.code:
            reporter.failed(nodeid, ended, _line_of(ended, test))
        else:
            reporter.end(nodeid, "passed")
    # Whatever the script raises is its result.
    except Exception as error:
        reporter.failed(nodeid, error, _line_of(error, test))
    else:
        reporter.end(nodeid, "passed")


def _line_of(error: BaseException, test: Path) -> int:
    """The script's last line that the error came through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno or 0 for frame in frames if frame.filename == str(test)]
    return lines[-1] if lines else 0


class _Reporter:
    """Tells of each case when it begins and how it ended; `passed` counts.

    The job says how many cases of a function are enough, and which are left out altogether.
    """

    def __init__(self, events: Events, job: dict[str, Any], library: Library) -> None:
        self.passed = 0
        self._events = events
        self._most_cases = job["most_cases"]
        self._left_out = set(job["left_out"])
        self._library = library
        self._started = time.monotonic()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave some cases of each function, taken evenly, and tell of the others' number."""
        if self._most_cases:
            self._leave_some(items)
        cases = [_case(item.nodeid) for item in items]
        self._events.write({"event": "collected", "cases": cases})
        items[:] = [item for item in items if _case(item.nodeid) not in self._left_out]

    def _leave_some(self, items: list[Any]) -> None:
        functions: dict[str, list[Any]] = {}
        for item in items:
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
        items.clear()
        for name, cases in functions.items():
            step = max(-(-len(cases) // self._most_cases), 1)
            items += cases[::step]
            others = len(cases) - len(cases[::step])
            if others:
                self.end(f"{name}[{others} others]", "not_run", "left out by --cases")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._started = time.monotonic()
        SESSION.called.clear()
        self._library.take_missing()
        self._events.write({"event": "start", "case": _case(nodeid)})

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.excinfo is None:
            if call.when == "call":
                self.end(item.nodeid, "passed")
            return
        self.failed(item.nodeid, call.excinfo.value, _line(call.excinfo))

    def pytest_exception_interact(self, node: Any, call: Any, report: Any) -> None:
        if hasattr(node, "obj") and report.__class__.__name__ == "TestReport":
            return
        self.failed(node.nodeid, call.excinfo.value, _line(call.excinfo))

    def failed(self, nodeid: str, error: BaseException, line: int) -> None:
        """A case that raised `error`, at a line of the test's file."""
        text = _describe(error)[-_LONGEST_TEXT:]
        if error.__class__.__name__ in ("Skipped", "SkipTest"):
            self.end(nodeid, "not_run", text)
        elif _is_missing(error):
            self.end(nodeid, "not_run", f"{type(error).__name__}: {text}")
        elif missing := self._library.take_missing():
            # What an op of PyTorch raises, and what a test makes of it, says this no longer.
            self.end(nodeid, "not_run", f"NotEmulated: {missing}")
        else:
            kind = "device" if isinstance(error, OpError) else "assertion"
            self.end(nodeid, "failed", f"{type(error).__name__}: {text}", kind, line)

    def end(self, nodeid: str, outcome: str, why: str = "", kind: str = "", line: int = 0) -> None:
        """How a case ended."""
        self.passed += outcome == "passed"
        seconds = round(time.monotonic() - self._started, 3)
        self._events.write(
            {
                "event": "case",
                "case": _case(nodeid),
                "outcome": outcome,
                "why": why,
                "kind": kind,
                "line": line,
                "seconds": seconds,
                "ops": sorted(SESSION.called),
            }
        )


def _case(nodeid: str) -> str:
    """The test's name within its file."""
    return nodeid.partition("::")[2] or "the whole file"


def _is_missing(error: BaseException | None) -> bool:
    """Whether an error comes from something that is not there."""
    seen = error
    while seen is not None:
        if isinstance(seen, _NOT_RUN) or type(seen).__name__ == _NO_FIXTURE:
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _describe(error: BaseException) -> str:
    """What an error says; of a file that could not be imported, what its cause says."""
    text = str(error)
    causes = [line[1:].strip() for line in text.splitlines() if line.startswith("E  ")]
    is_import = type(error).__name__ == "CollectError"
    return causes[-1] if is_import and causes else text


def _line(excinfo: Any) -> int:
    """The line of the test file that the error came through."""
    for entry in excinfo.traceback:
        path = str(entry.path)
        if Path(path).name.startswith("test_"):
            return int(entry.lineno) + 1
    return 0
