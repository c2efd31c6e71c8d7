"""Speculative sampling leaves the target's distribution as it is: chi-square at 1e-9, and what must
not pass it.

A draft opposite to the target, drawn by our own sampler with our own seeds; 200,000 requests. On a
CPU the law draws (the property tests hold the kernels to it, token for token), on a GPU the kernels
themselves.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from scipy.stats import chi2

from kernels import _random
from kernels.sampling import DRAFT
from kernels.sampling.reference import sample_reference, top_k_top_p_cut_reference
from kernels.verify import reference as law
from kernels.verify.inputs import VerifyInputs
from kernels.verify.reference import verify_reference
from kernels.verify.strategy import Strategy
from tests.kernels.properties import DEVICE

DRAWS = 200_000
CHUNK = 8  # several chunks even of a small vocabulary
FALSE_ALARM = 1e-9

# strategy, dense draft, vocabulary, drafts, temperature
SETTINGS = [
    (Strategy.REJECTION, True, 16, 2, 0.6),
    (Strategy.REJECTION, False, 32, 1, 1.0),
    (Strategy.BLOCK, True, 16, 2, 1.0),
    (Strategy.TARGET_MATCH, False, 16, 1, 1.0),
]
if DEVICE == "cuda":  # the law in float64 is too slow on a CPU for all of them
    SETTINGS += [
        (strategy, dense, vocab, drafts, temperature)
        for strategy in (Strategy.REJECTION, Strategy.BLOCK)
        for dense in (True, False)
        for vocab in (16, 32)
        for drafts in (1, 3, 5)
        for temperature in (0.6, 1.0)
        if (strategy, dense, vocab, drafts, temperature) not in SETTINGS
    ]


def run(given: VerifyInputs) -> tuple[torch.Tensor, torch.Tensor]:
    if DEVICE == "cuda":
        from kernels.verify.triton import verify_triton

        return verify_triton(given, chunk=CHUNK)
    return verify_reference(given, chunk=CHUNK)[:2]


def draw(
    logits: torch.Tensor, seeds: torch.Tensor, position: int, temperature: torch.Tensor, cut=None
) -> torch.Tensor:
    place = torch.full_like(seeds, position)
    if DEVICE == "cuda":
        from kernels.sampling.draw import sample_triton

        return sample_triton(logits, seeds, place, temperature, cut, DRAFT, chunk=CHUNK)
    return sample_reference(logits, seeds, place, temperature, cut, DRAFT, chunk=CHUNK)[0]


def opposite(vocab: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Target and draft logits [rows, V]; what one likes the other does not."""
    gen = torch.Generator().manual_seed(vocab * 100 + rows)
    target = torch.randn(rows, vocab, generator=gen) * 1.2
    draft = -target + 0.3 * torch.randn(rows, vocab, generator=gen)
    return target.to(DEVICE), draft.to(DEVICE)


def starts(rows: int) -> torch.Tensor:
    """int32 [DRAWS + 1]: where the rows of each request begin, ``rows`` of them each."""
    return torch.arange(DRAWS + 1, dtype=torch.int32, device=DEVICE) * rows


