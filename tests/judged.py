"""How often findings of each rule were read and true, counted from `bench/judged.jsonl` and the samples of commits by chance:

    python -m tests.judged

writes `checks/evaluation/judged.toml`, by which `specbot try` says what to expect.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from checks.core.rule_ids import former_id

ROOT = Path(__file__).resolve().parent.parent
JUDGED = ROOT / "bench/judged.jsonl"
# Findings on commits by chance; each has all that was read of its samples.
SAMPLES = (
    "bench/judged-2026-11-23.json",
    "bench/judged-2026-11-25.json",
    "bench/judged-2026-11-26.json",
    "bench/judged-2026-11-26b.json",
    "bench/judged-2026-11-27.json",
    "bench/judged-2026-11-27b.json",
    "bench/judged-2026-11-27c.json",
)
COUNTS = ROOT / "checks/evaluation/judged.toml"
# A trivial finding is true: the code bears it out, though nobody would act on it.
_VERDICTS = {"useful": "true", "trivial": "true"}
HEAD = """# Findings that were read one by one against the code: how many were true, and how many were not.
# Written by `python -m tests.judged` from bench/judged.jsonl and bench/judged-*.json. A rule that was divided stands under its old id.
"""


def counted() -> str:
    """The file as it should be."""
    counts: Counter[tuple[str, str]] = Counter()
    for judged in _judgements():
        verdict = _VERDICTS.get(judged["verdict"], judged["verdict"])
        counts[former_id(judged["rule"]), verdict] += 1
    lines = []
    for rule in sorted({rule for rule, _ in counts}):
        true, false = counts[rule, "true"], counts[rule, "false"]
        lines.append(f'"{rule}" = {{ true = {true}, false = {false} }}\n')
    return HEAD + "".join(lines)


def _judgements() -> Iterator[dict[str, Any]]:
    """What was read, of history and of commits by chance.

    A false one counts though its rule was mended since: it was mended by what had been read, and
    new commits are not the ones that were read.
    """
    for line in JUDGED.read_text("utf-8").splitlines():
        yield json.loads(line)
    for sample in SAMPLES:
        yield from json.loads((ROOT / sample).read_text("utf-8"))["judgements"]


if __name__ == "__main__":
    COUNTS.write_text(counted(), "utf-8")
