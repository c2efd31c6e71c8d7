"""Prints what a review costs. Without --repo it builds a repository of its own.

python -m tests.bench [--repo DIR] [--base REV --head REV] [-n RUNS] [-o FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.bench.changes import SHARES, Changes, Range, cut, of_repository, synthetic
from tests.bench.measure import Cost, review, stages
from tests.bench.scratch import Scratch

# Of the issue: one review, and one of 200 files, on two quiet cores.
LIMITS = {"main": (1.0, 250.0), "large": (4.0, 0.0)}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--repo", type=Path, help="a checkout of FastDeploy, or of anything else")
    parser.add_argument("--base")
    parser.add_argument("--head")
    parser.add_argument(
        "-n", "--runs", type=int, default=5, help="processes for each number (default 5)"
    )
    parser.add_argument("-o", "--output", type=Path, help="write the numbers as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(Path(folder) / "scratch.git", args.repo)
        changes = (
            of_repository(scratch, args.base, args.head)
            if args.repo
            else synthetic(scratch, Path(folder))
        )
        numbers = _measured(scratch, changes, args.runs)
    if args.output:
        args.output.write_text(json.dumps(numbers, indent=2) + "\n", "utf-8")


def _measured(scratch: Scratch, changes: Changes, runs: int) -> dict[str, Any]:
    """Measure and print as it comes; the same numbers for JSON."""
    machine = (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(f"Each review in a process of its own, median of {runs}; {machine}")
    if changes.note:
        print(changes.note)
    os.sync()  # what was just made is not written to the disk beside what is measured
    for change in (changes.main, changes.large):
        review(
            scratch.path, change, 1
        )  # compiles the bytecode and reads the objects from the disk once
    print(f"\n{'':34}{'wall s':>8}{'cpu s':>8}{'MB':>6}  limit")
    limits = [
        _row(scratch, changes.main, runs, LIMITS["main"]),
        _row(scratch, changes.large, runs, LIMITS["large"]),
    ]
    print("\nby the number of files changed")
    by_files = [_row(scratch, r, runs) for r in changes.by_files]
    where, used = stages(scratch.path, changes.main, runs)
    print(
        f"\nthe first change, by the size of the repository ({len(used)} files that it parses are always there)"
    )
    by_size = [_row(scratch, cut(scratch, changes.main, share, used), runs) for share in SHARES]
    for group, parts in where.items():
        print(f"\nthe first change, by {group}, ms of CPU")
        for name, spent in sorted(parts.items(), key=lambda part: -part[1]):
            print(f"  {name:40}{spent:8.1f}")
    rows = {"limits": limits, "by_files": by_files, "by_size": by_size}
    return {"machine": machine, "note": changes.note, "runs": runs, **rows, **where}


def _row(
    scratch: Scratch, compared: Range, runs: int, limit: tuple[float, float] | None = None
) -> dict[str, Any]:
    cost = review(scratch.path, compared, runs)
    files = len(scratch.changed(compared.base, compared.head))
    label = f"{compared.label} ({files} changed)"
    print(
        f"  {label:32}{cost.wall:8.2f}{cost.cpu:8.2f}{cost.memory:6.0f}{_said(cost, limit)}",
        flush=True,
    )
    return {
        "label": compared.label,
        "files": files,
        **{k: round(v, 3) for k, v in asdict(cost).items()},
    }


def _said(cost: Cost, limit: tuple[float, float] | None) -> str:
    if limit is None:
        return ""
    wall, memory = limit
    kept = cost.wall <= wall and (not memory or cost.memory <= memory)
    return (
        f"  {wall:.1f} s"
        + (f", {memory:.0f} MB" if memory else "")
        + (": kept" if kept else ": NOT kept")
    )


if __name__ == "__main__":
    main()
