"""The sampling ops against their law."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
import torch

from kernels._logits import processed_logits
from kernels._random import CHUNK
from kernels.logprobs.reference import logprobs_reference
from kernels.sampling import (
    DRAFT,
    MAX_SEED,
    RECOVER,
    expand_sampling_params,
    sample,
    top_k_top_p_cut,
    top_k_top_p_sample,
    top_p_candidates,
)
from kernels.sampling.reference import (
    cut_candidates_reference,
    expand_reference,
    sample_reference,
    top_k_top_p_cut_reference,
)
from tests.kernels.conftest import gpu_only
from tests.kernels.gpu_checks import assert_graph_replays, assert_no_recompilation, assert_no_sync
from tests.kernels.logits import PLACES, make_logits, rows_from
from tests.kernels.properties import (
    DEVICE,
    bounded,
    close,
    examples,
    for_the_law,
    property_test,
    same,
)
from tests.kernels.strategies import coin, independent, mostly

MARGIN = 1e-5

# Read as greedy but for the last, at which everything finite is equally likely.
ODD_TEMPERATURES = [-1.0, 1e-39, float("nan"), float("inf")]

# What a kernel is compiled for varies less on a GPU, where each variant costs seconds of compiling.
GPU = DEVICE == "cuda"
KINDS = 16 + examples() // 80


@dataclass(frozen=True)
class Case:
    rows: int
    vocab: int
    dtype: torch.dtype
    values: str
    strided: bool
    top_k: bool
    top_p: bool
    fused: bool  # the draw with the cut, in one call
    stream: int
    chunk: int
    seed: int


def draw(rng: Random) -> Case:
    # On a GPU all that a kernel is compiled for comes from the case's kind.
    kind = Random(rng.randrange(KINDS)) if GPU else rng
    return Case(
        rows=mostly(rng, [1], [2, 3]),
        vocab=kind.choice([2, 17, 65, 100, 257, 600]),
        dtype=kind.choice([torch.bfloat16, torch.float16, torch.float32]),
        values=rng.choice(["normal", "ties", "few finite", "specials", "constant", "wide"]),
        strided=coin(kind),
        top_k=coin(kind),
        top_p=coin(kind),
        fused=kind.random() < 2 / 3,
        stream=kind.choice([DRAFT, RECOVER]),
        chunk=kind.choice([64, 128]),
        seed=rng.getrandbits(31),
    )


CASES = independent(draw)


def inputs(case: Case) -> dict[str, torch.Tensor]:
    gen = torch.Generator().manual_seed(case.seed)
    shape = (case.rows, case.vocab + 3 if case.strided else case.vocab)
    logits = make_logits(case.values, shape, gen).to(case.dtype).to(DEVICE)[:, : case.vocab]

    def pick(values: list[float]) -> torch.Tensor:
        return torch.tensor(values)[torch.randint(0, len(values), (case.rows,), generator=gen)]

    return {
        "logits": logits,
        "temperature": pick([0.0, 0.5, 0.7, 1.0, 1.0, 1.0, 1.3, 2.0, 3.0, *ODD_TEMPERATURES]).to(
            DEVICE
        ),
        "top_k": pick([0, 1, 2, 5, 20, 50, 70, 200, 1000]).long().to(DEVICE),
        "top_p": pick([0.0, 0.1, 0.5, 0.9, 0.999, 1.0]).to(DEVICE),
        "seeds": torch.randint(-(2**62), 2**62, (case.rows,), generator=gen).to(DEVICE),
        "positions": torch.randint(0, 2**40, (case.rows,), generator=gen).to(DEVICE),
    }


def check(case: Case) -> None:
    """The kept set is exact, and the draw from it is the law's."""
    from kernels.sampling.draw import sample_triton

    given = inputs(case)
    logits, temperature = given["logits"], given["temperature"]
    limits = (given["top_k"] if case.top_k else None, given["top_p"] if case.top_p else None)
    home = for_the_law(given)
    limits_home = (home["top_k"] if case.top_k else None, home["top_p"] if case.top_p else None)
    logit, token, margin = top_k_top_p_cut_reference(
        home["logits"], home["temperature"], *limits_home
    )
    draw = (given["seeds"], given["positions"], case.stream) if case.fused else None
    got_logit, got_token, *fused = select(case, logits, temperature, *limits, draw)
    sure = margin > MARGIN
    same("cut_logit", got_logit.cpu()[sure], logit[sure])
    same("cut_id", got_token.cpu()[sure], token[sure])
    known_cut = sure

    drawn, margin = sample_reference(
        home["logits"], home["seeds"], home["positions"], home["temperature"], (logit, token), case.stream,
        chunk=case.chunk,
    )  # fmt: skip
    logit, token = logit.to(DEVICE), token.to(DEVICE)
    where = (given["seeds"], given["positions"], temperature, (logit, token), case.stream)
    got = sample_triton(logits, *where, chunk=case.chunk)
    sure = margin > MARGIN
    same("token", got.cpu()[sure], drawn[sure])
    assert len(fused) == case.fused
    for tokens in fused:
        same("fused token", tokens.cpu()[sure & known_cut], drawn[sure & known_cut])
    # Whatever rounding did, a token outside the kept set is never drawn.
    kept = processed_logits(home["logits"], logit.cpu(), token.cpu()) > float("-inf")
    possible = kept.any(dim=1) & (home["temperature"] > 0)
    assert kept.gather(1, got.cpu()[:, None])[possible].all()


