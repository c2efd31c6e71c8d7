"""Changes of logits that requests ask for, and ``min_p``, against their law."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
import torch

from kernels._logits import processed_logits
from kernels.sampling import Adjustments, adjust_logits, sample, top_k_top_p_cut, top_k_top_p_sample
from kernels.sampling.reference import (
    adjust_reference,
    min_p_cut_reference,
    top_k_top_p_cut_reference,
)
from tests.kernels import test_sampling
from tests.kernels.conftest import gpu_only
from tests.kernels.gpu_checks import assert_graph_replays, assert_no_sync
from tests.kernels.logits import DTYPES, make_logits
from tests.kernels.properties import DEVICE, bounded, examples, for_the_law, property_test, same
from tests.kernels.strategies import coin, independent, integers, mostly

GPU = DEVICE == "cuda"
KINDS = 16 + examples() // 80
PARTS = (
    "requests", "bitmask", "allowed", "bias", "repetition", "frequency", "presence", "counts",
    "prompt", "words",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    rows: int
    vocab: int
    dtype: torch.dtype
    values: str
    strided: bool
    ids: torch.dtype
    counts: torch.dtype
    longest: int
    parts: frozenset[str]
    seed: int


def draw(rng: Random) -> Case:
    # On a GPU all that a kernel is compiled for comes from the case's kind.
    kind = Random(rng.randrange(KINDS)) if GPU else rng
    return Case(
        rows=mostly(rng, [1, 2], [3, 4]),
        vocab=kind.choice([2, 31, 32, 65, 100, 257]),
        dtype=kind.choice(DTYPES),
        values=rng.choice(["normal", "ties", "few finite", "specials", "constant"]),
        strided=coin(kind),
        ids=kind.choice([torch.int32, torch.int64]),
        counts=kind.choice([torch.uint8, torch.int16, torch.int32]),
        longest=kind.choice([1, 2, 4]),
        parts=frozenset(part for part in PARTS if coin(kind)),
        seed=rng.getrandbits(31),
    )


CASES = independent(draw)


def inputs(case: Case) -> tuple[torch.Tensor, Adjustments]:
    gen = torch.Generator().manual_seed(case.seed)
    ints = integers(gen)
    rows, vocab = case.rows, case.vocab
    requests = rows + 2
    width = vocab + 5 if case.strided else vocab
    logits = make_logits(case.values, (rows, width), gen).to(case.dtype)[:, :vocab]
    words = -(-vocab // 32)
    listed = int(ints(0, 9, 1))
    # Different ids of a request, some of them none or beyond the vocabulary.
    lists = torch.stack([torch.randperm(vocab + 9, generator=gen) for _ in range(requests)]) - 3
    allowed = lists[:, :listed].where(ints(0, 3, requests, 1) > 0, -1)
    biased = lists.flip(1)[:, : int(ints(0, 9, 1))]
    longest = case.longest
    latest = ints(0, 3, rows, longest + 1)
    latest[:, 0] = -1
    bad = ints(-1, 3, requests, int(ints(0, 9, 1)), longest)
    bad[..., :-1] = bad[..., :-1].sort(dim=2).values  # what is missing stands before the rest
    bad[..., -1] = ints(-1, vocab + 2, *bad.shape[:2])

    def rates(values: list[float]) -> torch.Tensor:
        return torch.tensor(values)[ints(0, len(values), requests)]

    every: dict[str, dict[str, torch.Tensor]] = {
        "requests": {"requests": ints(-1, requests + 1, rows, dtype=case.ids)},
        "bitmask": {"bitmask": ints(-(2**31), 2**31, rows, words, dtype=torch.int32)},
        "allowed": {"allowed_ids": allowed.to(case.ids)},
        "bias": {
            "bias_ids": biased.to(case.ids),
            "bias": (torch.randn(biased.shape, generator=gen) * 5),
        },
        "repetition": {"repetition_penalty": rates([1.0, 1.3, 0.7, 0.0, float("nan")])},
        "frequency": {"frequency_penalty": rates([0.0, 0.3, -1.1])},
        "presence": {"presence_penalty": rates([0.0, 0.7, -0.4])},
        "counts": {"output_counts": (ints(0, 9, requests, vocab) - 5).clamp(min=0).to(case.counts)},
        "prompt": {
            "prompt_mask": ints(-(2**31), 2**31, requests, words + 1, dtype=torch.int32)
        },
        "words": {"bad_words": bad.to(case.ids), "latest": latest.to(case.ids)},
    }  # fmt: skip
    given: dict[str, torch.Tensor] = {}
    for part in case.parts:
        given |= {name: value.to(DEVICE) for name, value in every[part].items()}
    return logits.to(DEVICE), Adjustments(**given)


def check(case: Case) -> None:
    """Bit for bit: every sum and product of the law is rounded alike."""
    from kernels.sampling.adjust import adjust_triton

    logits, given = inputs(case)
    got = adjust_triton(logits, given, tile=64, together=4)
    same("adjusted", got.cpu(), adjust_reference(logits.cpu(), for_the_law(given)))


test_adjusted_logits_match_the_reference = property_test(CASES)(check)


def check_min_p(case: test_sampling.Case) -> None:
    """What is kept is the law's set, whatever the other limits are."""
    given = test_sampling.inputs(case)
    gen = torch.Generator().manual_seed(case.seed)
    values = torch.tensor([0.0, 0.02, 0.1, 0.5, 1.0, -1.0, float("nan")])
    min_p = values[torch.randint(0, len(values), (case.rows,), generator=gen)].to(DEVICE)
    limits = (given["top_k"] if case.top_k else None, given["top_p"] if case.top_p else None)
    got = top_k_top_p_cut(given["logits"], given["temperature"], *limits, min_p)
    home = for_the_law(given)
    limits = (home["top_k"] if case.top_k else None, home["top_p"] if case.top_p else None)
    logits, temperature = home["logits"], home["temperature"]
    *cut, margin = top_k_top_p_cut_reference(logits, temperature, *limits)
    *want, near = min_p_cut_reference(logits, temperature, tuple(cut), min_p.cpu())
    sure = torch.minimum(margin, near) > test_sampling.MARGIN
    kept = processed_logits(logits, got[0].cpu(), got[1].cpu()) > float("-inf")
    same("kept", kept[sure], (processed_logits(logits, *want) > float("-inf"))[sure])


