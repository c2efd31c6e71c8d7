"""One op's cases in one process: started confined, watched, ended for good, and its files read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bot import process_tree
from bot.files import folder_size
from bot.kernels import confine
from bot.kernels.package import Package, write
from checks.kernelrun.events import LONGEST, Journal, parse
from checks.kernelrun.judge import Excess, HarnessProcess, ProcessEnd, Standard, Tensors
from checks.kernelrun.tensors import TensorError, read

_STARTING = 180.0
"""Seconds until a process has its first word: the import of torch, cold, on a busy machine."""
_POLL = 0.05
_LARGEST_JOURNAL = 8 << 20
_TAIL = 4096
_MOST_LINES = 1000
_WEIGHED = 1.0
"""Seconds between two looks at how much the process has written, started and taken."""
_MOST_LIMITS = 20
"""How many times the limit of one case a whole process may take: lines in the journal are cheap to
write.
"""
_SHELL_SIGNAL = 128


@dataclass(frozen=True, slots=True)
class OpJob:
    """What to run. `limit` is in seconds, for one case; with `reference`, that too is written."""

    op: str
    device: str
    limit: float
    reference: bool


@dataclass(frozen=True, slots=True)
class OpResult:
    """The process, and the standard to judge by where the reference was run too."""

    process: HarnessProcess
    standard: Standard | None


def run(job: OpJob, package: Package, tick: Callable[[], None]) -> OpResult:
    """Run the job on `package`.

    Nothing that the code does is an error here. `tick` is called while it runs.
    """
    with tempfile.TemporaryDirectory(prefix="specbot-kernels-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        work, out = folder / "work", folder / "out"
        for new in (work, out, folder / "home"):
            new.mkdir()
        write(package, work)
        ending = _watch(_start(job, folder), job, folder, tick)
        return _result(job, replace(ending, said=_last_line(folder)), out)


def _start(job: OpJob, folder: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-m",
        "kernels.run",
        job.op,
        "--device",
        job.device,
        "-o",
        str(folder / "out"),
    ]
    if job.reference:
        command.append("--reference")
    with (folder / "said").open("wb") as said:
        return subprocess.Popen(
            [*confine.prefix(job.device, folder), *command],
            cwd=folder / "work",
            env=confine.environment(folder / "home"),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
            preexec_fn=confine.limiter(job.device),
        )


def _watch(
    process: subprocess.Popen[bytes], job: OpJob, folder: Path, tick: Callable[[], None]
) -> ProcessEnd:
    """Wait for the end, or bring it about: every case has `limit` seconds from the journal line
    that began it, all files in the folder together may be as large as one, and the limits of one
    process on memory and on processes hold for all that it started.
    """
    journal = folder / "out/events.jsonl"
    started = last_progress = last_weighed = time.monotonic()
    lines, allowed = 0, _STARTING
    longest = _STARTING + _MOST_LIMITS * job.limit
    try:
        while process.poll() is None:
            time.sleep(_POLL)
            tick()
            now = time.monotonic()
            lines_now = _lines(journal)
            if lines_now > lines:
                lines, last_progress, allowed = lines_now, now, job.limit
            too_slow = now - last_progress > allowed or now - started > longest
            if too_slow or lines_now > _MOST_LINES:
                return ProcessEnd(limit=allowed)
            if now - last_weighed > _WEIGHED:
                last_weighed = now
                if folder_size(folder) > confine.LARGEST_FILE:
                    return ProcessEnd(signal=int(signal.SIGXFSZ))
                excess = _excess(process.pid)
                if excess is not None:
                    return ProcessEnd(excess=excess)
    finally:
        _kill(process)
    return _process_end(process.returncode)


def _excess(pid: int) -> Excess | None:
    """Which limit the process and what it started exceed together.

    A limit on one process's memory is none on its children's, CUDA allows none at all, and the
    system counts no processes of root.
    """
    processes = process_tree.descendants(pid)
    if len(processes) > confine.MOST_PROCESSES:
        return Excess("processes", confine.MOST_PROCESSES)
    if process_tree.memory(processes) > confine.MOST_MEMORY:
        return Excess("memory", confine.MOST_MEMORY >> 30)
    return None


def _lines(journal: Path) -> int:
    try:
        if journal.stat().st_size > _LARGEST_JOURNAL:
            return _MOST_LINES + 1
        return journal.read_bytes().count(b"\n")
    except OSError:
        return 0


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the whole process group; in a PID namespace what left the group ends with its first
    process.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _process_end(code: int) -> ProcessEnd:
    if code < 0:
        return ProcessEnd(signal=-code)
    # The shell of `confine` says a signal of its child in this way.
    if code > _SHELL_SIGNAL:
        return ProcessEnd(signal=code - _SHELL_SIGNAL)
    return ProcessEnd(code=code)


def _result(job: OpJob, ending: ProcessEnd, out: Path) -> OpResult:
    journal = _journal(out)
    outputs = _tensors(out / "outputs", journal.attempts)
    process = HarnessProcess(journal, ending, outputs)
    if not job.reference:
        return OpResult(process, None)
    standard = Standard(
        cases=journal.cases,
        expected=_tensors(out / "reference", journal.cases),
        failed=journal.reference_failures,
        sizes=journal.sizes,
        bandwidth=journal.bandwidth,
    )
    return OpResult(process, standard)


def _last_line(folder: Path) -> str:
    """The last line of what the process said, which of a traceback is the error."""
    with (folder / "said").open("rb") as file:
        file.seek(-min(_TAIL, file.seek(0, os.SEEK_END)), os.SEEK_END)
        lines = file.read().decode("utf-8", "replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return _relative(said[-1], folder)[:LONGEST] if said else ""


def _relative(text: str, folder: Path) -> str:
    """`text` with paths as they are in the package: the folder has another name in every run."""
    return text.replace(f"{folder / 'work'}/", "")


def _journal(out: Path) -> Journal:
    try:
        data = _regular(out / "events.jsonl", _LARGEST_JOURNAL)
    except OSError:
        data = b""
    return parse(_relative(data.decode("utf-8", "replace"), out.parent))


def _tensors(folder: Path, cases: Mapping[str, object]) -> dict[str, Tensors]:
    found: dict[str, Tensors] = {}
    left = confine.LARGEST_FILE
    for case in cases:
        with suppress(OSError, TensorError):
            data = _regular(folder / f"{case}.safetensors", left)
            left -= len(data)
            found[case] = read(data)
    return found


def _regular(path: Path, most: int) -> bytes:
    """The first `most` bytes of a file that is no link: code under test could point one at a file
    of ours.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        return file.read(most)
