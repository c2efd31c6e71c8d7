"""How often findings of each rule were read and true, counted from `bench/judged.jsonl`:

    python -m tests.judged

writes `checks/evaluation/judged.toml`, by which `specbot try` says what to expect.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from checks.core.rule_ids import former_id

ROOT = Path(__file__).resolve().parent.parent
JUDGED = ROOT / "bench/judged.jsonl"
COUNTS = ROOT / "checks/evaluation/judged.toml"
HEAD = """# Findings that were read one by one against the code: how many were true, and how many were not.
# Written by `python -m tests.judged` from bench/judged.jsonl. A rule that was divided stands under its old id.
"""


def counted() -> str:
    """The file as it should be."""
    counts: Counter[tuple[str, str]] = Counter()
    for line in JUDGED.read_text("utf-8").splitlines():
        judged = json.loads(line)
        counts[former_id(judged["rule"]), judged["verdict"]] += 1
    lines = []
    for rule in sorted({rule for rule, _ in counts}):
        true, false = counts[rule, "true"], counts[rule, "false"]
        lines.append(f'"{rule}" = {{ true = {true}, false = {false} }}\n')
    return HEAD + "".join(lines)


if __name__ == "__main__":
    COUNTS.write_text(counted(), "utf-8")
