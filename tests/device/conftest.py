"""What is compiled for one test is there for all, whichever of pytest's workers runs them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all of pytest's workers have in common."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "device"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def cache(of_this_run: Path) -> Path:
    """Where the emulator keeps what it has compiled."""
    return of_this_run / "cache"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """No other worker is in the same `with` at the same time."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