def select(
    case: Case, *arguments: torch.Tensor | tuple[torch.Tensor, torch.Tensor, int] | None
) -> tuple[torch.Tensor, ...]:
    """The selection with a sample and lists so small that every way through a row is taken."""
    from kernels.sampling.bracket import Geometry
    from kernels.sampling.cut import select_triton

    sizes = GEOMETRIES[case.seed % len(GEOMETRIES)] if DEVICE == "cpu" else GEOMETRIES[0]
    return select_triton(*arguments, geometry=Geometry(*sizes, case.chunk, 16), block=512)


# Sample, large sample, segment, room for candidates.
GEOMETRIES = [(32, 64, 2, 64), (64, 64, 2, 128), (32, 64, 1, 32), (64, 128, 2, 64)]


test_cut_and_sample_match_the_reference = property_test(CASES)(check)


def check_candidates(case: Case) -> None:
    given = inputs(case)
    count = 1 + case.seed % min(case.vocab, 9)
    ids, scores, lens = top_p_candidates(
        given["logits"], given["temperature"], given["top_p"], count
    )
    home = for_the_law(given)
    _, _, best, best_logprobs, _ = logprobs_reference(
        home["logits"], None, count, None, home["temperature"], None, None
    )
    want = cut_candidates_reference(best, best_logprobs, home["top_p"])
    until = best_logprobs.double().exp().cumsum(dim=1)
    sure = (until - home["top_p"][:, None]).abs().amin(dim=1) > MARGIN
    same("ids", ids.cpu()[sure], want[0][sure])
    close("scores", scores.cpu()[sure], want[1][sure], 1e-6)
    same("lens", lens.cpu()[sure], want[2][sure])
    assert (lens >= 1).all()  # an empty set would reject every draft


