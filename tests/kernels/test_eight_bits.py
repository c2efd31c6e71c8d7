"""Logits of 8 bits are the numbers that their bits say, NaN and infinities among them: every op
gives the bits that it gives of the same logits in float32.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import triton
import triton.language as tl

from kernels._device import load_logits
from kernels.logprobs import logprobs
from kernels.sampling import DRAFT, sample, top_k_top_p_cut, top_k_top_p_sample
from kernels.verify import Strategy, VerifyInputs, verify
from tests.kernels.conftest import gpu_only
from tests.kernels.logits import EIGHT_BITS, make_logits
from tests.kernels.properties import DEVICE, same

both = pytest.mark.parametrize("dtype", EIGHT_BITS, ids=str)


@triton.jit
def _copy_kernel(from_ptr, to_ptr, there):
    at = tl.arange(0, 256)
    tl.store(to_ptr + at, load_logits(from_ptr + at, at < there))


@both
def test_every_encoding(dtype: torch.dtype) -> None:
    """NaN is read as -inf, which is what it counts as; so is what is not there."""
    encodings = torch.arange(256).to(torch.uint8).view(dtype)
    got = torch.full((256,), 7.0, device=DEVICE)
    _copy_kernel[(1,)](encodings.to(DEVICE), got, 250)
    want = encodings.float()
    want[250:] = float("-inf")
    same("numbers", got.cpu(), want.where(~want.isnan(), float("-inf")))


@pytest.fixture(params=[False, True], ids=["kernels", "law"])
def _side(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels, and on a CPU the law as well."""
    if request.param:
        if DEVICE != "cpu":
            pytest.skip("the law serves a CPU")
        monkeypatch.setattr("kernels._dispatch.interpreting", lambda: False)


def rows_of(dtype: torch.dtype, count: int, vocab: int = 2100) -> torch.Tensor:
    """Ordinary rows and odd ones, all encodings, and nothing but the one that is NaN."""
    gen = torch.Generator().manual_seed(count)
    rows = make_logits("normal", (count, vocab), gen)
    rows[1] = make_logits("specials", (1, vocab), gen)[0]
    rows = rows.to(dtype)
    rows[2] = torch.arange(vocab).to(torch.uint8).view(dtype)
    rows[3] = torch.full((vocab,), float("nan")).to(dtype)
    return rows.to(DEVICE)


@pytest.mark.usefixtures("_side")
@both
def test_sampling_and_scoring(dtype: torch.dtype) -> None:
    logits = rows_of(dtype, 6)
    seeds = torch.arange(6, device=DEVICE)
    warm = torch.tensor([0.7, 1.0, 1.0, 1.0, 0.0, 2.0], device=DEVICE)
    wide = logits.float()
    same("tokens", sample(logits, seeds, seeds, warm), sample(wide, seeds, seeds, warm))
    for k in (0, 20):
        got = logprobs(logits, seeds * 400, k, temperature=warm)
        for name, value in vars(logprobs(wide, seeds * 400, k, temperature=warm)).items():
            same(name, getattr(got, name), value)


@pytest.mark.usefixtures("_side")
@both
@pytest.mark.parametrize("strategy", [Strategy.TARGET_MATCH, Strategy.REJECTION, Strategy.BLOCK])
def test_verifying(dtype: torch.dtype, strategy: Strategy) -> None:
    target, ids = rows_of(dtype, 6), torch.arange(2, device=DEVICE)
    draft, warm = rows_of(dtype, 4), torch.tensor([0.8, 1.0], device=DEVICE)
    drawn = sample(draft, ids.repeat(2), ids.repeat(2), warm.repeat(2), stream=DRAFT).view(2, 2)
    given = VerifyInputs(
        strategy=strategy,
        step_input_ids=torch.cat([drawn[:, :1], drawn], dim=1),
        seq_lens_this_time=torch.full((2,), 3, dtype=torch.int32, device=DEVICE),
        cu_seqlens_q_output=torch.tensor([0, 3, 6], dtype=torch.int32, device=DEVICE),
        step_idx=ids,
        max_dec_len=ids + 9,
        end_tokens=ids[:0],
        seeds=ids,
        target_logits=target,
        draft_logits=None if strategy == Strategy.TARGET_MATCH else draft.view(2, 2, -1),
        temperature=warm,
    )
    wide = replace(given, target_logits=target.float())
    if given.draft_logits is not None:
        wide = replace(wide, draft_logits=given.draft_logits.float())
    got, want = verify(given), verify(wide)
    same("accept_tokens", got.accept_tokens, want.accept_tokens)
    same("accept_num", got.accept_num, want.accept_num)


@both
def test_a_cut_wants_wider_logits(dtype: torch.dtype) -> None:
    logits, ids = torch.zeros(2, 40).to(dtype), torch.arange(2)
    for call in (
        lambda: top_k_top_p_cut(logits, torch.ones(2), ids),
        lambda: top_k_top_p_sample(logits, ids, ids, torch.ones(2), ids),
    ):
        with pytest.raises(TypeError, match="must be bfloat16 or float16 or float32, got float8"):
            call()


@gpu_only
@both
def test_a_real_vocabulary(dtype: torch.dtype) -> None:
    logits = rows_of(dtype, 9, vocab=151_936)
    seeds, warm = torch.arange(9, device="cuda"), torch.full((9,), 0.8, device="cuda")
    wide = logits.float()
    same("tokens", sample(logits, seeds, seeds, warm), sample(wide, seeds, seeds, warm))
    got = logprobs(logits, seeds, 64)
    for name, value in vars(logprobs(wide, seeds, 64)).items():
        if value.is_floating_point():
            # Another kernel each, in which the compiler may join a product and a sum to one instruction.
            torch.testing.assert_close(getattr(got, name), value, rtol=1e-6, atol=0)
        else:
            same(name, getattr(got, name), value)