MIN_P = max(40, examples() // 5)
test_min_p_matches_the_reference = bounded(test_sampling.CASES, check_min_p, MIN_P)


def test_min_p_of_a_draw() -> None:
    """Of 0.6, 0.3 and 0.1 the last is less likely than a quarter of the first."""
    logits = torch.tensor([[0.6, 0.3, 0.1]], device=DEVICE).log().repeat(200, 1)
    seeds, warm = torch.arange(200, device=DEVICE), torch.ones(200, device=DEVICE)
    tokens, *cut = top_k_top_p_sample(logits, seeds, seeds, warm, min_p=warm * 0.25)
    assert set(tokens.tolist()) == {0, 1}
    same("tokens", sample(logits, seeds, seeds, warm, cut=tuple(cut)), tokens)


def test_a_bad_word_is_banned_where_its_beginning_stands() -> None:
    logits = torch.zeros(3, 40, device=DEVICE)
    given = Adjustments(
        requests=torch.tensor([0, 0, 1], device=DEVICE),
        bad_words=torch.tensor([[[7, 8, 9], [-1, -1, 3]], [[-1, -1, -1]] * 2], device=DEVICE),
        latest=torch.tensor([[7, 8], [8, 7], [7, 8]], device=DEVICE),
    )
    banned = (adjust_logits(logits, given) == float("-inf")).nonzero().tolist()
    assert banned == [[0, 3], [0, 9], [1, 3]]


def test_whole_size_tiles_and_lists() -> None:
    gen = torch.Generator().manual_seed(3)
    vocab = 5000
    ids = torch.stack([torch.randperm(vocab, generator=gen)[:300] for _ in range(2)])
    given = Adjustments(
        allowed_ids=torch.cat([ids[:1], torch.full((1, 300), -1)]).to(DEVICE),
        bias_ids=ids.roll(150, 1).to(DEVICE),
        bias=torch.randn(2, 300, generator=gen).to(DEVICE),
        presence_penalty=torch.tensor([0.5, 0.25], device=DEVICE),
        output_counts=torch.randint(0, 2, (2, vocab), generator=gen).int().to(DEVICE),
        bad_words=ids[:, :200, None].to(DEVICE),
    )
    logits = torch.randn(2, vocab, generator=gen).bfloat16().to(DEVICE)
    want = adjust_reference(logits.cpu(), for_the_law(given))
    same("adjusted", adjust_logits(logits, given).cpu(), want)


def test_nothing_to_adjust() -> None:
    logits = torch.tensor([[1.0, float("nan"), float("inf"), -0.0]], device=DEVICE)
    got = adjust_logits(logits, Adjustments())
    same("adjusted", got.cpu(), processed_logits(logits.cpu()))
    assert adjust_logits(logits[:0], Adjustments()).shape == (0, 4)


ONE = torch.ones(2)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"presence_penalty": ONE.half()}, TypeError, "presence_penalty must be float32"),
        ({"presence_penalty": ONE, "repetition_penalty": torch.ones(3)}, ValueError, r"\[Q\] with"),
        ({"presence_penalty": ONE[:1]}, ValueError, "settings for every row"),
        ({"bitmask": torch.zeros(2, 1).int()}, ValueError, "bitmask must have at least 2 words"),
        ({"bias_ids": torch.zeros(2, 3).long()}, ValueError, "bias_ids and bias go together"),
        ({"bad_words": torch.zeros(2, 1, 3).long()}, ValueError, "need the latest 2"),
        ({"output_counts": torch.zeros(2, 39).int()}, ValueError, "output_counts must have shape"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(given: dict, error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        adjust_logits(torch.zeros(2, 40), Adjustments(**given))


@gpu_only
def test_on_a_gpu_no_sync_and_graph() -> None:
    logits = torch.randn(64, 151_936, device="cuda").bfloat16()
    given = Adjustments(
        bitmask=torch.randint(-(2**31), 2**31, (64, 4748), device="cuda").int(),
        presence_penalty=torch.full((64,), 0.5, device="cuda"),
        repetition_penalty=torch.full((64,), 1.2, device="cuda"),
        output_counts=torch.randint(0, 2, (64, 151_936), device="cuda").int(),
    )
    assert_no_sync(lambda: adjust_logits(logits, given))
    assert_graph_replays(lambda: adjust_logits(logits, given))
    want = adjust_reference(
        logits[:2], Adjustments(**{n: p[:2] for n, p in vars(given).items() if p is not None})
    )
    same("adjusted", adjust_logits(logits, given)[:2], want)
