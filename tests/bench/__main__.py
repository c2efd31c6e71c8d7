"""What a review costs, beside tools that read the same files in the same minute.

    python -m tests.bench [--repo DIR] [--base REV --head REV] [-n RUNS] [-o FILE]

Every figure is CPU, of all processes together. Review, parsing and semgrep run in turn, so that a
slow minute of the machine is slow for all of them; what is to be read are the ratios. Without
`--repo` it builds a repository of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from tests.bench import measure
from tests.bench.changes import Changes, Range, of_repository, synthetic
from tests.bench.peers import cpu_of, parse_command, semgrep_command, write_files
from tests.bench.scratch import Scratch


@dataclass(frozen=True)
class Row:
    """One change: medians of seconds of CPU; `semgrep` is 0 where it is not installed."""

    label: str
    files_changed: int
    files_parsed: int
    review: float
    parsing: float
    semgrep: float


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--repo", type=Path, help="a checkout of FastDeploy, or of anything else")
    parser.add_argument("--base")
    parser.add_argument("--head")
    parser.add_argument("-n", "--runs", type=int, default=5, help="runs of each command")
    parser.add_argument("-o", "--output", type=Path, help="write the numbers as JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        scratch = Scratch(folder / "scratch.git", args.repo)
        if args.repo:
            changes = of_repository(scratch, args.base, args.head)
        else:
            changes = synthetic(scratch, folder)
        print_head(changes, args.runs)
        compared = [compare(scratch, change, args.runs) for change in (changes.main, changes.large)]
        grown = growth(scratch, changes, args.runs)
        print_rules(scratch, changes.main)
    if args.output:
        rows = {"compared": [asdict(row) for row in compared], "growth": grown}
        args.output.write_text(json.dumps(rows, indent=2) + "\n", "utf-8")


def print_head(changes: Changes, runs: int) -> None:
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    print(
        f"CPU of each command in turn, medians of {runs}; {machine}, load {os.getloadavg()[0]:.1f}"
    )
    if changes.note:
        print(changes.note)
    print(f"\n{'':46}{'review':>9}{'parsing':>9}{'semgrep':>9}{'x parsing':>11}{'x semgrep':>11}")


def compare(scratch: Scratch, change: Range, runs: int) -> Row:
    """Measure one change beside its peers, and print the row."""
    files_changed = len(scratch.changed(change.base, change.head))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "files"
        parsed = measure.parsed_files(scratch.path, change)
        write_files(scratch, change.head, parsed, folder)
        commands = {
            "review": measure.review_command(scratch.path, change),
            "parsing": parse_command(folder),
            "semgrep": semgrep_command(folder),
        }
        costs = alternate({name: command for name, command in commands.items() if command}, runs)
    row = Row(
        change.label,
        files_changed,
        len(parsed),
        costs["review"],
        costs["parsing"],
        costs.get("semgrep", 0.0),
    )
    print_row(row)
    return row


def alternate(commands: dict[str, list[str]], runs: int) -> dict[str, float]:
    """The median CPU of each command, run A B C A B C ... after one round that is not counted."""
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for run in range(runs + 1):
        for name, command in commands.items():
            cost = cpu_of(command)
            if run:
                spent[name].append(cost)
    return {name: median(costs) for name, costs in spent.items()}


def print_row(row: Row) -> None:
    label = f"{row.label} ({row.files_changed} changed, {row.files_parsed} read)"
    figures = f"{row.review:>8.2f}s{row.parsing:>8.2f}s"
    if row.semgrep:
        figures += f"{row.semgrep:>8.2f}s{row.review / row.parsing:>11.2f}"
        figures += f"{row.review / row.semgrep:>11.2f}"
    else:
        figures += f"{'-':>9}{row.review / row.parsing:>11.2f}{'-':>11}"
    print(f"{label:46}{figures}", flush=True)


def growth(scratch: Scratch, changes: Changes, runs: int) -> list[dict[str, float]]:
    """How the CPU of a review grows with the number of files changed, and the exponent of it."""
    print("\nby the number of files changed")
    rows = []
    for change in changes.by_files:
        command = measure.review_command(scratch.path, change)
        cost = alternate({"review": command}, runs)["review"]
        files = len(scratch.changed(change.base, change.head))
        rows.append({"files": files, "review": cost})
        print(f"  {files:>6} files{cost:>9.2f}s", flush=True)
    floor = rows[0]["review"]
    first, last = rows[-3], rows[-1]
    if last["review"] > first["review"] > floor:
        more = math.log((last["review"] - floor) / (first["review"] - floor))
        power = more / math.log(last["files"] / first["files"])
        print(f"  above the smallest, CPU grows with files to the power of {power:.2f}")
    return rows


def print_rules(scratch: Scratch, change: Range) -> None:
    """Where the first change's time goes, so that a slow rule is seen."""
    for group, parts in measure.stages(scratch.path, change).items():
        print(f"\n{change.label}, by {group}, ms of CPU")
        largest = sorted(parts.items(), key=lambda part: -part[1])[:12]
        for name, spent in largest:
            print(f"  {name:40}{spent:8.1f}")


if __name__ == "__main__":
    main()
