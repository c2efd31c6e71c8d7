"""Brackets in the middle of a row, narrowed: by much, and never past the end of the row's set.

A bracket that lost its row's end would be noticed later, and cost time alone: no other test sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
import torch

from kernels._launch import Launcher
from kernels.sampling.bracket import COUNTERS, Geometry
from kernels.sampling.collect import mass_of_chunks
from kernels.sampling.reference import top_k_top_p_cut_reference
from tests.kernels.properties import DEVICE, property_test
from tests.kernels.strategies import coin, independent

GEOMETRY = Geometry(32, 64, 2, 64, 64, 16)
# The law's mass and the kernel's differ by less; see ``ROUNDING`` of the kernel.
SURE = 1e-3


@dataclass(frozen=True)
class Case:
    vocab: int
    dtype: torch.dtype
    by_mass: bool
    temperature: float
    share: float  # of the row's tokens, or of its mass, that the set has
    seed: int


def draw(rng: Random) -> Case:
    return Case(
        vocab=rng.choice([65, 257, 600]),
        dtype=rng.choice([torch.bfloat16, torch.float16, torch.float32]),
        by_mass=coin(rng),
        temperature=rng.choice([0.7, 1.0, 2.0]),
        share=rng.uniform(0.2, 0.9),
        seed=rng.getrandbits(31),
    )


CASES = independent(draw)


def check(case: Case) -> None:
    """One row whose bracket holds the end of its set somewhere, beside one that has none."""
    from kernels.sampling.survey import narrow_brackets

    gen = torch.Generator().manual_seed(case.seed)
    logits = (torch.randn(2, case.vocab, generator=gen) * 2).to(case.dtype)
    temperature = torch.full((2,), case.temperature)
    top_k = torch.full((2,), 0 if case.by_mass else max(1, int(case.share * case.vocab)))
    top_p = torch.full((2,), case.share if case.by_mass else 1.0)
    end, _token, margin = top_k_top_p_cut_reference(logits, temperature, top_k, top_p)
    ordered = logits[0].float().unique()
    (place,) = (ordered == end[0]).nonzero()[0].tolist()
    low = ordered[int(torch.randint(0, place + 1, (), generator=gen))]
    high = ordered[int(torch.randint(place, len(ordered), (), generator=gen))]
    without = torch.tensor([float("-inf"), float("nan")])

    bracket = torch.stack([torch.stack([low, high]), without]).to(DEVICE)
    counters = torch.zeros(2, COUNTERS.value, dtype=torch.int32, device=DEVICE)
    logits = logits.to(DEVICE)
    limits = tuple(part.to(DEVICE) for part in (temperature, top_k, top_p))
    launch = Launcher()
    partial = mass_of_chunks(logits, limits, GEOMETRY, launch)
    narrow_brackets(logits, limits, partial, bracket, counters, GEOMETRY, launch)

    narrowed = bracket[0].cpu()
    assert torch.equal(bracket[1].cpu().isfinite(), torch.tensor([False, False]))
    assert low <= narrowed[0] <= narrowed[1] <= high
    if margin[0] > SURE:
        assert narrowed[0] <= end[0] <= narrowed[1]
    step = (high - low) / 8
    rounding = 0.02 * ordered.abs().max()  # a step is one of the type's numbers
    if not case.by_mass:
        assert narrowed[1] - narrowed[0] <= step + rounding
    elif step < 0.25 * case.temperature:
        # A token is worth no more than exp(1/4) times what its step is, and the mass in doubt is as
        # much of what the bracket holds.
        assert narrowed[1] - narrowed[0] <= 5 * step + rounding


test_narrowing_keeps_the_end = property_test(CASES)(check)


def test_a_program_counts_several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernels.sampling import survey

    monkeypatch.setattr(survey, "AT_ONCE", 1)
    monkeypatch.setattr(survey, "multiprocessors", lambda device: 3)
    for seed in range(20):
        check(Case(600, torch.bfloat16, bool(seed % 2), 1.0, 0.5, seed))