CANDIDATES = max(40, examples() // 10)
test_candidates_match_the_reference = bounded(CASES, check_candidates, CANDIDATES)


@dataclass(frozen=True)
class ExpandCase:
    batch: int
    longest: int
    padding: int
    increment: int
    seed: int


def draw_expand(rng: Random) -> ExpandCase:
    return ExpandCase(
        batch=rng.randint(0, 6),
        longest=rng.randint(0, 40),
        padding=rng.randint(0, 20),
        increment=rng.choice([0, 4, 24, MAX_SEED - 1]),
        seed=rng.getrandbits(31),
    )


EXPAND_CASES = independent(draw_expand)


def check_expand(case: ExpandCase) -> None:
    gen = torch.Generator().manual_seed(case.seed)
    lengths = torch.randint(0, case.longest + 1, (case.batch,), generator=gen)
    cu = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    seeds = torch.randint(0, 2**62, (case.batch,), generator=gen)
    near = torch.rand(case.batch, generator=gen) < 0.5
    seeds = torch.where(near, MAX_SEED - 1 - seeds % 50, seeds)  # about to wrap
    given = (
        (cu.int() if case.seed % 2 else cu).to(DEVICE),
        int(cu[-1]) + case.padding,
        seeds.to(DEVICE),
        torch.rand(case.batch, generator=gen).to(DEVICE),
        torch.randint(0, 99, (case.batch,), generator=gen).to(DEVICE),
        torch.rand(case.batch, generator=gen).to(DEVICE),
        case.increment,
    )
    names = ("seeds", "temperature", "top_k", "top_p", "next_seed")
    for name, got, want in zip(
        names, expand_sampling_params(*given), expand_reference(*given), strict=True
    ):
        same(name, got, want)


test_expand_matches_the_reference = property_test(EXPAND_CASES)(check_expand)


def test_seeds_wrap_as_fastdeploy_says() -> None:
    one = torch.ones(1, device=DEVICE)
    seed = torch.tensor([MAX_SEED - 2], device=DEVICE)
    cu = torch.tensor([0, 3], device=DEVICE)
    seeds, _, _, _, after = expand_sampling_params(cu, 3, seed, one, one.long(), one, 24)
    assert seeds.tolist() == [(MAX_SEED - 2 + 4 * i) % MAX_SEED for i in range(3)]
    assert after.tolist() == [(MAX_SEED - 2 + 24) % MAX_SEED]


def test_top_k_keeps_k_tokens_on_ties() -> None:
    """A threshold on values alone keeps all five (vLLM #50979)."""
    logits = torch.tensor([[1.0, 3.0, 3.0, 3.0, 3.0, 3.0, 0.0]], device=DEVICE)
    one = torch.ones(1, device=DEVICE)
    logit, token = top_k_top_p_cut(logits, one, torch.tensor([2], device=DEVICE))
    assert (logit.tolist(), token.tolist()) == ([3.0], [2])


def check_ties_past_the_best_64() -> None:
    """The search through the whole row keeps k tokens too."""
    logits = torch.zeros(1, 100, device=DEVICE)
    logit, token = top_k_top_p_cut(
        logits, torch.ones(1, device=DEVICE), torch.tensor([70], device=DEVICE)
    )
    same("cut_logit", logit, torch.zeros(1))
    same("cut_id", token, torch.tensor([69]))


test_ties_past_the_best_64 = check_ties_past_the_best_64


def check_a_wrong_guess() -> None:
    """A bracket that misses the end of the set costs time, never the set: here the sampled places
    hold small logits, and all the others large ones."""
    from kernels.sampling.bracket import Geometry
    from kernels.sampling.cut import select_triton

    geometry = Geometry(16, 16, 1, 16, 64, 16)
    logits = torch.randn(1, 300, generator=torch.Generator().manual_seed(2)).to(DEVICE) + 50
    segment = torch.arange(16)
    place = (segment * 2654435769 >> 16) & 65535
    logits[0, segment * 300 // 16 + (place * (300 // 16) >> 16)] -= 100
    one = torch.ones(1, device=DEVICE)
    for k, p in ((150, None), (150, 0.5), (None, 0.5)):
        limits = (
            None if k is None else torch.tensor([k], device=DEVICE),
            None if p is None else torch.tensor([p], device=DEVICE),
        )
        want = top_k_top_p_cut_reference(logits.cpu(), one.cpu(), *(home(part) for part in limits))
        got = select_triton(logits, one, *limits, geometry=geometry, block=128)
        same("cut_logit", got[0], want[0])
        same("cut_id", got[1], want[1])


def home(part: torch.Tensor | None) -> torch.Tensor | None:
    return None if part is None else part.cpu()


test_a_wrong_guess = check_a_wrong_guess


def test_the_fused_draw_does_not_depend_on_the_batch() -> None:
    gen = torch.Generator().manual_seed(8)
    logits = torch.randn(4, 300, generator=gen).to(DEVICE)
    seeds, warm = torch.arange(4, device=DEVICE), torch.full((4,), 0.8, device=DEVICE)
    k, p = torch.tensor([0, 5, 40, 0], device=DEVICE), torch.full((4,), 0.9, device=DEVICE)
    together = top_k_top_p_sample(logits, seeds, seeds, warm, k, p)
    for row in range(4):
        one = slice(row, row + 1)
        alone = top_k_top_p_sample(logits[one], seeds[one], seeds[one], warm[one], k[one], p[one])
        for name, got, want in zip(("token", "logit", "id"), alone, together, strict=True):
            same(name, got, want[one])


def test_the_draw_does_not_depend_on_the_batch() -> None:
    gen = torch.Generator().manual_seed(5)
    logits = torch.randn(6, 300, generator=gen).to(DEVICE)
    seeds = torch.arange(6, device=DEVICE)
    place = torch.full((6,), 9, device=DEVICE)
    warm = torch.full((6,), 0.8, device=DEVICE)
    together = sample(logits, seeds, place, warm)
    alone = [sample(logits[i : i + 1], seeds[i : i + 1], place[:1], warm[:1]) for i in range(6)]
    same("tokens", together, torch.cat(alone))


@pytest.mark.parametrize("vocab", [4104, 4099])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_rows_may_begin_anywhere(vocab: int, dtype: torch.dtype) -> None:
    gen = torch.Generator().manual_seed(vocab)
    logits = make_logits("specials", (3, vocab), gen).to(dtype).to(DEVICE)
    ids = torch.arange(3, device=DEVICE)
    warm = torch.tensor([0.0, 0.7, 1.0], device=DEVICE)
    k, top_p = torch.full_like(ids, 100), torch.full_like(warm, 0.95)
    drawn, cut = (
        sample(logits, ids, ids, warm),
        top_k_top_p_sample(logits, ids, ids, warm, k, top_p),
    )
    same("law", drawn, sample_reference(logits, ids, ids, warm, None, RECOVER, chunk=CHUNK)[0])
    law = top_k_top_p_cut_reference(logits, warm, k, top_p)
    same("law's cut", cut[2], law[1])
    for before in PLACES:
        moved = rows_from(logits, before)
        same(f"{before} before", sample(moved, ids, ids, warm), drawn)
        got = top_k_top_p_sample(moved, ids, ids, warm, k, top_p)
        for name, value, want in zip(("token", "cut_logit", "cut_id"), got, cut, strict=True):
            same(f"{name}, {before} before", value, want)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"seeds": torch.zeros(3, dtype=torch.int64)}, ValueError, r"seeds must have shape \[R\] with R=2"),
        ({"temperature": torch.ones(2).double()}, TypeError, r"float64\[2\] on cpu"),
        ({"stream": 7}, ValueError, r"stream must be in 0\.\.2, got 7"),
        ({"cut": (torch.zeros(2), torch.zeros(2))}, TypeError, r"cut\[1\] must be int64"),
        ({"logits": torch.zeros(2, 0)}, ValueError, "at least one column"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(change: dict, error: type, text: str) -> None:
    given = {
        "logits": torch.zeros(2, 9),
        "seeds": torch.zeros(2, dtype=torch.int64),
        "positions": torch.zeros(2, dtype=torch.int64),
        "temperature": torch.ones(2),
    }
    with pytest.raises(error, match=text):
        sample(**given | change)


def test_candidates_outside_1_to_64_are_refused() -> None:
    with pytest.raises(ValueError, match=r"candidates must be in 1\.\.64, got 65"):
        top_p_candidates(torch.zeros(2, 99), torch.ones(2), torch.ones(2), 65)


@gpu_only
@pytest.mark.parametrize("vocab", [151_936, 50_257])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_real_vocabularies(vocab: int, dtype: torch.dtype) -> None:
    gen = torch.Generator(device="cuda").manual_seed(vocab)
    logits = (torch.randn(12, vocab, generator=gen, device="cuda") * 4).to(dtype)
    warm = torch.full((12,), 0.9, device="cuda")
    k = torch.tensor([0, 1, 20, 1000] * 3, device="cuda")
    p = torch.tensor([0.5] * 4 + [0.95] * 4 + [1.0] * 4, device="cuda")
    logit, token, margin = top_k_top_p_cut_reference(logits, warm, k, p)
    got_logit, got_token = top_k_top_p_cut(logits, warm, k, p)
    sure = margin > 1e-6
    assert sure.sum() >= 4
    same("cut_logit", got_logit[sure], logit[sure])
    same("cut_id", got_token[sure], token[sure])
    seeds = torch.arange(12, device="cuda")
    drawn, margin = sample_reference(logits, seeds, seeds, warm, None, DRAFT, chunk=CHUNK)
    sure = margin > 1e-6
    assert sure.sum() >= 6
    same("tokens", sample(logits, seeds, seeds, warm, stream=DRAFT)[sure], drawn[sure])


@gpu_only
def test_on_a_gpu_no_sync_graph_and_one_compilation() -> None:
    from kernels.sampling import bracket, collect, draw, settle

    logits = torch.randn(64, 5000, device="cuda").bfloat16()
    seeds = torch.arange(64, device="cuda")
    warm = torch.ones(64, device="cuda")
    k = torch.full((64,), 20, device="cuda")

    def call(n: int) -> torch.Tensor:
        cut = top_k_top_p_cut(logits[:n], warm[:n], k[:n], warm[:n])
        return sample(logits[:n], seeds[:n], seeds[:n], warm[:n], cut=cut)

    assert_no_sync(lambda: call(64))
    assert_graph_replays(lambda: call(64))

    def fused(n: int) -> torch.Tensor:
        return top_k_top_p_sample(logits[:n], seeds[:n], seeds[:n], warm[:n], k[:n], warm[:n])[0]

    assert_no_sync(lambda: fused(64))
    assert_graph_replays(lambda: fused(64))
    for kernel in (
        bracket._bracket_kernel, collect._collect_kernel, settle._settle_kernel,
        draw._sample_stats_kernel, draw._sample_kernel,
    ):  # fmt: skip
        assert_no_recompilation(kernel, call, [3, 1, 2, 16, 17, 64])
