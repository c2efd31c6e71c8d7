"""What holds for every test: it leaves the process as it found it."""

from __future__ import annotations

import gc
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

ROOT = Path(__file__).resolve().parent.parent
_KEPT_BY_TOOLS = {".hypothesis", ".pytest_cache", ".import_linter_cache", "__pycache__", "build"}
# pytest's own note of the test that runs.
_PYTEST_VARIABLE = "PYTEST_CURRENT_TEST"
# Python starts it once for all pools of a process, and it ends with the process.
_RESOURCE_TRACKER = "multiprocessing.resource_tracker"
# Seconds that what was told to end may still take.
_GRACE = 5.0
Left = TypeVar("Left")


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: many tests wait for the service, which is another process."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True)
def leaves_nothing_behind() -> Iterator[None]:
    """Fail the test that leaves a changed environment or folder, a file in the checkout, or a
    thread or a process that lives.

    What fixtures of a larger scope have started is there before, and stays.
    """
    environment = _environment()
    folder = os.getcwd()
    files = _files_of_checkout()
    threads = set(threading.enumerate())
    processes = set(_child_processes())
    yield
    # A review switches it off for its process, which here goes on to other tests.
    gc.enable()
    changed = _changes(environment, _environment())
    returned_to = os.getcwd()
    os.chdir(folder)
    assert changed == [], f"the test changed these variables of the environment: {changed}"
    assert returned_to == folder, f"the test left the process in {returned_to}"
    left = sorted(_files_of_checkout() - files)
    assert left == [], f"the test left these files in the checkout: {left}"
    assert _left_of(_new_threads(threads), _lives) == []
    assert [_command_line(p) for p in _left_of(_new_processes(processes), _command_line)] == []


@pytest.fixture(scope="session")
def fork_server() -> Iterator[None]:
    """The process from which reviews are forked, for tests that run one in this process: it takes a
    second to start, and stays for all of them."""
    # Not for every test: those of the kernels run on a GPU machine that has torch, and none of what
    # a review needs.
    from bot.sandbox.client import FORK_SERVER

    FORK_SERVER.fork().close()
    yield
    FORK_SERVER.close()


def _files_of_checkout() -> set[str]:
    """What stands at the top of the checkout, without what Python and pytest keep there."""
    return {path.name for path in ROOT.iterdir()} - _KEPT_BY_TOOLS


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    environment.pop(_PYTEST_VARIABLE, None)
    # Python looks up the variable once, and remembers what it said.
    environment["TMPDIR"] = tempfile.gettempdir()
    return environment


def _changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    names = sorted(before.keys() | after.keys())
    return [name for name in names if before.get(name) != after.get(name)]


def _new_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    return [thread for thread in set(threading.enumerate()) - before if not thread.daemon]


def _lives(thread: threading.Thread) -> bool:
    return thread.is_alive()


def _new_processes(before: set[int]) -> list[int]:
    """The children that live and were not there before."""
    new = [child for child in _child_processes() if child not in before]
    return [child for child in new if _RESOURCE_TRACKER not in _command_line(child)]


def _child_processes() -> Iterator[int]:
    """The ids of this process's children, where the system tells of them in `/proc`."""
    for listing in Path("/proc/self/task").glob("*/children"):
        try:
            children = listing.read_text("ascii").split()
        except OSError:
            continue  # a thread that has ended since
        yield from (int(child) for child in children)


def _command_line(process: int) -> str:
    """Empty for a process that has ended, whether or not anybody asked how."""
    try:
        data = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    return data.replace(b"\0", b" ").decode("utf-8", "replace").strip()


def _left_of(found: list[Left], lives: Callable[[Left], object]) -> list[Left]:
    """Those that still live when they have had time to end.

    What began since is none of the test's: a server of the session answers at any time.
    """
    end = time.monotonic() + _GRACE
    left = [one for one in found if lives(one)]
    while left and time.monotonic() < end:
        time.sleep(0.02)
        left = [one for one in left if lives(one)]
    return left
