"""`specbot device` on the commits that changed a repository's kernels, newest first.

    python -m tests.device.history --repo FastDeploy --count 60 -o history.jsonl \\
      --under custom_ops/gpu_ops/speculate_decoding

Each commit is compared with its parent, by its own changed sources and under its own title; with
`--action test` only the tests are run, which is much cheaper. The output gets a line a commit, and
is gone on with when the command is started again.

    python -m tests.device.history --repo FastDeploy --under ':(glob)custom_ops/gpu_ops' \\
      --sample 15 --others-than bench/device-history-fastdeploy.json -o sample.jsonl

takes 15 by chance, always the same ones, of those that an earlier run had not.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_LONGEST = 1200.0


def git(repo: Path, *arguments: str) -> str:
    """What git says."""
    command = ["git", "-C", str(repo), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def commits(repo: Path, head: str, under: str) -> list[str]:
    """The commits with a parent that changed a device source below `under`."""
    said = git(repo, "log", "--no-merges", "--format=%H %P", head, "--", f"{under}/*.cu")
    return [line.split()[0] for line in said.splitlines() if len(line.split()) > 1]


def run_before(result: Path) -> set[str]:
    """The commits in the judged result of an earlier run."""
    data = json.loads(result.read_text("utf-8"))
    return {entry["commit"] for entry in (*data["commits"], *data["not_compared"])}


def by_chance(found: list[str], count: int) -> list[str]:
    """Some of the commits, always the same ones."""
    return random.Random(0).sample(sorted(found), min(count, len(found)))


def run(action: str, repo: Path, commit: str, under: str) -> dict[str, Any]:
    """What `specbot device` says of a commit; `error` where it came to no end."""
    changed = git(repo, "diff", "--name-only", f"{commit}~", commit, "--", f"{under}/*.cu")
    title = git(repo, "log", "-1", "--format=%s", commit).strip()
    command = [sys.executable, "-m", "bot", "device", action, "--repo", str(repo)]
    command += ["--base", f"{commit}~", "--head", commit, "--title", title]
    command += ["--format", "json", "--fail-on", "never"]
    command += [f"--paths={path}" for path in changed.split()]
    started = time.monotonic()
    entry: dict[str, Any] = {"commit": commit, "title": title, "changed": changed.split()}
    entry["action"] = action
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=_LONGEST
        )
    except subprocess.TimeoutExpired:
        return entry | {"error": f"no end after {_LONGEST:.0f} s"}
    entry["seconds"] = round(time.monotonic() - started, 1)
    if done.returncode != 0:
        return entry | {"error": done.stderr[-500:]}
    return entry | _kept(json.loads(done.stdout))


def _kept(report: dict[str, Any]) -> dict[str, Any]:
    """What a person needs to judge the findings."""
    tests = report["tests"]
    findings = []
    for finding in report["findings"]:
        [execution] = [e for e in finding["evidence"] if e["type"] == "Execution"]
        findings.append(
            {
                "rule": finding["rule"],
                "severity": finding["severity"],
                "path": finding["location"]["path"],
                "message": finding["message"]["en"],
                "op": execution["op"],
                "inputs": execution["inputs"],
                "expected": execution["expected"],
                "got": execution["got"],
            }
        )
    return {
        "sources": len(report["sources"]["compiled"]),
        "refused": report["sources"]["refused"],
        "tests": {name: tests[name] for name in ("passed", "failed", "not_run")},
        "findings": findings,
    }


def show(entries: list[dict[str, Any]]) -> str:
    """The counts of commits, tests and findings."""
    whole = [entry for entry in entries if "error" not in entry]
    tested = [entry for entry in whole if entry["tests"]["passed"]]
    rules = Counter(finding["rule"] for entry in whole for finding in entry["findings"])
    lines = [f"{len(entries)} commits, {len(whole)} compared, {len(tested)} with a passing test"]
    lines += [f"{entry['commit'][:9]}: {entry['error']}" for entry in entries if "error" in entry]
    lines += [f"{count:4}  {rule}" for rule, count in rules.most_common()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Go on where the output ends, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--head", default="HEAD")
    parser.add_argument("--under", required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--others-than", type=Path, action="append", default=[])
    parser.add_argument("--action", choices=("test", "compare"), default="compare")
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    repo = args.repo.resolve()
    lines = args.output.read_text("utf-8").splitlines() if args.output.exists() else []
    entries = [json.loads(line) for line in lines]
    known = {entry["commit"] for entry in entries}
    chosen = commits(repo, args.head, args.under)
    for result in args.others_than:
        before = run_before(result)
        chosen = [commit for commit in chosen if commit not in before]
    chosen = by_chance(chosen, args.sample) if args.sample else chosen[: args.count]
    for commit in chosen:
        if commit in known:
            continue
        entries.append(run(args.action, repo, commit, args.under))
        with args.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entries[-1]) + "\n")
    sys.stdout.write(show(entries))
    return 0


if __name__ == "__main__":
    sys.exit(main())
