"""`kernels.decode.record`: the decode loop's own records, at two widths of the top-k table."""

from __future__ import annotations

import numpy as np
import pytest

from checks.logprobs.jsonl import read
from kernels.decode.record import main

SMALL = ("--requests", "3", "--max-tokens", "6", "--engine-version", "1")


@pytest.fixture
def recorded(tmp_path):
    def run(*options: str):
        path = tmp_path / "out.jsonl"
        assert main([*SMALL, *options, "-o", str(path)]) == 0
        with path.open("rb") as file:
            return list(read(file))

    return run


def test_another_width_changes_no_shared_column(recorded):
    """What seed 000's reviewer asked: the loop itself writes the same numbers, in fewer columns."""
    for narrow, wide in zip(recorded("--top-k", "3"), recorded("--top-k", "20"), strict=True):
        assert (narrow.k, wide.k) == (3, 20)
        assert (
            narrow.id == wide.id
            and narrow.prompt_sha256 == wide.prompt_sha256
            and narrow.origin == wide.origin
        )
        for name in ("tokens", "logprobs", "ranks", "logz", "accept_num"):
            assert np.array_equal(getattr(narrow, name), getattr(wide, name)), name
        assert np.array_equal(narrow.topk_ids, wide.topk_ids[:, :3])
        assert np.array_equal(narrow.topk_logprobs, wide.topk_logprobs[:, :3])


def test_a_record_is_whole_and_true_to_itself(recorded):
    for record in recorded(
        "--top-k", "4", "--temperature", "1.0", "--sample-top-k", "2", "--mode", "processed"
    ):
        assert len(record) == 6 == record.accept_num.sum() and record.accept_num[0] == 1
        assert np.isneginf(record.topk_logprobs[:, 2:]).all(), "only the best two could be drawn"
        assert set(record.ranks.tolist()) <= {1, 2}
        at = record.topk_ids == record.tokens[:, None]
        assert np.array_equal(record.topk_logprobs[at], record.logprobs)
        assert record.origin.mode == "processed" and record.speculative["proposer"] == "mtp"


def test_arguments_that_do_not_go_together_are_told(capsys):
    assert main(["--proposer", "none", "--drafts", "3"]) == 2
    assert "num_speculative_tokens" in capsys.readouterr().err
