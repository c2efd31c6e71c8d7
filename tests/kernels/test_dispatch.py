"""Where an op runs, and where it refuses to."""

from __future__ import annotations

import pytest
import torch

from kernels import _dispatch, _selftest
from kernels._dispatch import use_triton


def test_another_gpu_than_the_current_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A launch goes to the current device, where the other's addresses mean nothing."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    assert use_triton("sample", torch.device("cuda:0"))
    with pytest.raises(ValueError, match=r"sample: tensors on cuda:1, .* is cuda:0; enter"):
        use_triton("sample", torch.device("cuda:1"))


def test_an_interpreter_that_gets_nan_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(_selftest, "interpreter_reads_nan", lambda: False)
    _dispatch._refuse_a_wrong_interpreter.cache_clear()
    with pytest.raises(RuntimeError, match=r"interpreter of Triton .* gets NaN wrong"):
        use_triton("sample", torch.device("cpu"))
    monkeypatch.undo()
    _dispatch._refuse_a_wrong_interpreter.cache_clear()


def test_a_device_that_nothing_serves_is_refused() -> None:
    with pytest.raises(ValueError, match="runs on cuda and cpu, got tensors on meta"):
        use_triton("sample", torch.device("meta"))
