"""Which ops of a repository its own tests ran, and with what outcome: `specbot device test`, by op.

    python -m tests.device.ops --repo vllm --paths 'csrc/*' --paths '*/spec_decode/*' -o ops.json

An op counts as run where it was called in a case that passed. A case counts for every op that it
called.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.device.arguments import make_parser, write_result

ROOT = Path(__file__).resolve().parents[2]
_OUTCOMES = ("passed", "failed", "not_run")
_LONGEST_REASON = 160
_REASONS = 12


def report_of(repo: Path, head: str, options: list[str], action: str = "test") -> dict[str, Any]:
    """What the command says in JSON."""
    command = [sys.executable, "-m", "bot", "device", action, "--repo", str(repo), "--head", head]
    command += [*options, "--format", "json", "--fail-on", "never"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def by_op(report: dict[str, Any]) -> list[dict[str, Any]]:
    """Each op with its source, why that was refused, and the outcomes of the cases that called
    it."""
    refusals = {item["path"]: item["why"] for item in report["sources"]["refused"]}
    rows = []
    for path, ops in report["sources"]["ops"].items():
        for op in ops:
            cases = [case for case in report["tests"]["cases"] if op in case["ops"]]
            counts = Counter(case["outcome"] for case in cases)
            row: dict[str, Any] = {"op": op, "path": path}
            row |= {outcome: counts[outcome] for outcome in _OUTCOMES}
            row["files"] = sorted({case["test"].partition("::")[0] for case in cases})
            if path in refusals:
                row["refused"] = refusals[path]
            rows.append(row)
    return rows


def reason(why: str) -> str:
    """The beginning of the text, without numbers, so that equal causes count together."""
    return re.sub(r"\d+", "#", " ".join(why.split()))[:_LONGEST_REASON]


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """The counts, the ops, and the reasons for what failed or was not run."""
    rows = by_op(report)
    reasons = {}
    for outcome in ("failed", "not_run"):
        cases = [case for case in report["tests"]["cases"] if case["outcome"] == outcome]
        counts = Counter(reason(case["why"]) for case in cases)
        reasons[outcome] = dict(counts.most_common(_REASONS))
    sources = report["sources"]
    return {
        "head": report["head"],
        "sources": {name: len(sources[name]) for name in ("compiled", "refused")},
        "ops": {
            "registered": len(rows),
            "compiled": sum("refused" not in row for row in rows),
            "called": sum(bool(row["files"]) for row in rows),
            "passed": sum(row["passed"] > 0 for row in rows),
            "passed_without_failure": sum(row["passed"] > 0 and not row["failed"] for row in rows),
        },
        "cases": {outcome: report["tests"][outcome] for outcome in _OUTCOMES},
        "reasons": reasons,
        "rows": rows,
    }


def show(result: dict[str, Any]) -> str:
    """The counts, and a line for each op that a test called."""
    lines = [result["head"]]
    for name in ("sources", "ops", "cases"):
        counts = ", ".join(f"{word} {number}" for word, number in result[name].items())
        lines.append(f"{name}: {counts}")
    for row in result["rows"]:
        if row["files"]:
            counts = " ".join(f"{row[outcome]:5}" for outcome in _OUTCOMES)
            lines.append(f"{counts}  {row['op']}")
    for outcome, reasons in result["reasons"].items():
        lines += [f"{outcome} {count:5}  {why}" for why, count in reasons.items()]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the counts, and write all of it where that is asked."""
    parser = make_parser(__doc__)
    parser.add_argument("--paths", action="append", default=[])
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=180.0)
    args = parser.parse_args()
    options = [f"--paths={path}" for path in args.paths]
    options += ["--cases", str(args.cases), "--timeout", str(args.timeout)]
    result = summary(report_of(args.repo.resolve(), args.head, options))
    write_result(result, args.output)
    sys.stdout.write(show(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
