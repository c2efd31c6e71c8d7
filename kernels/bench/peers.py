"""Other projects' samplers, where they are installed: what a row of the table is compared with."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module, metadata
from types import ModuleType

import torch

from .workload import Call

NAMES = {"flashinfer": "flashinfer-python", "sgl_kernel": "sgl-kernel", "vllm": "vllm"}


def versions() -> dict[str, str]:
    """The version of each peer that is installed."""
    found = {}
    for module, package in NAMES.items():
        try:
            found[module] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def samplers(
    logits: torch.Tensor, top_k: torch.Tensor | None, top_p: torch.Tensor | None
) -> dict[str, Call]:
    """A draw from what top-k and top-p keep, by name of the peer; empty where none is installed."""
    found: dict[str, Call] = {}
    for name, make in (("flashinfer", _flashinfer), ("vllm", _vllm)):
        module = _installed(name)
        call = make(module, logits, top_k, top_p) if module else None
        if call is not None:
            found[name] = call
    return found


def _installed(name: str) -> ModuleType | None:
    if name not in versions():
        return None
    return import_module(name)


class _FixedNoise:
    """A generator for FlashInfer whose state stands: it makes or moves one at every call, which a
    CUDA graph refuses to capture."""

    def get_state(self) -> torch.Tensor:
        return torch.tensor([7, 0], dtype=torch.int64).view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> None:
        """Nothing: every call of the bench draws with the same noise."""


def _flashinfer(
    module: ModuleType,
    logits: torch.Tensor,
    top_k: torch.Tensor | None,
    top_p: torch.Tensor | None,
) -> Call | None:
    """It samples from probabilities: making them is a part of the job."""
    noise = _FixedNoise()
    if top_k is not None and top_p is not None:
        return lambda: module.sampling.top_k_top_p_sampling_from_logits(
            logits.float(), top_k.int(), top_p, generator=noise
        )
    if top_k is not None:
        return lambda: module.sampling.top_k_sampling_from_probs(
            logits.float().softmax(dim=1), top_k.int(), generator=noise
        )
    if top_p is not None:
        return lambda: module.sampling.top_p_sampling_from_probs(
            logits.float().softmax(dim=1), top_p, generator=noise
        )
    return None


def _vllm(
    module: ModuleType,
    logits: torch.Tensor,
    top_k: torch.Tensor | None,
    top_p: torch.Tensor | None,
) -> Call:
    ops: ModuleType = import_module(f"{module.__name__}.v1.sample.ops.topk_topp_sampler")
    cut: Callable[..., torch.Tensor] = ops.apply_top_k_top_p

    def draw() -> torch.Tensor:
        kept = cut(logits.float(), top_k, top_p).softmax(dim=1)
        return kept.div_(torch.empty_like(kept).exponential_()).argmax(dim=1)

    return draw
