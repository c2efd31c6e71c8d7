"""Results that are written where the caller says: what is returned is that, and nothing is made."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernels.logprobs import Logprobs, logprobs
from kernels.sampling import sample
from kernels.verify import Strategy, Verified, VerifyInputs, verify
from tests.kernels.properties import DEVICE, same

LOGITS = torch.randn(4, 40, generator=torch.Generator().manual_seed(1)).to(DEVICE)
IDS = torch.arange(4, device=DEVICE)
WARM = torch.full((4,), 0.8, device=DEVICE)


def empty_like(result: object) -> dict[str, torch.Tensor]:
    """Tensors of the shapes of a result's fields, with other things in them."""
    return {name: torch.full_like(value, 77) for name, value in vars(result).items()}


@pytest.fixture(params=[False, True], ids=["kernels", "law"])
def _side(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels, and on a CPU the law as well."""
    if request.param:
        if DEVICE != "cpu":
            pytest.skip("the law serves a CPU")
        monkeypatch.setattr("kernels._dispatch.interpreting", lambda: False)


@pytest.mark.usefixtures("_side")
def test_tokens_are_drawn_into_a_tensor() -> None:
    want, out = sample(LOGITS, IDS, IDS, WARM), torch.full_like(IDS, 77)
    assert sample(LOGITS, IDS, IDS, WARM, out=out) is out
    same("tokens", out, want)


@pytest.mark.usefixtures("_side")
@pytest.mark.parametrize("k", [0, 5])
def test_logprobs_are_written_into_tensors(k: int) -> None:
    want = logprobs(LOGITS, IDS, k)
    out = Logprobs(**empty_like(want))
    got = logprobs(LOGITS, IDS, k, out=out)
    for name, value in vars(want).items():
        assert getattr(got, name) is getattr(out, name)
        same(name, getattr(out, name), value)


def step() -> VerifyInputs:
    return VerifyInputs(
        strategy=Strategy.REJECTION,
        step_input_ids=torch.tensor([[0, 3], [0, 4]], device=DEVICE),
        seq_lens_this_time=torch.full((2,), 2, dtype=torch.int32, device=DEVICE),
        cu_seqlens_q_output=torch.tensor([0, 2, 4], dtype=torch.int32, device=DEVICE),
        step_idx=IDS[:2],
        max_dec_len=IDS[:2] + 9,
        end_tokens=IDS[:0],
        seeds=IDS[:2],
        target_logits=LOGITS,
        temperature=WARM[:2],
    )


@pytest.mark.usefixtures("_side")
@pytest.mark.parametrize("strategy", [Strategy.GREEDY, Strategy.REJECTION])
def test_verified_tokens_are_written_into_tensors(strategy: Strategy) -> None:
    given = replace(step(), strategy=strategy)
    want = verify(given)
    out = Verified(**empty_like(want))
    got = verify(given, out)
    assert got.accept_tokens is out.accept_tokens and got.accept_num is out.accept_num
    same("accept_tokens", out.accept_tokens, want.accept_tokens)
    same("accept_num", out.accept_num, want.accept_num)


def test_tensors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"out\.tokens must have shape \[R\] with R=4"):
        sample(LOGITS, IDS, IDS, WARM, out=IDS[:3])
    with pytest.raises(ValueError, match=r"out\.tokens must be contiguous"):
        sample(
            LOGITS, IDS, IDS, WARM, out=torch.zeros(4, 2, dtype=torch.int64, device=DEVICE)[:, 0]
        )
    scores = empty_like(logprobs(LOGITS, IDS, 5))
    with pytest.raises(ValueError, match=r"out\.topk_ids must have shape \[R, k\]"):
        logprobs(LOGITS, IDS, 4, out=Logprobs(**scores))
    done = empty_like(verify(step()))
    done["accept_num"] = done["accept_num"].long()
    with pytest.raises(TypeError, match=r"out\.accept_num must be int32"):
        verify(step(), Verified(**done))
