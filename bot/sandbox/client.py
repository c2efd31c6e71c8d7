"""The review itself, in a process of its own: it needs a whole core, reads what strangers wrote, and must be stoppable.

The child is forked from `python -m bot.sandbox.forkserver`, which has neither the environment nor the secrets of the
service.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bot
from bot.git.revisions import Range

Json = dict[str, Any]
# Twenty times what the largest change we know takes.
LONGEST = 600.0
_PRIORITY = 10
# Seconds between two questions whether the result is still wanted.
_ASK = 0.5
_KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")


class JobFailed(Exception):
    """The child ended without a result: our own mistake, or out of memory."""


class JobStopped(Exception):
    """The analysis was no longer wanted."""


def run_review(
    clone: Path, compared: Range, facts: Json, language: str, still_wanted: Callable[[], bool]
) -> Json:
    """Review the change in `clone` of a pull request with `title`, `body` and `target`.

    Gives `payload` and `report`, or `error` with a sentence's key and arguments. Raises `Stopped` when `still_wanted`,
    which is asked twice a second, says no, and `Failed` when the child breaks or takes too long.
    """
    return run_job("review", _job(clone, compared, facts) | {"language": language}, still_wanted)


def render_pages(
    clone: Path, compared: Range, facts: Json, still_wanted: Callable[[], bool]
) -> dict[str, dict[str, str]]:
    """The bodies of the pull request's pages, by kind and language; raises as `analyse` does. `facts` has `threads` and
    `pushes` besides, for `bot.sandbox.programs.pages`."""
    told = {name: facts[name] for name in ("threads", "pushes")}
    return run_job("pages", _job(clone, compared, facts) | told, still_wanted)


def render_analysis_page(clone: Path, compared: Range, facts: Json) -> dict[str, str]:
    """The body of the page with the discussion alone, by language. Raises `Failed`. `facts` has `threads` besides."""
    told = {"threads": facts["threads"]}
    return dict(run_job("analysis", _job(clone, compared, facts) | told)["analysis"])


def _job(clone: Path, compared: Range, facts: Json) -> Json:
    told = {name: facts[name] for name in ("title", "body", "target", "skips")}
    return {"clone": str(clone), "base": compared.base, "head": compared.head, **told}


class ForkServerClient:
    """The way to the process that the children are forked from, which is started when it is first needed and again
    when it has died. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._way: socket.socket | None = None

    def child(self) -> socket.socket:
        """A child that waits for its job at the other end of the socket."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                self._hand(theirs)
            except OSError:
                self._way = None
                self._hand(theirs)
        return ours

    def _hand(self, theirs: socket.socket) -> None:
        self._way = self._way or start_fork_server()
        socket.send_fds(self._way, [b"j"], [theirs.fileno()])


def start_fork_server() -> socket.socket:
    """Start the process, and give the way to it. It ends when that is closed, by whatever end this process comes to."""
    env = {name: os.environ[name] for name in _KEPT if name in os.environ}
    env |= {"PYTHONPATH": str(Path(bot.__file__).parent.parent), "LC_ALL": "C.UTF-8"}
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot.sandbox.forkserver"], stdin=theirs.fileno(), env=env
        )
    # Webhooks and commands are answered first. Children have their parent's priority.
    os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + _PRIORITY)
    threading.Thread(target=process.wait, daemon=True).start()
    return ours


_FORK_SERVER = ForkServerClient()


def run_job(
    program: str,
    job: Json,
    still_wanted: Callable[[], bool] = lambda: True,
    longest: float = LONGEST,
) -> Json:
    """What the program of `bot.sandbox.forkserver` makes of a job within `longest` seconds. Raises `Failed`, and
    `Stopped` when `still_wanted` says no; the child is killed then."""
    with _FORK_SERVER.child() as there:
        try:
            there.sendall(json.dumps([program, job]).encode())
            there.shutdown(socket.SHUT_WR)
            said = _read_reply(there, still_wanted, longest)
        except OSError as error:
            raise JobFailed(f"the analysis could not be reached: {error}") from None
    out, _, status = said.rpartition(b"\n")
    if status != b"0":
        raise JobFailed(
            f"the analysis ended with {status[:20].decode('ascii', 'replace') or 'nothing'}"
        )
    made: Json = json.loads(out)
    return made


def _read_reply(there: socket.socket, still_wanted: Callable[[], bool], longest: float) -> bytes:
    """All that comes until the other end closes."""
    end, asked, out = time.monotonic() + longest, time.monotonic(), bytearray()
    there.settimeout(_ASK)
    while True:
        try:
            chunk = there.recv(1 << 20)
        except TimeoutError:
            chunk = None
        if chunk == b"":
            return bytes(out)
        out += chunk or b""
        if (now := time.monotonic()) > end:
            raise JobFailed(f"the analysis took more than {longest:.0f} s")
        if now > asked + _ASK:
            asked = now
            if not still_wanted():
                raise JobStopped
