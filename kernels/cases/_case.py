"""What a case is, and how its inputs are made: on the CPU, from a seed, and then moved, so that
every device gets the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

Given = dict[str, Any]
Outputs = dict[str, torch.Tensor]

SURE = "sure"
"""An output of a reference: bool [R], false for rows that rounding may decide otherwise: these are
not compared."""

CLOSE = 1e-5
"""A draw or a cut nearer to its boundary than this, relative to the mass, is a close call."""

VOCAB = 151_936


def all_of(outputs: Outputs) -> Outputs:
    """For ops that define every element of every output."""
    return outputs


@dataclass(frozen=True)
class Case:
    """One call of an op.

    `build` gives fresh tensors each time, because ops may write to their inputs.
    """

    name: str
    build: Callable[[torch.device], Given]
    call: Callable[[Given], Outputs]  # the op as it is called by an engine; this is what is timed
    reference: Callable[[Given], Outputs]
    defined: Callable[[Outputs], Outputs] = (
        all_of  # of either: without what the op leaves undefined
    )
    tolerance: Mapping[str, float] = field(
        default_factory=dict
    )  # largest |difference|; 0 for what is not named
    gpu_only: bool = False


class Inputs:
    """Random inputs from one seed. Sizes are small on a CPU, where Triton's interpreter runs."""

    def __init__(self, seed: int, device: torch.device) -> None:
        self.device = device
        self.large = device.type == "cuda"
        self._random = torch.Generator().manual_seed(seed)

    def size(self, small: int, large: int) -> int:
        """`large` on a GPU."""
        return large if self.large else small

    def ints(
        self, low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64
    ) -> torch.Tensor:
        """Uniform in low..high-1."""
        return torch.randint(low, high, shape, generator=self._random, dtype=dtype).to(self.device)

    def normal(
        self, *shape: int, scale: float = 1.0, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Normal with this standard deviation."""
        return (torch.randn(shape, generator=self._random) * scale).to(dtype).to(self.device)

    def logits(self, *shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
        """As wide as a language model's; bfloat16 makes ties among them common."""
        return self.normal(*shape, scale=4.0, dtype=dtype)

    def full(self, value: float, *shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
        """One value everywhere."""
        return torch.full(shape, value, dtype=dtype, device=self.device)

    def of(self, values: list[Any], dtype: torch.dtype = torch.int32) -> torch.Tensor:
        """These values."""
        return torch.tensor(values, dtype=dtype, device=self.device)

    def one_of(
        self, values: list[float], *shape: int, dtype: torch.dtype = torch.float32
    ) -> torch.Tensor:
        """Each element drawn from `values`."""
        return self.of(values, dtype)[self.ints(0, len(values), *shape)]


def offsets(counts: torch.Tensor) -> torch.Tensor:
    """int32 [B+1]: the exclusive prefix sum of counts [B], and their sum."""
    return torch.nn.functional.pad(counts.cumsum(0), (1, 0)).int()
