"""A PostgreSQL of a test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.service.conftest import free_port, until


def missing() -> str:
    """Why no PostgreSQL can be started here; empty where one can."""
    if not all(map(shutil.which, ("initdb", "postgres", "psql"))):
        return "there is no PostgreSQL here"
    # PostgreSQL refuses to run as root.
    other = shutil.which("runuser") and not subprocess.run(["id", "postgres"], capture_output=True).returncode
    return "" if os.getuid() or other else "PostgreSQL does not run as root, and there is no user for it"


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database on a server that lives as long as the `with`."""
    as_user = [] if os.getuid() else ["runuser", "-u", "postgres", "--"]
    # Not in pytest's directory, which another user may not enter.
    directory = Path(tempfile.mkdtemp(prefix="specbot-postgres-"))
    if as_user:
        shutil.chown(directory, "postgres")
    port = str(free_port())
    init = ["initdb", "-A", "trust", "-U", "specbot", "-N", directory / "db"]
    subprocess.run([*as_user, *init], check=True, capture_output=True)
    command = [*as_user, "postgres", "-D", directory / "db", "-p", port, "-k", directory, "-c", "fsync=off"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ready = ["psql", "-h", "127.0.0.1", "-p", port, "-U", "specbot", "-d", "postgres", "-c", "CREATE DATABASE specbot"]
    try:
        until(lambda: subprocess.run(ready, capture_output=True).returncode == 0)
        yield f"postgresql://specbot@127.0.0.1:{port}/specbot"
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(directory, ignore_errors=True)
