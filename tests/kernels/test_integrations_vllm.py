"""``kernels.integrations.vllm`` behind fakes of vLLM's modules: what vLLM would call is called."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import pytest
import torch

from kernels.integrations import vllm
from tests.kernels.properties import DEVICE
from tests.kernels.stand_ins import import_from

V1 = "vllm.v1.sample.rejection_sampler"
V2 = "vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils"
LIMITS = "vllm.v1.sample.ops.topk_topp_sampler"
USER = "vllm.v1.worker.gpu.sample.sampler"


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """vLLM's modules as far as ``install`` looks at them, with functions that say their module."""
    modules = {path: ModuleType(path) for path in (V1, V2, LIMITS, USER)}
    for path in (V1, V2):
        modules[path].rejection_sample = lambda *args, path=path: path
    modules[LIMITS].apply_top_k_top_p = lambda *args: LIMITS
    modules[USER].apply_top_k_top_p = modules[LIMITS].apply_top_k_top_p
    import_from(modules, monkeypatch)
    monkeypatch.setattr(vllm, "_OWN", {})
    return modules


def metadata(temperature: list[float], seeds: dict[int, int] | None = None) -> SimpleNamespace:
    return SimpleNamespace(
        temperature=torch.tensor(temperature, device=DEVICE),
        all_greedy=not any(temperature),
        all_random=all(temperature),
        generators={
            request: torch.Generator(DEVICE).manual_seed(seed)
            for request, seed in (seeds or {}).items()
        },
    )


def certain(tokens: list[int], vocab: int = 20) -> torch.Tensor:
    """Rows that leave no doubt about these tokens."""
    logits = torch.full((len(tokens), vocab), -100.0, device=DEVICE)
    logits[range(len(tokens)), tokens] = 100.0
    return logits


def sample(
    engine: dict[str, ModuleType], drafts: list[list[int]], logits: torch.Tensor,
    asked: SimpleNamespace, probs: torch.Tensor | None = None, **options: object,
) -> object:  # fmt: skip
    """vLLM's call of its rejection sampler, with 19 for every bonus token."""
    counts = [len(row) for row in drafts]
    ids = torch.tensor([token for row in drafts for token in row], dtype=torch.int32, device=DEVICE)
    bonus = torch.full((len(drafts), 1), 19, device=DEVICE)
    cu = torch.tensor(counts, device=DEVICE).cumsum(0).int()
    return engine[V1].rejection_sample(
        ids, counts, max(counts), cu, probs, logits, bonus, asked, **options
    )


@pytest.mark.parametrize("temperature", [[0.0] * 3, [1.0] * 3, [0.0, 1.0, 1.0]])
def test_drafts_stand_until_the_first_that_does_not(
    engine: dict[str, ModuleType], temperature: list[float]
) -> None:
    vllm.install()
    drafts, wanted = [[1, 2, 3], [4], [5, -1]], [1, 7, 3, 4, 5, 6]
    got = sample(engine, drafts, certain(wanted), metadata(temperature))
    assert got.dtype == torch.int32
    assert got.tolist() == [[1, 7, -1, -1], [4, 19, -1, -1], [5, 6, -1, -1]]


def test_a_request_without_drafts_gets_its_bonus_token(engine: dict[str, ModuleType]) -> None:
    vllm.install()
    got = sample(engine, [[], [4]], certain([4]), metadata([1.0, 1.0]))
    assert got.tolist() == [[19, -1], [4, 19]]


def test_tokens_follow_the_target_whatever_the_draft_is(engine: dict[str, ModuleType]) -> None:
    vllm.install()
    target = torch.tensor([0.5, 0.3, 0.15, 0.05], device=DEVICE)
    draft = torch.tensor([0.1, 0.2, 0.3, 0.4], device=DEVICE)
    trials = 200
    drawn = torch.multinomial(draft, trials, replacement=True, generator=seeded(1))
    got = sample(
        engine, [[token] for token in drawn.tolist()], target.log().expand(trials, 4),
        metadata([1.0] * trials, {request: request for request in range(trials)}),
        draft.expand(trials, 4).contiguous(),
    )  # fmt: skip
    seen = torch.bincount(got[:, 0].long(), minlength=4) / trials
    # Five deviations of the likeliest token; the draft is 0.4 away from it.
    assert (seen - target).abs().max() < 5 * (0.25 / trials) ** 0.5


def seeded(seed: int) -> torch.Generator:
    return torch.Generator(DEVICE).manual_seed(seed)


def test_a_seed_gives_the_same_tokens_in_any_batch(engine: dict[str, ModuleType]) -> None:
    vllm.install()
    logits = torch.randn(4, 50, generator=seeded(0), device=DEVICE)
    alone = sample(engine, [[1, 2]], logits[:2], metadata([1.0], {0: 7}))
    other = sample(engine, [[3, 4], [1, 2]], logits[[2, 3, 0, 1]], metadata([1.0] * 2, {1: 7}))
    assert alone[0].tolist() == other[1].tolist()


@pytest.mark.parametrize("block", [False, True])
def test_the_second_runner_s_sampler(engine: dict[str, ModuleType], block: bool) -> None:
    """Two requests of three drafts and one, whose state lies at places 2 and 0."""
    vllm.install()
    logits = certain([1, 7, 3, 8, 4, 9])
    row = torch.arange(6, device=DEVICE)
    tokens, count = engine[V2].rejection_sample(
        logits, None, torch.tensor([0, 1, 2, 3, 0, 4], device=DEVICE),
        torch.tensor([0, 4, 6], dtype=torch.int32, device=DEVICE), row,
        torch.tensor([2, 0], dtype=torch.int32, device=DEVICE), None, None,
        torch.tensor([1.0, 0.0, 0.0], device=DEVICE), torch.arange(3, device=DEVICE), 3,
        use_block_verification=block,
    )  # fmt: skip
    assert count.tolist() == [2, 2]
    assert tokens.tolist() == [[1, 7, -1, -1], [4, 9, -1, -1]]


def test_the_mask_keeps_k_tokens_though_they_tie(engine: dict[str, ModuleType]) -> None:
    vllm.install()
    logits = torch.tensor([[1.0, 3.0, 1.0, 1.0], [0.0, 9.0, 0.0, 0.0]], device=DEVICE)
    k = torch.tensor([2, 4], dtype=torch.int32, device=DEVICE)
    p = torch.tensor([1.0, 0.5], device=DEVICE)
    got = engine[USER].apply_top_k_top_p(logits.clone(), k, p)
    none = float("-inf")
    assert got.tolist() == [[1.0, 3.0, none, none], [none, 9.0, none, none]]
    assert engine[LIMITS].apply_top_k_top_p(logits, None, None) is logits


def test_what_these_kernels_do_not_do_is_left_to_vllm(engine: dict[str, ModuleType]) -> None:
    vllm.install()
    vllm.install()
    asked = metadata([1.0])
    for option in ({"synthetic_mode": True}, {"use_fp64_gumbel": True}):
        assert sample(engine, [[1]], certain([1]), asked, **option) == V1
    absent = [None] * 10
    assert engine[V2].rejection_sample(*absent, 3, torch.ones(3)) == V2
    assert engine[V2].rejection_sample(*absent, 3, use_fp64=True) == V2


def test_without_vllm_it_says_so() -> None:
    with pytest.raises(ImportError, match="vllm"):
        vllm.install()
