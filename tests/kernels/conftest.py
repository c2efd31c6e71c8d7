"""Fixtures of the kernel tests: the device, poisoned allocations, and the Hypothesis profiles.

Run on a CPU, the kernels go through Triton's interpreter, which must be chosen before triton is
imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

HAS_GPU = torch.cuda.is_available()
if not HAS_GPU:
    os.environ["TRITON_INTERPRET"] = "1"

if not HAS_GPU:
    from tests.kernels.interpreter import make_quick

    make_quick()

# Tensors this small lose time to a second thread, and test processes side by side have no core for
# it.
torch.set_num_threads(1)

# `--hypothesis-profile=gpu` is what a GPU run passes; properties.py reads it.
settings.register_profile(
    "gpu", max_examples=10_000, derandomize=True, deadline=None, database=None
)

INT_SENTINEL = 0x5A5A5A5A5A5A5A5A


def poison(tensor: torch.Tensor) -> torch.Tensor:
    """Fills fresh memory with what no kernel may rely on: NaN, or an absurd integer."""
    if tensor.is_floating_point():
        return tensor.fill_(float("nan"))
    if tensor.dtype == torch.bool:
        return tensor.fill_(True)
    return tensor.fill_(INT_SENTINEL & torch.iinfo(tensor.dtype).max)


@pytest.fixture(autouse=True, scope="module")
def poisoned_empty() -> Iterator[None]:
    """``torch.empty`` and its relatives return poisoned memory, so that a read of unwritten memory
    shows."""
    patch = pytest.MonkeyPatch()
    for owner, name in (
        (torch, "empty"),
        (torch, "empty_like"),
        (torch, "empty_strided"),
        (torch.Tensor, "new_empty"),
    ):
        patch.setattr(owner, name, _poisoning(getattr(owner, name)))
    yield
    patch.undo()


def _poisoning(allocate: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def poisoned(*args: object, **kwargs: object) -> torch.Tensor:
        return poison(allocate(*args, **kwargs))

    return poisoned


@pytest.fixture(scope="session")
def device() -> str:
    """``cuda`` on a machine with a GPU, else ``cpu`` (through the interpreter)."""
    return "cuda" if HAS_GPU else "cpu"


gpu_only = pytest.mark.skipif(not HAS_GPU, reason="needs a GPU")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These first: nothing else takes as long, and a long test that starts last leaves the other
    processes idle."""
    items.sort(key=lambda item: Path(__file__).parent not in item.path.parents)
