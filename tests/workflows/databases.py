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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from bot.db.engine import engine_for
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


def _server_user() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    return {} if os.getuid() else {"user": "postgres", "group": "postgres", "extra_groups": []}


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database on a server that lives as long as the `with`, and no longer than
    this process."""
    user = _server_user()
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


@dataclass(frozen=True)
class StoppedServer:
    """A PostgreSQL server that ended: how it was started, and where its data is."""

    command: list[str]
    data: Path

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """It runs again until the end of the `with`."""
        server = self.start()
        try:
            yield server
        finally:
            server.send_signal(_AT_ONCE)
            server.wait()

    def start(self) -> subprocess.Popen[bytes]:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.data}
        return subprocess.Popen(self.command, preexec_fn=_end_with_us, **quiet, **_server_user())


def kill_server(url: str) -> StoppedServer:
    """End the server of `url` at once, as in a power cut."""
    engine = engine_for(url)
    try:
        with engine.connect() as connection:
            data = Path(connection.execute(sa.text("SHOW data_directory")).scalar_one())
    finally:
        engine.dispose()
    command = (data / "postmaster.opts").read_text().replace('"', "").split()
    process = int((data / "postmaster.pid").read_text().split()[0])
    os.kill(process, signal.SIGQUIT)
    until(lambda: not (data / "postmaster.pid").exists() or _is_gone(process), 30)
    return StoppedServer(command, data)


def _is_gone(process: int) -> bool:
    """Whether it has ended, whether or not its parent asked how."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1][0] == "Z"
    except OSError:
        return True
