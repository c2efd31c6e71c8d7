"""`python -m tests.ci_logs.bench [MIB]`: seconds and memory to analyse one log of a whole job (50
MiB), and how many plain loops over its lines that is.

The log is noise as `measure.full` makes it, with one failure before the end; a new process reads it
from disk.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from checks.ci.log_failures import failures_in_log
from tests.ci_logs.measure import noise
from tests.ci_logs.windows import load


def main() -> None:
    if len(sys.argv) == 3:
        _read(Path(sys.argv[1]))
        return
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.log"
        _write(path, size << 20)
        subprocess.run([sys.executable, "-m", "tests.ci_logs.bench", str(path), "read"], check=True)


def _write(path: Path, size: int) -> None:
    lines = noise(random.Random(0), 200_000)
    with path.open("wb") as out:
        while out.tell() < size:
            out.write(("\n".join(lines) + "\n").encode())
        out.write(("\n".join(load("dev")[0].lines) + "\n").encode())


def _read(path: Path) -> None:
    with path.open("rb") as stream:
        begun, spent = time.perf_counter(), time.process_time()
        found, scan = failures_in_log(stream)
        wall, cpu = time.perf_counter() - begun, time.process_time() - spent
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(
        f"{scan.size >> 20} MiB, {scan.lines} lines: {wall:.2f} s, {cpu:.2f} s of CPU, {memory} MiB of memory"
    )
    print(f"{cpu / _plain_loop(path):.2f} times one plain loop over its lines")
    print(f"found: {found[0].error}" if found else "found nothing")


def _plain_loop(path: Path) -> float:
    """Seconds of CPU to read the log and look at every line for a word."""
    spent = time.process_time()
    errors = 0
    with path.open("rb") as stream:
        for line in stream:
            errors += b"error" in line
    return time.process_time() - spent


if __name__ == "__main__":
    main()
