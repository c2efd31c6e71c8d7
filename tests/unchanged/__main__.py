"""Does a change of SpecBot's own code alter what it says? Record before, record after, compare.

    python -m tests.unchanged record OUT --repo fastdeploy=DIR --repo vllm=DIR --repo sglang=DIR
    [--every N] python -m tests.unchanged compare BEFORE AFTER

`record` runs the `specbot` of this checkout, as a person would, on the changes that `changes.json`
names, and writes one file for each answer. `compare` prints every file that differs and exits with
1 when one does. A rule that was renamed is compared under its old id.
"""

from __future__ import annotations

import argparse
import difflib
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.unchanged.ci_runs import save_runs
from tests.unchanged.renamed import with_old_ids

CHANGES = Path(__file__).with_name("changes.json")
REVIEWED = ("fastdeploy", "vllm", "sglang")
ANALYSED = "analyses"


@dataclass(frozen=True)
class Answer:
    """One call of `specbot`, and the name of the file that keeps what it printed."""

    name: str
    arguments: tuple[str, ...]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.unchanged", description=__doc__.split("\n\n")[0]
    )
    actions = parser.add_subparsers(dest="action", required=True)
    record_parser = actions.add_parser("record")
    record_parser.add_argument("out", type=Path)
    record_parser.add_argument("--repo", action="append", default=[], metavar="NAME=DIR")
    record_parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="only every Nth change"
    )
    record_parser.add_argument("--jobs", type=int, default=2)
    compare_parser = actions.add_parser("compare")
    compare_parser.add_argument("before", type=Path)
    compare_parser.add_argument("after", type=Path)
    args = parser.parse_args()
    if args.action == "compare":
        return compare(args.before, args.after)
    repos = dict(pair.split("=", 1) for pair in args.repo)
    record(args.out, repos, args.every, args.jobs)
    return 0


def record(out: Path, repos: dict[str, str], every: int, jobs: int) -> None:
    """Write every answer to `out`; `repos` gives the clone of each repository by its name."""
    out.mkdir(parents=True, exist_ok=True)
    answers = [*_reviews(repos, every), *_analyses(repos, every), *_ci_reports(out)]
    with ThreadPoolExecutor(jobs) as pool:
        for count, _ in enumerate(pool.map(lambda answer: _write(out, answer), answers), 1):
            if count % 20 == 0 or count == len(answers):
                print(f"{count} of {len(answers)}", file=sys.stderr, flush=True)


def _reviews(repos: dict[str, str], every: int) -> Iterator[Answer]:
    changes = json.loads(CHANGES.read_text("utf-8"))
    for name in REVIEWED:
        if name not in repos:
            continue
        for head in changes[name][::every]:
            pair = ("--repo", repos[name], "--base", f"{head}^", "--head", head)
            yield Answer(
                f"review-{name}-{head[:12]}.json",
                ("review", *pair, "--format", "json", "--fail-on", "never"),
            )


def _analyses(repos: dict[str, str], every: int) -> Iterator[Answer]:
    changes = json.loads(CHANGES.read_text("utf-8"))
    if "fastdeploy" not in repos:
        return
    for head in changes[ANALYSED][::every]:
        pair = ("--repo", repos["fastdeploy"], "--base", f"{head}^", "--head", head)
        for language in ("en", "zh"):
            for kind in ("markdown", "html"):
                name = f"analysis-{head[:12]}.{language}.{kind}"
                yield Answer(name, ("analyze", *pair, "--lang", language, "--format", kind))


def _ci_reports(out: Path) -> Iterator[Answer]:
    for folder in save_runs(out / "runs"):
        for language in ("en", "zh"):
            for kind in ("json", "markdown", "html"):
                name = f"ci-{folder.name}.{language}.{kind}"
                yield Answer(
                    name, ("ci", "report", str(folder), "--lang", language, "--format", kind)
                )


def _write(out: Path, answer: Answer) -> None:
    command = [sys.executable, "-m", "bot", *answer.arguments]
    done = subprocess.run(command, capture_output=True, check=False)
    text = done.stdout.decode("utf-8", "surrogateescape")
    if done.returncode not in (0, 1):
        text += f"\nexit {done.returncode}\n{done.stderr.decode('utf-8', 'replace')[-2000:]}"
    (out / answer.name).write_bytes(text.encode("utf-8", "surrogateescape"))


def compare(before: Path, after: Path) -> int:
    """Print what differs between two recordings; 1 where anything does, or where nothing could be
    compared."""
    names = sorted(p.name for p in before.iterdir() if p.is_file())
    compared = [name for name in names if (after / name).exists()]
    different = 0
    for name in compared:
        old, new = (with_old_ids(folder / name) for folder in (before, after))
        if old != new:
            different += 1
            _print_difference(name, old, new)
    print(f"{len(compared)} of {len(names)} answers compared, {different} differ")
    return 1 if different or not compared else 0


def _print_difference(name: str, old: str, new: str) -> None:
    print(f"--- {name}")
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), "before", "after", n=1, lineterm=""
    )
    for line in list(lines)[2:14]:
        print(f"    {line[:200]}")


if __name__ == "__main__":
    sys.exit(main())
