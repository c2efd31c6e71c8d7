"""What the property tests share: the settings, and exact comparison of tensors.

A property test is a strategy of cases and a ``check(case)`` function; the mutation suite runs the
same pair against a broken kernel.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

Case = TypeVar("Case")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

# Cases of a property that one test goes through. On a GPU they are quick once their kernels are
# compiled, which several processes do together.
SHARD = 50 if DEVICE == "cuda" else 500


def examples() -> int:
    """300 in CI; 10,000 under ``--hypothesis-profile=gpu``; KERNEL_EXAMPLES overrides both."""
    named = 10_000 if settings.get_current_profile_name() == "gpu" else 300
    return int(os.environ.get("KERNEL_EXAMPLES", named))


def property_test(
    cases: SearchStrategy[Case],
) -> Callable[[Callable[[Case], None]], Callable[..., None]]:
    """Decorates ``check(case)`` into a test over ``examples()`` derandomised cases, cut into shards
    of ``SHARD`` so that test processes can share a large run.
    """

    def decorate(check: Callable[[Case], None]) -> Callable[..., None]:
        shards = -(-examples() // SHARD)
        if shards == 1:
            return bounded(cases, check, examples())

        @pytest.mark.parametrize("shard", range(shards))
        def test(shard: int) -> None:
            bounded(cases, check, -(-examples() // shards), name=f"{check.__name__}_{shard}")()

        return test

    return decorate


def bounded(
    cases: SearchStrategy[Case], check: Callable[[Case], None], count: int, *, name: str = ""
) -> Callable[[], None]:
    """A test of no arguments that runs ``check`` on ``count`` cases, the same ones every time."""
    options = settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # a seed has nothing to shrink: see `independent`
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )

    def run(case: Case) -> None:
        check(case)

    # Hypothesis derandomises by the function's name and source: the mutation suite must draw the
    # same cases.
    run.__name__ = run.__qualname__ = name or check.__name__
    return options(given(cases)(run))


def for_the_law(given: Any) -> Any:
    """A case's tensors where its reference runs: on the CPU, which is done before a GPU has
    launched so many small steps; large ones stay.
    """
    if isinstance(given, torch.Tensor):
        return given.cpu() if given.numel() < 1 << 20 else given
    if is_dataclass(given):
        parts = vars(given)
        if any(
            isinstance(part, torch.Tensor) and part.numel() >= 1 << 20 for part in parts.values()
        ):
            return given
        return replace(given, **{name: for_the_law(part) for name, part in parts.items()})
    if isinstance(given, dict):
        if any(
            isinstance(part, torch.Tensor) and part.numel() >= 1 << 20 for part in given.values()
        ):
            return given
        return {name: for_the_law(part) for name, part in given.items()}
    return given


def same(name: str, got: torch.Tensor, want: torch.Tensor) -> None:
    """Equal dtype, shape and every element; NaN equals NaN."""
    assert got.dtype == want.dtype, f"{name}: dtype {got.dtype}, expected {want.dtype}"
    assert got.shape == want.shape, f"{name}: shape {list(got.shape)}, expected {list(want.shape)}"
    got, want = got.cpu(), want.cpu()
    differs = got != want
    if got.is_floating_point():
        differs &= ~(got.isnan() & want.isnan())
    where = differs.nonzero()
    assert len(where) == 0, (
        f"{name}: {len(where)} differ, first at {where[0].tolist()}:\n{got}\nexpected\n{want}"
    )


def close(name: str, got: torch.Tensor, want: torch.Tensor, tolerance: float) -> None:
    """Within an absolute tolerance where finite; infinities and NaN exactly alike."""
    got, want = got.double().cpu(), want.double().cpu()
    assert got.shape == want.shape, f"{name}: shape {list(got.shape)}, expected {list(want.shape)}"
    finite = want.isfinite()
    same(f"{name} (not finite)", got[~finite], want[~finite])
    error = (got[finite] - want[finite]).abs()
    assert error.isfinite().all() and (error.max().item() if len(error) else 0.0) <= tolerance, (
        f"{name}: off by {error.max().item()}, allowed {tolerance}"
    )
