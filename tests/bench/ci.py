"""`python -m tests.bench.ci [--size MIB]`: what it costs to explain a run whose log is very long.

A failed job with one log of 50 MiB, noise as a real job prints it with a failure at its end,
through `specbot ci report` in a process of its own: seconds of the whole command, of the analysis
alone, and peak memory.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from checks.ci.folder import RUN, dump
from checks.ci.model import CIRun, Conclusion, Job, LogState, Pull, Revisions
from tests.bench.measure import ROOT
from tests.ci_logs.measure import noise
from tests.ci_logs.windows import load

LIMIT_SECONDS, LIMIT_MB = 2.0, 200.0
# Runs the command in its own process, and says what it cost there.
_CHILD = """
import json, resource, sys, time
begun = time.perf_counter()
from bot.cli.main import main
import bot.ci.run_folder as saved
spent = []
analyse = saved.analyse
def timed(*args, **more):
    start, cpu = time.perf_counter(), time.process_time()
    made = analyse(*args, **more)
    spent.extend((time.perf_counter() - start, time.process_time() - cpu))
    return made
saved.analyse = timed
code = main(["ci", "report", sys.argv[1], "--format", "json", "-o", sys.argv[2]])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
whole = time.perf_counter() - begun
print(json.dumps({"code": code, "wall": whole, "analysis": spent[0], "cpu": spent[1], "memory": peak / 1e6}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.ci", description=__doc__)
    parser.add_argument(
        "--size", type=int, default=50, metavar="MIB", help="size of the log (default 50)"
    )
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="processes (default 3)")
    parser.add_argument("-o", "--output", type=Path, help="write the numbers as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        numbers = measured(Path(folder), args.size << 20, args.runs)
    if args.output:
        args.output.write_text(json.dumps(numbers, indent=2) + "\n", "utf-8")


def measured(folder: Path, size: int, runs: int) -> dict[str, Any]:
    """Medians of `runs` processes, printed; the memory is the largest."""
    saved(folder, size)
    found = [once(folder) for _ in range(runs)]
    numbers = {name: median(f[name] for f in found) for name in ("wall", "analysis", "cpu")}
    numbers["memory"] = max(f["memory"] for f in found)
    kept = numbers["analysis"] <= LIMIT_SECONDS and numbers["memory"] <= LIMIT_MB
    print(
        f"A CI run with a log of {size >> 20} MiB, median of {runs}; Python {platform.python_version()}, ",
        end="",
    )
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(
        f"  analysis {numbers['analysis']:.2f} s ({numbers['cpu']:.2f} s of CPU), whole command ",
        end="",
    )
    print(f"{numbers['wall']:.2f} s, {numbers['memory']:.0f} MB", end="")
    print(f"  limit {LIMIT_SECONDS:.1f} s, {LIMIT_MB:.0f} MB: {'kept' if kept else 'NOT kept'}")
    return {**numbers, "size": size, "runs": runs, "kept": kept}


def saved(folder: Path, size: int) -> None:
    """A run with one failed job and its log."""
    (folder / "logs").mkdir()
    lines = ("\n".join(noise(random.Random(0), 200_000)) + "\n").encode()
    with (folder / "logs/1.log").open("wb") as log:
        while log.tell() < size:
            log.write(lines)
        log.write(("\n".join(load("dev")[0].lines) + "\n").encode())
    job = Job(
        "1", "unit", conclusion=Conclusion.FAILURE, log="logs/1.log", log_state=LogState.PRESENT
    )
    at = datetime(2026, 1, 1, tzinfo=UTC)
    (folder / RUN).write_text(
        dump(CIRun(Pull("octo/engine", 1), Revisions("a" * 40), at, (job,))), "utf-8"
    )


def once(folder: Path) -> dict[str, float]:
    """One process's costs."""
    command = [sys.executable, "-c", _CHILD, str(folder), str(folder / "report.json")]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    made: dict[str, float] = json.loads(done.stdout)
    failed = json.loads((folder / "report.json").read_text("utf-8"))["failed"]
    if made["code"] or not failed or not failed[0]["main"]["error"]:
        raise SystemExit("the failure in the log was not found")
    return made


if __name__ == "__main__":
    main()