def make(
    strategy: Strategy,
    dense: bool,
    vocab: int,
    drafts: int,
    temperature: float,
    masked: bool = False,
) -> VerifyInputs:
    """Every request has the same logits, in rows of its own, and its own seed."""
    target, draft = opposite(vocab, drafts + 1)
    draft = draft[:drafts]
    warm = torch.full((DRAWS,), temperature, device=DEVICE)
    seeds = torch.arange(DRAWS, device=DEVICE) * 7919 + 13
    cuts = (None, None)
    if masked:
        k = torch.full((drafts + 1,), vocab // 2, device=DEVICE)
        p = torch.full((drafts + 1,), 0.9, device=DEVICE)
        cuts = tuple(
            top_k_top_p_cut_reference(rows, warm[: len(rows)], k[: len(rows)], p[: len(rows)])[:2]
            for rows in (target, draft)
        )
    columns = []
    for i in range(drafts):
        cut = tuple(part[i].expand(DRAWS) for part in cuts[1]) if masked else None
        columns.append(draw(draft[i].expand(DRAWS, vocab), seeds, 5 + i, warm, cut))
    zero = torch.zeros(DRAWS, dtype=torch.int64, device=DEVICE)
    return VerifyInputs(
        step_input_ids=torch.stack([zero, *columns], dim=1),
        seq_lens_this_time=torch.full((DRAWS,), drafts + 1, dtype=torch.int32, device=DEVICE),
        cu_seqlens_q_output=starts(drafts + 1),
        step_idx=zero + 5,
        max_dec_len=zero + 99,
        end_tokens=zero[:0],
        seeds=seeds,
        target_logits=target.repeat(DRAWS, 1),
        draft_logits=draft.expand(DRAWS, drafts, vocab) if dense else None,
        temperature=warm,
        target_cut_logit=cuts[0][0].repeat(DRAWS) if masked else None,
        target_cut_id=cuts[0][1].repeat(DRAWS) if masked else None,
        draft_cut_logit=cuts[1][0].expand(DRAWS, drafts) if masked and dense else None,
        draft_cut_id=cuts[1][1].expand(DRAWS, drafts) if masked and dense else None,
        candidate_ids=None,
        candidate_scores=None,
        candidate_lens=None,
        top_p=None,
        seq_lens_encoder=None,
        stop_flags=None,
        is_block_step=None,
        reasoning_status=None,
        strategy=strategy,
        verify_window=2,
        reject_all=False,
        accept_all=False,
    )


def excess(tokens: torch.Tensor, p: torch.Tensor) -> float:
    """Chi-square of a sample against ``p``, over its quantile at 1e-9: above 1 is a failure."""
    counts = torch.bincount(tokens.cpu(), minlength=len(p)).double()
    expected = p.double().cpu() * len(tokens)
    rare = expected < 5
    if rare.any():
        counts = torch.cat([counts[~rare], counts[rare].sum()[None]])
        expected = torch.cat([expected[~rare], expected[rare].sum()[None]])
        assert expected[-1] > 0 or counts[-1] == 0, "a token outside the support was emitted"
        if expected[-1] == 0:
            counts, expected = counts[:-1], expected[:-1]
    statistic = ((counts - expected) ** 2 / expected).sum().item()
    return statistic / chi2.isf(FALSE_ALARM, len(expected) - 1)


def worst(given: VerifyInputs, tokens: torch.Tensor, count: torch.Tensor) -> float:
    """The largest excess over all positions that at least 2,000 requests reached, the bonus among
    them."""
    found = []
    for i in range(tokens.shape[1]):
        reached = tokens[count > i, i]
        if len(reached) >= 2000:
            p = law._target(given, i)[0]
            found.append(excess(reached, p))
    assert len(found) >= 1
    return max(found)


@pytest.mark.parametrize(
    ("strategy", "dense", "vocab", "drafts", "temperature"), SETTINGS,
    ids=["{}-{}-V{}-K{}-t{}".format(s.name, "dense" if d else "onehot", v, k, t) for s, d, v, k, t in SETTINGS],
)  # fmt: skip
def test_every_position_follows_the_target(
    strategy: Strategy, dense: bool, vocab: int, drafts: int, temperature: float
) -> None:
    given = make(strategy, dense, vocab, drafts, temperature)
    assert worst(given, *run(given)) < 1


def test_masked_draft_and_target_keep_the_support() -> None:
    given = make(Strategy.REJECTION, True, 16, 2, 1.0, masked=True)
    tokens, count = run(given)
    assert (law._target(given, 0)[0] == 0).any()  # the cut does cut
    assert worst(given, tokens, count) < 1


def test_pairs_follow_the_chain() -> None:
    """The target's second row depends on the first draft, as a model's does: 64 cells of (first,
    second)."""
    vocab = 8
    one = make(Strategy.REJECTION, True, vocab, 1, 1.0)
    gen = torch.Generator().manual_seed(9)
    after = (torch.randn(vocab, vocab, generator=gen) * 1.2).to(DEVICE)
    first = one.target_logits[:1]
    x = one.step_input_ids[:, 1]
    # Rows of request b: the common first row, then the one that follows its draft.
    rows = torch.stack([first.expand(DRAWS, vocab), after[x]], dim=1).flatten(0, 1)
    tokens, count = run(replace(one, target_logits=rows))
    alone = run(
        replace(
            one,
            target_logits=after[tokens[:, 0]],
            cu_seqlens_q_output=starts(1),
            seq_lens_this_time=torch.ones_like(one.seq_lens_this_time),
            step_idx=one.step_idx + 1,
        )
    )[0][:, 0]
    second = torch.where(count > 1, tokens[:, 1], alone)
    p = first[0].double().softmax(0)[:, None] * after.double().softmax(1)
    assert excess(tokens[:, 0] * vocab + second, p.flatten()) < 1


def test_acceptance_is_the_overlap() -> None:
    """P(the first draft stands) = sum of min(p, q), within four standard errors; a block accepts no
    fewer."""
    given = make(Strategy.REJECTION, True, 16, 1, 1.0)
    count = run(given)[1]
    rate = (count > 1).double().mean().item()
    expected = torch.minimum(law._target(given, 0)[0], law._draft(given, 0)[0]).sum().item()
    assert abs(rate - expected) < 4 * (expected * (1 - expected) / DRAWS) ** 0.5
    block = run(replace(given, strategy=Strategy.BLOCK))[1]
    assert block.double().mean() >= count.double().mean() - 1e-2


def test_noise_has_no_coarse_steps() -> None:
    """A uniform of 8 bits would pass every chi-square here, and lose the tail of a real
    vocabulary."""
    seeds = torch.arange(DRAWS)
    u, v = _random.uniforms(seeds, torch.zeros_like(seeds), _random.RECOVER)
    assert len(u.unique()) > 0.98 * DRAWS
    assert u.min() > 0 and u.max() < 1 and abs(torch.corrcoef(torch.stack([u, v]))[0, 1]) < 0.02
    w, _ = _random.uniforms(seeds, torch.zeros_like(seeds), _random.DRAFT)
    assert (u == w).double().mean() < 1e-3


def test_philox_is_philox() -> None:
    """Known answers of the Random123 distribution."""
    zero = torch.zeros(1, dtype=torch.int64)
    assert [int(w) for w in _random.philox(zero, (zero,) * 4)] == [
        0x6627E8D5,
        0xE169C58D,
        0xBC57AC4C,
        0x9B00DBD8,
    ]
    ones = zero - 1
    assert [int(w) for w in _random.philox(ones, (ones,) * 4)] == [
        0x408F276D,
        0x41C83B0E,
        0xA20BC7C6,
        0x6D5451FD,
    ]


def _topp(patch: pytest.MonkeyPatch, given: VerifyInputs) -> VerifyInputs:
    """FastDeploy's default strategy, which is documented as not lossless: candidates are the best
    four."""
    few = 3000  # enough for so large a bias, and the law walks TOPP request by request
    rows = few * given.step_input_ids.shape[1]
    p = given.target_logits[:rows].double().softmax(1)
    best = p.topk(4, dim=1)
    lens = torch.full((len(p),), 4, dtype=torch.int32, device=DEVICE)
    names = (
        "step_input_ids",
        "seq_lens_this_time",
        "step_idx",
        "max_dec_len",
        "seeds",
        "temperature",
    )
    given = replace(given, **{name: getattr(given, name)[:few] for name in names})
    given = replace(given, cu_seqlens_q_output=given.cu_seqlens_q_output[: few + 1])
    return replace(
        given, strategy=Strategy.TOPP, draft_logits=None, candidate_ids=best.indices,
        candidate_scores=best.values.float(), candidate_lens=lens, top_p=given.temperature * 0 + 0.95,
    )  # fmt: skip


def _shared_noise(patch: pytest.MonkeyPatch, given: VerifyInputs) -> VerifyInputs:
    patch.setattr(law, "RECOVER", DRAFT)
    return given


def _no_residual(patch: pytest.MonkeyPatch, given: VerifyInputs) -> VerifyInputs:
    original = law._draw_target
    patch.setattr(
        law, "_draw_target", lambda g, p, i, chunk: original(g, law._target(g, i), i, chunk)
    )
    return given


def _other_temperature(patch: pytest.MonkeyPatch, given: VerifyInputs) -> VerifyInputs:
    return replace(given, draft_logits=given.draft_logits / 1.15)


MISTAKES = [_shared_noise, _no_residual, _other_temperature, _topp]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_noticed(mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of these would pass a test with a larger vocabulary or fewer draws."""
    given = make(Strategy.REJECTION, True, 32, 1, 1.0)
    tokens, count = verify_reference(mistake(monkeypatch, given), chunk=CHUNK)[:2]
    if mistake is _topp:
        assert count.double().mean() > 1
    first = law._target(replace(given, strategy=Strategy.REJECTION), 0)[0]
    assert excess(tokens[:, 0], first) > 1
