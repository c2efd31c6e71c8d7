"""What is compiled for one test is there for all, whichever of pytest's workers runs them."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="session")
def once(of_this_run: Path) -> Callable[[str, Callable[[], Any]], Any]:
    """Asks for what has a name, whichever worker comes first: the others get its answer."""

    def ask(name: str, make: Callable[[], Any]) -> Any:
        answer = of_this_run / f"{name}.json"
        with (of_this_run / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not answer.exists():
                answer.write_text(json.dumps(make()), encoding="utf-8")
        return json.loads(answer.read_text("utf-8"))

    return ask
