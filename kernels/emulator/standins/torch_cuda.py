"""PyTorch as it is, with an emulated GPU: what a test puts on CUDA stays on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_KEYWORD = "device"


class CudaOnCpu(TorchFunctionMode):
    """Every function that is told a CUDA device is told the CPU in its place."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = dict(kwargs or {})
        if func is torch.Tensor.cuda:
            return args[0]
        if _KEYWORD in named:
            named[_KEYWORD] = _on_cpu(named[_KEYWORD])
        return func(*[_on_cpu(value) for value in args], **named)


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        return "cpu"
    return value


def pretend() -> None:
    """Let `torch.cuda` answer as on a machine with one H100."""
    answers: dict[str, Any] = {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_capability": (9, 0),
        "get_device_name": "emulated",
        "synchronize": None,
        "empty_cache": None,
        "set_device": None,
        "manual_seed": None,
        "manual_seed_all": None,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, _answering(answer))


def _answering(answer: Any) -> Callable[..., Any]:
    return lambda *_, **__: answer
