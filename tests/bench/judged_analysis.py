"""Whether the analyses that were read sentence by sentence are what `specbot analyze` prints today.

    python -m tests.bench.judged_analysis --repo FastDeploy [--write] [COMMIT ...]

`bench/judged-analysis.jsonl` says of each commit what was judged, and in `printed` a digest of what
was printed then: the names and words of other people's code are not kept here. `--write` notes the
digests of what is printed now, which is right only after that was read. Exits with 1 where anything
differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

JUDGED = Path(__file__).resolve().parents[2] / "bench" / "judged-analysis.jsonl"


def main(argv: list[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--repo", required=True)
    options.add_argument("--write", action="store_true")
    options.add_argument("commits", nargs="*")
    given = options.parse_args(argv)
    rows = [json.loads(line) for line in JUDGED.read_text("utf-8").splitlines()]
    wanted = given.commits or list(dict.fromkeys(r["commit"] for r in rows if r.get("printed")))
    differ = 0
    for commit in wanted:
        now, count = digest(analysed(given.repo, commit))
        known = next((r for r in rows if r["commit"] == commit and r["state"] == "printed"), None)
        alike = known is not None and known["printed"] == now
        print(f"{commit}: {count} sentences, {'as judged' if alike else 'not what was judged'}")
        differ += not alike
        if given.write and not alike:
            rows = [r for r in rows if r is not known]
            rows.append(
                {
                    "commit": commit,
                    "section": "all",
                    "state": "printed",
                    "sentences": count,
                    "printed": now,
                }
            )
    if given.write:
        JUDGED.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), "utf-8")
    return 1 if differ and not given.write else 0


def analysed(repo: str, commit: str) -> dict[str, Any]:
    """What `specbot analyze` says of a commit, as JSON."""
    command = [
        sys.executable,
        "-m",
        "bot",
        "analyze",
        "--repo",
        repo,
        "--base",
        f"{commit}^",
        "--head",
        commit,
    ]
    done = subprocess.run([*command, "--format", "json"], capture_output=True, check=True)
    made: dict[str, Any] = json.loads(done.stdout)
    return made


def digest(data: dict[str, Any]) -> tuple[str, int]:
    """A digest of every sentence but the review's findings, which `bench/judged.jsonl` has, and how
    many there are."""
    steps = [f"{step['name']}: {claim['en']}" for step in data["steps"] for claim in step["claims"]]
    said = [c["en"] for c in (*data["summary"], *data["dropped"], *data["impacts"])]
    past = [
        json.dumps(r, sort_keys=True)
        for r in (*data["history"]["references"], *data["history"]["earlier"])
    ]
    excerpts = [json.dumps(e["reason"], sort_keys=True) for e in data["excerpts"]]
    everything = [*said, *data["motivation"], *steps, *excerpts, *past]
    return hashlib.sha256("\n".join(everything).encode()).hexdigest()[:16], len(everything)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
