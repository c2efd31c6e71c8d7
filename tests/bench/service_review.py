"""`python -m tests.bench.service_review`: how long from a push on GitHub to its published review.

Each push is a commit of its own with the same files, on a bot that has reviewed the pull request
before, at GitHub's pace of one write a second. The fake GitHub is on the same machine, so its git
and its checks are in the time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dbos import DBOSClient, DBOSPortableJSONSerializer

from tests.bench.scratch import Scratch
from tests.example.build import build
from tests.fake_github import FakeGitHub, people, serving
from tests.fake_github.state import Pull, Repository
from tests.workflows.conftest import Bot, ended, until


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.service_review", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--repo", type=Path, help="a checkout of FastDeploy, or of anything else")
    parser.add_argument("--base")
    parser.add_argument("--head")
    parser.add_argument("-n", "--runs", type=int, default=5, help="pushes (default 5)")
    parser.add_argument(
        "--steps", action="store_true", help="print when each request reached GitHub"
    )
    parser.add_argument("-o", "--output", type=Path, help="write the numbers as JSON")
    args = parser.parse_args()
    if args.repo and not (args.base and args.head):
        parser.error("--repo needs --base and --head")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.repo:
            what = f"{args.base}..{args.head}"
            source, base, head = _without_history(
                Scratch(folder / "scratch.git", args.repo), args.base, args.head
            )
        else:
            made = build(folder / "example")
            source, base, head, what = made.repo, made.base, made.head, "the bundled example"
        (folder / "bot").mkdir()
        with serving(FakeGitHub(folder / "github")) as fake:
            bot, repo = Bot(fake, folder / "bot"), fake.repository("octo/engine")
            repo.git.adopt(source, main=base, feature=head)
            bot.start(SPECBOT_WRITE_GAP="1")
            try:
                numbers = measured(fake, repo, args.runs, args.steps)
                stages = Stages.of(bot)
            finally:
                bot.kill()
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}: {what}"
    )
    print(
        f"  from a push to its review, s: the first {numbers['first']:.1f}, then p50 {numbers['p50']:.1f} of ",
        end="",
    )
    print(", ".join(f"{seconds:.1f}" for seconds in numbers["all"]))
    print("  where it goes, s, medians of the pushes after the first: " + ", ".join(stages.told()))
    if args.output:
        args.output.write_text(json.dumps(numbers, indent=2) + "\n", "utf-8")


@dataclass(frozen=True)
class Stages:
    """Seconds of each stage of the pushes after the first."""

    seconds: dict[str, list[float]]

    @classmethod
    def of(cls, bot: Bot) -> Stages:
        """Of the reviews' steps as they are written down, and of the analysis as it is in the
        log."""
        seconds = defaultdict[str, list[float]](list)
        client = DBOSClient(
            system_database_url=bot.database, serializer=DBOSPortableJSONSerializer()
        )
        for workflow in client.list_workflows(name="review")[1:]:
            before = workflow.created_at or 0
            for step in client.list_workflow_steps(workflow.workflow_id):
                begun, ended = step["started_at_epoch_ms"] or 0, step["completed_at_epoch_ms"] or 0
                seconds[f"until {step['function_name']}"].append((begun - before) / 1000)
                seconds[step["function_name"]].append((ended - begun) / 1000)
                before = ended
                if step["function_name"] == "publish":
                    break
        client.destroy()
        said = [json.loads(line) for line in bot.log.read_text().splitlines()]
        for line in [line for line in said if line["event"] == "change analysed"][1:]:
            for name, took in line["seconds"].items():
                seconds[f"analyse: {name}"].append(took)
        return cls(seconds)

    def told(self) -> list[str]:
        return [
            f"{name} {median(taken):.2f}"
            for name, taken in self.seconds.items()
            if median(taken) >= 0.01
        ]


def _without_history(scratch: Scratch, base: str, head: str) -> tuple[Path, str, str]:
    """The files of `base`, and on top of them those of `head`: what a clone without all objects can
    still give."""
    trees = [scratch.tree(commit) for commit in (base, head)]
    ids = "\n".join({oid for tree in trees for _, oid in tree.values()})
    asked = ["git", "-C", str(scratch.path), "cat-file", "--batch-check"]
    told = subprocess.run(
        asked, input=ids.encode(), capture_output=True, check=True
    ).stdout.decode()
    lost = {line.split()[0] for line in told.splitlines() if line.endswith(" missing")}
    kept = [{path: entry for path, entry in tree.items() if entry[1] not in lost} for tree in trees]
    first, second = map(scratch.commit, kept)
    who = ("-c", "user.name=bench", "-c", "user.email=bench@bench.example")
    return (
        scratch.path,
        first,
        scratch.git(*who, "commit-tree", f"{second}^{{tree}}", "-p", first, "-m", "head"),
    )


def measured(fake: FakeGitHub, repo: Repository, runs: int, steps: bool) -> dict[str, Any]:
    """Seconds of the first review, which fetches the repository, and of those after it."""
    begun = time.monotonic()
    pull = people.open_pull(fake, repo, "feature", title="[Speculative Decoding] A change")
    first = _published(repo, pull, 1) - begun
    taken = []
    for n in range(runs):
        tree = repo.git.run("rev-parse", f"{pull.head_sha}^{{tree}}")
        sha = repo.git.run("commit-tree", tree, "-p", pull.base_sha, "-m", f"Push {n}")
        repo.git.set_ref("refs/heads/feature", sha)
        asked, begun = len(fake.requests), time.monotonic()
        people.push(fake, repo, pull, sha)
        taken.append(_published(repo, pull, n + 2) - begun)
        if steps:
            for one in fake.requests[asked:]:
                print(f"    {one.at - begun:6.2f} {one.method} {one.path}")
    return {"first": first, "p50": median(taken), "all": taken}


def _published(repo: Repository, pull: Pull, count: int) -> float:
    """When the review was there; returns after the whole work on it has ended."""
    until(lambda: len(pull.reviews) == count, 600)
    there = time.monotonic()
    until(lambda: ended(repo, pull.head_sha), 600)
    time.sleep(3)
    return there


if __name__ == "__main__":
    main()
