"""What is kept of the calls that tests make."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kernels.emulator.library import HostTensor, Value
from kernels.emulator.recording import Call, Recorder, load_call

_ROWS, _VOCABULARY = 1 << 12, 1 << 14


def kept(folder: Path, *values: Value) -> list[Call]:
    """The calls that are there after one with `values`."""
    recorder = Recorder(folder, lambda _: ("logits", "ids", "size"))
    recorder.record("op", list(values), 0)
    return [load_call(path) for path in sorted(folder.iterdir())]


def logits(rows: int = _ROWS, width: int = _VOCABULARY) -> HostTensor:
    """256 MB, of which no page is there yet."""
    return HostTensor(np.zeros((rows, width), np.float32), "float32")


def integers(numbers: Sequence[int]) -> HostTensor:
    return HostTensor(np.array(numbers, np.int64), "int64")


def shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value, HostTensor)
    return value.array.shape


def test_of_a_call_that_is_too_large_each_row_is_cut(tmp_path: Path) -> None:
    # A length of 20000 says that these are no indices into the vocabulary.
    [call] = kept(tmp_path, logits(), integers([20000, 5000]), _VOCABULARY)
    assert not call.is_shown
    width = _VOCABULARY // 8
    assert shape(call.values[0]) == (_ROWS, width)
    assert call.values[2] == width


@pytest.mark.parametrize("ids", [[_VOCABULARY - 1], [0, _VOCABULARY // 8]])
def test_what_may_be_an_index_stays_one(tmp_path: Path, ids: list[int]) -> None:
    assert kept(tmp_path, logits(), integers(ids), 1) == []


def test_a_size_that_may_be_another_is_not_cut(tmp_path: Path) -> None:
    assert kept(tmp_path, logits(), integers(range(_VOCABULARY)), 1) == []
    assert kept(tmp_path, logits(_VOCABULARY), integers([0]), 1) == []
    # What cannot be halved often enough.
    assert kept(tmp_path, logits(width=_VOCABULARY + 4), integers([0]), 1) == []


def test_what_a_test_sets_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(tmp_path, lambda _: ("size",))
    monkeypatch.setenv("MOST_TOKENS", "3")
    recorder.record("op", [1], 0)
    monkeypatch.delenv("MOST_TOKENS")
    recorder.record("op", [1], 1)
    with_limit, without = [load_call(path) for path in sorted(tmp_path.iterdir())]
    assert with_limit.settings == {"MOST_TOKENS": "3"}
    assert with_limit.is_shown
    assert without.settings == {}
    with with_limit.with_settings():
        assert os.environ["MOST_TOKENS"] == "3"
    assert "MOST_TOKENS" not in os.environ
