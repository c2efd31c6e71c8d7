"""Results that are written where the caller says: what is returned is that, and nothing is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass, replace

import pytest
import torch

from kernels.accept import accept
from kernels.logprobs import Logprobs, logprobs
from kernels.sampling import (
    Adjustments,
    adjust_logits,
    expand_sampling_params,
    sample,
    top_k_top_p_cut,
    top_k_top_p_sample,
    top_p_candidates,
)
from kernels.sharded import Shard, logprobs_steps, sample_steps, together
from kernels.tree import TreeCandidates, TreeInputs, build_tree, verify_tree
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


def many() -> dict[str, Callable[..., object]]:
    """Every op that makes its results, over inputs of its own; each takes ``out``."""
    lens = torch.tensor([2, 2], dtype=torch.int32, device=DEVICE)
    cu = torch.tensor([0, 2, 4], dtype=torch.int32, device=DEVICE)
    twos = IDS.view(2, 2)
    penalty = Adjustments(bias_ids=IDS[:, None], bias=WARM[:, None])
    grown = TreeCandidates(
        scores=LOGITS[:2, :5].contiguous(), tokens=IDS[:1].expand(2, 5) + 3,
        parent_list=torch.zeros(2, 5, dtype=torch.int64, device=DEVICE), verified_id=IDS[:2],
        seq_lens=IDS[:2], topk=5, draft_token_num=2,
    )  # fmt: skip
    walked = TreeInputs(
        strategy=Strategy.GREEDY, draft_tokens=twos, parents=twos * 0 + torch.tensor([-1, 0], device=DEVICE),
        most_tokens=2, step_idx=IDS[:2], max_dec_len=IDS[:2] + 9, end_tokens=IDS[:0],
        target_logits=LOGITS.view(2, 2, 40),
    )  # fmt: skip
    shard = Shard((0, 40), 0)
    return {
        "accept": lambda **into: accept(twos, lens, cu, lens * 0, **into),
        "accept with rows": lambda **into: accept(twos, lens, cu, lens * 0, logits=LOGITS, **into),
        "build_tree": lambda **into: build_tree(grown, **into),
        "verify_tree": lambda **into: verify_tree(walked, **into),
        "adjust": lambda **into: adjust_logits(LOGITS, penalty, **into),
        "cut": lambda **into: top_k_top_p_cut(LOGITS, WARM, IDS + 3, WARM, **into),
        "cut by min-p": lambda **into: top_k_top_p_cut(LOGITS, WARM, min_p=WARM * 0.1, **into),
        "draw": lambda **into: top_k_top_p_sample(LOGITS, IDS, IDS, WARM, IDS + 3, WARM, **into),
        "draw by min-p": lambda **into: top_k_top_p_sample(
            LOGITS, IDS, IDS, WARM, min_p=WARM * 0.1, **into
        ),
        "candidates": lambda **into: top_p_candidates(LOGITS, WARM, WARM, 5, **into),
        "expand": lambda **into: expand_sampling_params(
            cu, 5, IDS[:2], WARM[:2], IDS[:2], WARM[:2], 4, **into
        ),
        "sample over shards": lambda **into: together(
            [sample_steps(LOGITS, IDS, IDS, WARM, shard, **into)]
        )[0],
        "logprobs over shards": lambda **into: together(
            [logprobs_steps(LOGITS, IDS, 5, shard, **into)]
        )[0],
    }  # fmt: skip


def parts(result: object) -> list[torch.Tensor | None]:
    """The tensors of a result."""
    if isinstance(result, torch.Tensor):
        return [result]
    return list(result if isinstance(result, tuple) else vars(result).values())


@pytest.mark.usefixtures("_side")
@pytest.mark.parametrize("name", list(many()))
def test_every_result_has_a_place(name: str) -> None:
    call = many()[name]
    want = call()
    places = [None if part is None else torch.full_like(part, 77) for part in parts(want)]
    out = places[0] if isinstance(want, torch.Tensor) else tuple(places)
    if is_dataclass(want):
        out = type(want)(*places)
    for _again in range(2):
        got = call(out=out)
        for place, part, expected in zip(places, parts(got), parts(want), strict=True):
            assert part is place
            if place is not None:
                same(name, place, expected)
                place.fill_(77)
    places[-1 if places[-1] is not None else 0] = places[0][:1]
    out = places[0] if isinstance(want, torch.Tensor) else tuple(places)
    if is_dataclass(want):
        out = type(want)(*places)
    with pytest.raises((ValueError, TypeError), match=r"out\."):
        call(out=out)
