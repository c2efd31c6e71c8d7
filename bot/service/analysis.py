"""The review itself, in a process of its own: it needs a whole core, reads what strangers wrote, and must be stoppable.

    python -m bot.service.analysis < job.json > result.json

The child has neither the environment nor the secrets of the service. Its `payload` is byte for byte what
`specbot review --format github` prints.
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
from bot.errors import UserError
from bot.git import Git, Range
from bot.reports import format_named
from bot.reviewing import opened, reviewed
from checks.change import PullRequest

Json = dict[str, Any]
# Twenty times what the largest change we know takes.
LONGEST = 600.0
_KEPT = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH")


class Failed(Exception):
    """The child ended without a result: our own mistake, or out of memory."""


class Stopped(Exception):
    """The analysis was no longer wanted."""


def job(clone: Path, compared: Range, pull: PullRequest, language: str) -> Json:
    """What the child reads."""
    return {
        "clone": str(clone),
        "base": compared.base,
        "head": compared.head,
        "title": pull.title,
        "body": pull.body,
        "target": pull.target_branch,
        "language": language,
    }


def analyse(wanted: Json, still_wanted: Callable[[], bool]) -> Json:
    """Run the child: `payload` and `report`, or `error` with a sentence's key and arguments.

    Raises `Stopped` when `still_wanted` says no, which is asked twice a second, and `Failed` when the child breaks or
    takes too long.
    """
    env = {name: os.environ[name] for name in _KEPT if name in os.environ}
    env |= {"PYTHONPATH": str(Path(bot.__file__).parent.parent), "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-m", "bot.service.analysis"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    try:
        out = _wait(child, json.dumps(wanted).encode(), still_wanted)
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


def _child(wanted: Json) -> Json:
    pull = PullRequest(wanted["title"], wanted["body"], target_branch=wanted["target"], known=True)
    try:
        with opened(Git(Path(wanted["clone"])), Range(wanted["base"], wanted["head"]), pull) as change:
            report = reviewed(change)
            texts = {name: format_named(name).render(report, wanted["language"]) for name in ("github", "json")}
    except UserError as error:
        return {"error": {"key": error.key, "args": {k: str(v) for k, v in error.args_.items()}}}
    return {"payload": json.loads(texts["github"]), "report": json.loads(texts["json"])}


def main() -> None:
    """The child's side."""
    made = json.dumps(_child(json.load(sys.stdin)))
    sys.stdout.write(made)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
