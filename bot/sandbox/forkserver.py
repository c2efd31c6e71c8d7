"""`python -m bot.sandbox.forkserver`: the process that the children are forked from.

It has read the programs that they run, once, and has neither the environment nor the secrets of the
service. Its standard input is a socket over which it is handed one socket for each job. The child
reads the job from that, JSON of a program's name and its argument, and writes the result. What
follows is a line with the status that the child ended with.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import structlog

from bot import logs
from bot.i18n.catalog import LANGUAGES, Catalog
from bot.i18n.escape import Html, Markdown
from bot.reports.charts import stacked_bars
from bot.sandbox.programs import ci, device, kernels, pages, review
from checks import registry
from checks.lang.source import parse

PROGRAMS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "review": review.result,
    "pages": pages.pages,
    "analysis": pages.analysis_page,
    "ci": ci.result,
    "kernels": kernels.result,
    "device": device.result,
}
# What these start has limits of its own, and a GPU's driver needs more of an address space than
# there is memory.
_UNLIMITED = ("kernels", "device")
# Bytes: nine times what the largest change we know takes.
_MEMORY = 4 << 30
# The words of nearly every page and review.
_USUAL_WORDS = (
    "words/analysis.toml",
    "words/report.toml",
    "words/evidence.toml",
    "rules/convention*.toml",
)
_PR_SET_PDEATHSIG = 1
_log = structlog.get_logger()
_SOURCES = {"a.cu": b"void f(int *a) { a[0] = 1; }", "a.py": b"def f(a):\n    a[0] = 1\n"}


def prepare() -> None:
    """Read here, once, what the programs need: rules, templates, parsers, fonts."""
    assert registry.RULES
    for language in LANGUAGES:
        for files in _USUAL_WORDS:
            Catalog(language, Html()).prepare(files)
            Catalog(language, Markdown()).prepare(files)
    stacked_bars(["a"], [("b", [1.0])], 1.0)  # the first picture reads fonts
    for path, data in _SOURCES.items():
        unit = parse(path, data)
        assert unit is not None
        assert unit.functions[0].body


@dataclass(frozen=True)
class _Child:
    """A child that works. `ended` is a pipe whose other end is closed when the child has ended."""

    pid: int
    job: socket.socket
    ended: int


class ForkServer:
    """Forks a child for every socket that comes over `control`."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._poll = select.poll()
        self._by_end: dict[int, _Child] = {}
        self._by_job: dict[int, _Child] = {}

    def serve(self) -> None:
        """Work until the other end of `control` is closed; children that still work end with this
        process. A child whose own socket is closed at the other end is killed."""
        self._poll.register(self._control, select.POLLIN)
        while True:
            for ready, _ in self._poll.poll():
                if ready == self._control.fileno():
                    _, handed, _, _ = socket.recv_fds(self._control, 1, 1)
                    if not handed:
                        return
                    self._start(socket.socket(fileno=handed[0]))
                elif ready in self._by_end:
                    self._finish(self._by_end[ready])
                elif ready in self._by_job:
                    self._kill(self._by_job[ready])

    def _start(self, job: socket.socket) -> None:
        others = [child.job for child in self._by_end.values()]
        child = _fork(job, [self._control, *others])
        self._by_end[child.ended] = child
        self._by_job[job.fileno()] = child
        # No event is asked for: that the other end is closed is always told.
        self._poll.register(child.ended, 0)
        self._poll.register(job, 0)

    def _finish(self, child: _Child) -> None:
        self._poll.unregister(child.ended)
        os.close(child.ended)
        del self._by_end[child.ended]
        if self._by_job.pop(child.job.fileno(), None) is not None:
            self._poll.unregister(child.job)
        _report_end(child)

    def _kill(self, child: _Child) -> None:
        """Kill a child that nobody waits for; `_finish` does the rest when it has ended."""
        self._poll.unregister(child.job)
        del self._by_job[child.job.fileno()]
        os.killpg(child.pid, signal.SIGKILL)


def _fork(job: socket.socket, others: Iterable[socket.socket]) -> _Child:
    parent = os.getpid()
    ended, held_by_child = os.pipe()
    pid = os.fork()
    if pid == 0:
        for other in others:
            other.close()  # else its other end would not see that it was closed here
        _live(job, parent)
    # The child does the same: whichever is first, the group is there before it is needed.
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)
    os.close(held_by_child)
    return _Child(pid, job, ended)


def _live(job: socket.socket, parent: int) -> NoReturn:
    """The child's whole life. Whatever it starts is of its process group."""
    try:
        os.setpgid(0, 0)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            _run_job(job)
            # A forked child must not run what its parent registered for its own end.
            os._exit(0)
    except Exception:
        # The edge of this process.
        _log.exception("job failed")
    finally:
        os._exit(1)


def _run_job(job: socket.socket) -> None:
    with job.makefile("rb") as file:
        program, argument = json.load(file)
    if program not in _UNLIMITED:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    result = PROGRAMS[program](argument)
    job.sendall(json.dumps(result).encode())


def _report_end(child: _Child) -> None:
    """Tell how the child ended, whose result is sent by now, and end what it left."""
    _, status = os.waitpid(child.pid, 0)
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    with child.job, suppress(OSError):
        child.job.sendall(b"\n%d" % os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    logs.set_up()
    prepare()
    ForkServer(socket.socket(fileno=0)).serve()
