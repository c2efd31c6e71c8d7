"""The decode loop's own records: with another width, and with mistakes put into the loop."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from checks.logprobs.compare import ComparisonVerdict
from checks.logprobs.jsonl import read
from kernels.decode.record import main
from kernels.decode.worker import Worker
from tests.logprobs.simulated import compared, keys

ASKED = ("--requests", "4", "--max-tokens", "12", "--dtype", "bfloat16")


@pytest.fixture
def record(tmp_path):
    def run(*options):
        path = tmp_path / "record.jsonl"
        assert main([*ASKED, *options, "-o", str(path)]) == 0
        with path.open("rb") as file:
            return list(read(file))

    return run


@pytest.fixture
def base(record):
    return record("--top-k", "20")


def test_other_widths(record, base):
    for k in ("3", "0"):
        outcome = compared(base, record("--top-k", k))
        assert outcome.verdict is ComparisonVerdict.COLUMNS_ONLY
        assert keys(outcome) == {"cause-width"}


def test_rows_of_the_step_that_are_gathered_one_too_far(record, base, monkeypatch):
    """The offset of a step's first row is off by one: each token is scored by the row after its
    own.
    """
    right = Worker._score

    def wrong(self, logits, token_ids, rows, *rest):
        return right(
            self, logits, token_ids, torch.where(rows >= 0, (rows + 1) % len(logits), rows), *rest
        )

    monkeypatch.setattr(Worker, "_score", wrong)
    for k in ("20", "5"):
        outcome = compared(base, record("--top-k", k))
        assert outcome.verdict is ComparisonVerdict.REGRESSION
        assert {"cause-row", "cause-row-of-other"} & keys(outcome)


def test_processed_logprobs_that_say_they_are_raw(record, monkeypatch):
    heat = ("--temperature", "0.7", "--top-k", "8")
    raw = record(*heat)
    right = Worker._score

    def wrong(self, *arguments):
        raw_settings, self.settings = self.settings, replace(self.settings, mode="processed")
        try:
            return right(self, *arguments)
        finally:
            self.settings = raw_settings

    monkeypatch.setattr(Worker, "_score", wrong)
    outcome = compared(raw, record(*heat))
    assert outcome.verdict is ComparisonVerdict.REGRESSION
    assert "cause-processed" in keys(outcome)


def test_another_mode_is_not_compared(record, base):
    outcome = compared(base, record("--top-k", "20", "--mode", "processed"))
    assert outcome.verdict is ComparisonVerdict.NOT_COMPARABLE
    assert outcome.reasons[0].args["field"] == "mode"
