"""A review, in a process of its own: it needs a whole core, reads what strangers wrote, and must be
stoppable.

Every such process is forked from `python -m bot.sandbox.forkserver`, which has neither the
environment nor the secrets of the service.
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

from bot.git.revisions import Range
from bot.packaging import import_folder, module_name

Json = dict[str, Any]
# Seconds: twenty times what the largest change we know takes.
LONGEST = 600.0
_PRIORITY = 10
# Seconds between two questions whether the result is still wanted.
_POLL = 0.5
_CHUNK = 1 << 20
_KEPT_VARIABLES = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")


class JobFailed(Exception):
    """The child ended without a result: our own mistake, or out of memory."""


class JobStopped(Exception):
    """The result was no longer wanted."""


def run_review(
    clone: Path, compared: Range, facts: Json, language: str, still_wanted: Callable[[], bool]
) -> Json:
    """Review the change in `clone` of a pull request with the `title`, `body`, `target` and
    `page` of `facts`.

    Where its `posting` is `bugs`, the payload has nothing else. Gives `payload` and `report`, or
    `error` with a sentence's key and arguments. Raises as `run_job` does.
    """
    job = _job(clone, compared, facts) | {"language": language, "page": facts.get("page", "")}
    job["posting"] = facts.get("posting", "all")
    return run_job("review", job, still_wanted)


def render_pages(
    clone: Path, compared: Range, facts: Json, still_wanted: Callable[[], bool]
) -> dict[str, dict[str, str]]:
    """The bodies of the pull request's pages, by kind and language; raises as `run_job` does.

    `facts` has `threads` and `pushes` besides, for `bot.sandbox.programs.pages`.
    """
    job = _job(clone, compared, facts)
    job |= {"threads": facts["threads"], "pushes": facts["pushes"]}
    return run_job("pages", job, still_wanted)


def render_analysis_page(clone: Path, compared: Range, facts: Json) -> dict[str, str]:
    """The body of the page with the discussion alone, by language. Raises `JobFailed`.

    `facts` has `threads` besides.
    """
    job = _job(clone, compared, facts) | {"threads": facts["threads"]}
    return dict(run_job("analysis", job)["analysis"])


def _job(clone: Path, compared: Range, facts: Json) -> Json:
    described = {name: facts[name] for name in ("title", "body", "target", "skips")}
    # A review that was begun by an older version has no such fact.
    described["web"] = facts.get("web", "")
    return {"clone": str(clone), "base": compared.base, "head": compared.head, **described}


class ForkServerClient:
    """The connection to the process that children are forked from.

    The process is started when it is first needed, and again when it has died. It ends when the
    connection is closed, by whatever end this process comes to. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def fork(self) -> socket.socket:
        """A child that waits for its job at the other end of the socket."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                self._hand_over(theirs)
            except OSError:
                # The process has died.
                self._connection = None
                self._hand_over(theirs)
        return ours

    def close(self) -> None:
        """End the process, and wait for its end."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._process is not None:
                self._process.wait()
                self._process = None

    def _hand_over(self, child_end: socket.socket) -> None:
        if self._connection is None:
            self._process, self._connection = _start_fork_server()
        socket.send_fds(self._connection, [b"j"], [child_end.fileno()])


def _start_fork_server() -> tuple[subprocess.Popen[bytes], socket.socket]:
    env = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    env |= {"PYTHONPATH": str(import_folder()), "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-m", module_name("bot.sandbox.forkserver")]
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(command, stdin=theirs.fileno(), env=env)
    # Webhooks and commands are answered first. Children have their parent's priority.
    own_priority = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, process.pid, own_priority + _PRIORITY)
    # Somebody has to ask how it ended, or it stays in the system's table of processes.
    threading.Thread(target=process.wait, daemon=True).start()
    return process, ours


FORK_SERVER = ForkServerClient()


def run_job(
    program: str,
    job: Json,
    still_wanted: Callable[[], bool] = lambda: True,
    longest: float = LONGEST,
) -> Json:
    """What the program of `bot.sandbox.forkserver` makes of a job within `longest` seconds.

    Raises `JobFailed` when the child breaks or takes too long, and `JobStopped` when
    `still_wanted`, which is asked twice a second, says no; the child is killed then.
    """
    with FORK_SERVER.fork() as child:
        try:
            child.sendall(json.dumps([program, job]).encode())
            child.shutdown(socket.SHUT_WR)
            reply = _read_reply(child, still_wanted, longest)
        except OSError as error:
            raise JobFailed(f"the analysis could not be reached: {error}") from None
    output, _, status = reply.rpartition(b"\n")
    if status != b"0":
        shown = status[:20].decode("ascii", "replace") or "nothing"
        raise JobFailed(f"the analysis ended with {shown}")
    result: Json = json.loads(output)
    return result


def _read_reply(child: socket.socket, still_wanted: Callable[[], bool], longest: float) -> bytes:
    """All that comes until the other end closes."""
    reply = bytearray()
    deadline = time.monotonic() + longest
    next_question = time.monotonic() + _POLL
    child.settimeout(_POLL)
    while True:
        try:
            chunk = child.recv(_CHUNK)
        except TimeoutError:
            pass
        else:
            if not chunk:
                return bytes(reply)
            reply += chunk
        now = time.monotonic()
        if now > deadline:
            raise JobFailed(f"the analysis took more than {longest:.0f} s")
        if now > next_question:
            next_question = now + _POLL
            if not still_wanted():
                raise JobStopped
