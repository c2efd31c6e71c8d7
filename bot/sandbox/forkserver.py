"""`python -m bot.sandbox.forkserver`: the process that the children are forked from.

It has read the programs that they run, once, and has neither the environment nor the secrets of the service. Its
standard input is a socket over which it is handed one socket for each job; the child reads the job from that, JSON of
a program's name and its argument, and writes the result. What follows is a line with the status that the child ended
with.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import product
from typing import Any, NoReturn

from bot.i18n.catalog import LANGUAGES, Catalog
from bot.i18n.escape import Html, Markdown
from bot.reports.charts import stacked_bars
from bot.sandbox.programs import ci, kernels, pages, review
from checks import registry
from checks.lang.source import parse

PROGRAMS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "review": review.result,
    "pages": pages.pages,
    "analysis": pages.analysis_page,
    "ci": ci.result,
    "kernels": kernels.result,
}
# What it starts has limits of its own, and a GPU's driver needs more of an address space than there is memory.
_UNLIMITED = ("kernels",)
# Nine times what the largest change we know takes.
_MEMORY = 4 << 30
# The words of nearly every page and review.
_USUAL = (
    "words/analysis.toml",
    "words/report.toml",
    "words/evidence.toml",
    "rules/convention*.toml",
)
_PR_SET_PDEATHSIG = 1
_SOURCES = {"a.cu": b"void f(int *a) { a[0] = 1; }", "a.py": b"def f(a):\n    a[0] = 1\n"}


def prepare() -> None:
    """Read here, once, what the programs read only when they need it: rules, templates, parsers, fonts."""
    gc.freeze()  # all that was imported would be looked through for garbage meanwhile
    assert registry.RULES
    for language, files in product(LANGUAGES, _USUAL):
        Catalog(language, Html()).prepare(files)
        Catalog(language, Markdown()).prepare(files)
    stacked_bars(["a"], [("b", [1.0])], 1.0)  # the first picture reads fonts
    for path, data in _SOURCES.items():
        unit = parse(path, data)
        assert unit is not None and unit.functions[0].body


def serve(control: socket.socket) -> None:
    """Fork a child for every socket that comes over `control`, until its other end is closed; children that still work
    end with this process. One whose own socket is closed at the other end is killed."""
    gc.collect()
    gc.freeze()  # what is here stays, and is shared with the children
    poll, working = select.poll(), dict[int, tuple[int, socket.socket]]()
    poll.register(control, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready == control.fileno():
                _, handed, _, _ = socket.recv_fds(control, 1, 1)
                if not handed:
                    return
                job = socket.socket(fileno=handed[0])
                pid, watched = _forked(job, [control, *(other for _, other in working.values())])
                working[watched] = pid, job
                poll.register(watched, 0)
                poll.register(job, 0)  # a hang-up is always told
            elif ready in working:
                pid, job = working.pop(ready)
                poll.unregister(ready)
                os.close(ready)
                with suppress(KeyError):
                    poll.unregister(job)
                _end(pid, job)
            else:
                poll.unregister(ready)
                os.killpg(
                    next(pid for pid, job in working.values() if job.fileno() == ready),
                    signal.SIGKILL,
                )


def _forked(job: socket.socket, others: Iterable[socket.socket]) -> tuple[int, int]:
    """The child, and a pipe that is closed at the other end when the child has ended."""
    here, (watched, held) = os.getpid(), os.pipe()
    child = os.fork()
    if not child:
        for other in others:
            other.close()  # else its other end would not see that it was closed here
        _live(job, here)
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(child, child)
    os.close(held)
    return child, watched


def _live(job: socket.socket, parent: int) -> NoReturn:
    """The child's whole life. Whatever it starts is of its process group."""
    try:
        os.setpgid(0, 0)
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            with job.makefile("rb") as asked:
                program, argument = json.load(asked)
            if program not in _UNLIMITED:
                resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            job.sendall(json.dumps(PROGRAMS[program](argument)).encode())
            # Without taking every parsed file apart first.
            os._exit(0)
    except Exception:
        # The edge of this process.
        traceback.print_exc()
    finally:
        os._exit(1)


def _end(pid: int, job: socket.socket) -> None:
    """Tell how the child ended, whose result is sent by now, and end what it left."""
    _, status = os.waitpid(pid, 0)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with job, suppress(OSError):
        job.sendall(b"\n%d" % os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    prepare()
    serve(socket.socket(fileno=0))
