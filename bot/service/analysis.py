"""The review itself, in a process of its own: it needs a whole core, reads what strangers wrote, and must be stoppable.

The child, `python -m bot.service.analysing`, has neither the environment nor the secrets of the service.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bot
from bot.git.revisions import Range

Json = dict[str, Any]
# Twenty times what the largest change we know takes.
LONGEST = 600.0
_PRIORITY = 5
_KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")


class Failed(Exception):
    """The child ended without a result: our own mistake, or out of memory."""


class Stopped(Exception):
    """The analysis was no longer wanted."""


def analyse(clone: Path, compared: Range, facts: Json, language: str, still_wanted: Callable[[], bool]) -> Json:
    """Review the change in `clone` of a pull request with `title`, `body` and `target`.

    Gives `payload` and `report`, or `error` with a sentence's key and arguments. Raises `Stopped` when `still_wanted`,
    which is asked twice a second, says no, and `Failed` when the child breaks or takes too long.
    """
    return in_child("bot.service.analysing", _job(clone, compared, facts) | {"language": language}, still_wanted)


def pages(clone: Path, compared: Range, facts: Json, still_wanted: Callable[[], bool]) -> dict[str, dict[str, str]]:
    """The bodies of the pull request's pages, by kind and language; raises as `analyse` does. `facts` has `threads` and
    `pushes` besides, for `bot.pages.making`."""
    told = {name: facts[name] for name in ("threads", "pushes")}
    return in_child("bot.pages.making", _job(clone, compared, facts) | told, still_wanted)


def _job(clone: Path, compared: Range, facts: Json) -> Json:
    told = {name: facts[name] for name in ("title", "body", "target", "skips")}
    return {"clone": str(clone), "base": compared.base, "head": compared.head, **told}


def in_child(module: str, job: Json, still_wanted: Callable[[], bool] = lambda: True) -> Json:
    """What `python -m module` makes of a job. Raises `Failed`, and `Stopped` when `still_wanted` says no."""
    env = {name: os.environ[name] for name in _KEPT if name in os.environ}
    env |= {"PYTHONPATH": str(Path(bot.__file__).parent.parent), "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-m", module]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    # Webhooks and commands are answered first.
    os.setpriority(os.PRIO_PROCESS, child.pid, os.getpriority(os.PRIO_PROCESS, 0) + _PRIORITY)
    try:
        out = _wait(child, json.dumps(job).encode(), still_wanted)
    finally:
        child.kill()
        child.wait()
    if child.returncode:
        raise Failed(f"the analysis ended with {child.returncode}")
    made: Json = json.loads(out)
    return made


def _wait(child: subprocess.Popen[bytes], data: bytes | None, still_wanted: Callable[[], bool]) -> bytes:
    end = time.monotonic() + LONGEST
    while True:
        try:
            return child.communicate(data, timeout=0.5)[0]
        except subprocess.TimeoutExpired:
            data = None
            if time.monotonic() > end:
                raise Failed(f"the analysis took more than {LONGEST:.0f} s") from None
            if not still_wanted():
                raise Stopped from None
