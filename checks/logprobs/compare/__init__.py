"""Two files of logprob records, and what became of the numbers between them.

`Collector` takes pairs of records and keeps a `Tally`; `decide` gives its verdict. Nothing here
reads a file. `VERDICTS.md` beside this file says what each verdict means and what it rests on.
"""

from checks.logprobs.compare.acceptance import AcceptanceVerdict, Decision
from checks.logprobs.compare.collect import NOISE_ULPS, Collector
from checks.logprobs.compare.tally import ComparisonStats, WorstRow
from checks.logprobs.compare.verdict import (
    ComparisonOutcome,
    ComparisonVerdict,
    calibrated_tolerance,
    decide,
)

__all__ = [
    "NOISE_ULPS",
    "AcceptanceVerdict",
    "Collector",
    "ComparisonOutcome",
    "ComparisonStats",
    "ComparisonVerdict",
    "Decision",
    "WorstRow",
    "calibrated_tolerance",
    "decide",
]
