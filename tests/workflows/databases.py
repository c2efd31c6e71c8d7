"""A PostgreSQL of a test's own."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.workflows.conftest import free_port, until

# PostgreSQL's word for ending without waiting for those who are connected.
_AT_ONCE = signal.SIGINT
_PR_SET_PDEATHSIG = 1


def missing() -> str:
    """Why no PostgreSQL can be started here; empty where one can."""
    if not all(map(shutil.which, ("initdb", "postgres", "psql"))):
        return "there is no PostgreSQL here"
    users = {one.pw_name for one in pwd.getpwall()}
    return (
        ""
        if os.getuid() or "postgres" in users
        else "PostgreSQL does not run as root, and there is no user for it"
    )


def _end_with_us() -> None:
    """However this process ends, the server does too.

    Where there is no such thing, what follows `yield` sees to it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _AT_ONCE)


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database on a server that lives as long as the `with`, and no longer than
    this process."""
    # PostgreSQL refuses to run as root.
    user: dict[str, Any] = (
        {} if os.getuid() else {"user": "postgres", "group": "postgres", "extra_groups": []}
    )
    # Not in pytest's directory, which another user may not enter.
    directory = Path(tempfile.mkdtemp(prefix="specbot-postgres-"))
    if user:
        shutil.chown(directory, "postgres")
    port = str(free_port())
    init = ["initdb", "-A", "trust", "-U", "specbot", "-N", directory / "db"]
    subprocess.run(init, check=True, capture_output=True, cwd=directory, **user)
    command = ["postgres", "-D", directory / "db", "-p", port, "-k", directory, "-c", "fsync=off"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": directory}
    server = subprocess.Popen(command, preexec_fn=_end_with_us, **quiet, **user)
    ready = [
        "psql",
        "-h",
        "127.0.0.1",
        "-p",
        port,
        "-U",
        "specbot",
        "-d",
        "postgres",
        "-c",
        "CREATE DATABASE specbot",
    ]
    try:
        until(lambda: subprocess.run(ready, capture_output=True).returncode == 0)
        yield f"postgresql://specbot@127.0.0.1:{port}/specbot"
    finally:
        server.send_signal(_AT_ONCE)
        server.wait()
        shutil.rmtree(directory, ignore_errors=True)
