"""One job of `python -m kernels.emulator`: started confined, watched, and its events read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bot
from bot.device.workspace import cache_folder
from bot.files import folder_size
from bot.kernels import confine

Json = dict[str, Any]
_POLL = 0.1
_LARGEST_EVENTS = 64 << 20
_LARGEST_FOLDER = 4 << 30
_WEIGHED = 5.0
# A sanitizer says what it saw first, and then much more.
_TAIL = 1 << 17
_SHELL_SIGNAL = 128


@dataclass(frozen=True, slots=True)
class JobResult:
    """The events that the process wrote, how it ended, and the end of what it said.

    `code` is its exit code, `signal` the one that ended it, `limit` the seconds that it was silent
    for when it was ended here; `too_large` says that its files were.
    """

    events: tuple[Json, ...]
    code: int = 0
    signal: int = 0
    limit: float = 0.0
    too_large: bool = False
    said: str = ""

    @property
    def finished(self) -> bool:
        """Whether it came to its own end."""
        return any(event.get("event") == "end" for event in self.events)

    def of(self, kind: str) -> list[Json]:
        """The events of one kind."""
        return [event for event in self.events if event.get("event") == kind]


def run_job(job: Json, folder: Path, silence: float) -> JobResult:
    """Run a job in `folder`, the only one that it may write to.

    It is ended when no event comes for `silence` seconds. Nothing that the code does is an error.
    """
    for name in ("home", "out"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    events = folder / "events.jsonl"
    path = folder / "job.json"
    # What other jobs of the run left, and the libraries of earlier runs.
    readable = (folder.parents[1], cache_folder())
    path.write_text(json.dumps(job | {"events": str(events)}), encoding="utf-8")
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [
                *confine.prefix("cpu", folder, readable),
                sys.executable,
                "-m",
                "kernels.emulator",
                str(path),
            ],
            cwd=folder,
            env=_environment(folder, job),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
            preexec_fn=confine.limiter(_limits_of(job)),
        )
        return _watch(process, folder, events, silence)


def _limits_of(job: Json) -> str:
    """Whose limits hold: a sanitizer reserves address space as a GPU's driver does."""
    return "cuda" if job.get("variant") == "sanitized" else "cpu"


def _environment(folder: Path, job: Json) -> dict[str, str]:
    root = str(Path(bot.__file__).resolve().parent.parent)
    added = {"PYTHONPATH": root, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    if job.get("variant") == "covered":
        added["GCOV_PREFIX"] = str(folder / "out")
    return confine.environment(folder / "home") | added


def _watch(
    process: subprocess.Popen[bytes], folder: Path, events: Path, silence: float
) -> JobResult:
    last_size, last_change = 0, time.monotonic()
    last_weighed = last_change
    ended: Json = {}
    try:
        while process.poll() is None:
            time.sleep(_POLL)
            now = time.monotonic()
            size = _size(events)
            if size != last_size:
                last_size, last_change = size, now
            if now - last_change > silence:
                ended = {"limit": silence}
                break
            if now - last_weighed > _WEIGHED:
                last_weighed = now
                if size > _LARGEST_EVENTS or folder_size(folder) > _LARGEST_FOLDER:
                    ended = {"too_large": True}
                    break
    finally:
        _kill(process)
    if not ended:
        ended = _end(process.returncode)
    return JobResult(_read_events(events), said=_tail(folder / "said"), **ended)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _end(code: int) -> Json:
    if code < 0:
        return {"signal": -code}
    # The shell of `confine` says a signal of its child in this way.
    if code > _SHELL_SIGNAL:
        return {"signal": code - _SHELL_SIGNAL}
    return {"code": code}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _read_events(path: Path) -> tuple[Json, ...]:
    """The events that are JSON objects: the code under test could have written to the file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ()
    with os.fdopen(handle, "rb") as file:
        data = file.read(_LARGEST_EVENTS)
    events = []
    for line in data.decode("utf-8", "replace").splitlines():
        with suppress(ValueError, RecursionError):
            event = json.loads(line)
            if isinstance(event, dict):
                events.append(event)
    return tuple(events)


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(-min(_TAIL, file.seek(0, os.SEEK_END)), os.SEEK_END)
        return file.read().decode("utf-8", "replace")
