"""PyTorch as it is, with an emulated GPU: what a test puts on CUDA stays on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import DeviceContext

from kernels.emulator.standins import NotEmulated

_KEYWORD = "device"
_PINNED = "pin_memory"
_IS_CUDA = torch.Tensor.is_cuda.__get__  # type: ignore[attr-defined]
# As the runtime's own `cudaDeviceProp`.
_PROPERTIES = SimpleNamespace(
    name="emulated",
    major=9,
    minor=0,
    multi_processor_count=4,
    total_memory=80 << 30,
    warp_size=32,
    max_threads_per_multi_processor=2048,
    shared_memory_per_block=48 << 10,
    shared_memory_per_block_optin=227 << 10,
    shared_memory_per_multiprocessor=228 << 10,
    regs_per_multiprocessor=65536,
    L2_cache_size=50 << 20,
    is_integrated=False,
    gcnArchName="",
)
_CAPABILITY = (_PROPERTIES.major, _PROPERTIES.minor)
_ANSWERS: dict[str, Any] = {
    "is_available": True,
    "is_initialized": True,
    "init": None,
    "_lazy_init": None,
    "device_count": 1,
    "current_device": 0,
    "get_device_capability": _CAPABILITY,
    "get_device_name": _PROPERTIES.name,
    "get_device_properties": _PROPERTIES,
    "mem_get_info": (_PROPERTIES.total_memory, _PROPERTIES.total_memory),
    "memory_allocated": 0,
    "memory_reserved": 0,
    "max_memory_allocated": 0,
    "reset_peak_memory_stats": None,
    "is_bf16_supported": True,
    "is_current_stream_capturing": False,
    "synchronize": None,
    "empty_cache": None,
    "set_device": None,
    "set_stream": None,
    "manual_seed": None,
    "manual_seed_all": None,
}
_OF_ACCELERATOR = {
    "is_available": True,
    "device_count": 1,
    "current_device_index": 0,
    "synchronize": None,
    "empty_cache": None,
    "set_device_index": None,
    "memory_allocated": 0,
    "max_memory_allocated": 0,
    "reset_peak_memory_stats": None,
}


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
        if func is torch.Tensor.cuda or func is torch.Tensor.pin_memory:
            return args[0]
        if func == _IS_CUDA:
            return True
        if _KEYWORD in named:
            named[_KEYWORD] = _on_cpu(named[_KEYWORD])
        named.pop(_PINNED, None)
        return func(*[_on_cpu(value) for value in args], **named)


class Event:
    """A point in a stream; all work before it is done."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.cuda_event = 0

    def record(self, *_: Any) -> None:
        """Nothing is left to wait for."""

    def wait(self, *_: Any) -> None:
        """Nothing is left to wait for."""

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def query(self) -> bool:
        """Whether the work is done."""
        return True

    def elapsed_time(self, _: Event) -> float:
        """Milliseconds; no time is kept."""
        raise NotEmulated("times of CUDA events")


class Stream:
    """A stream that does its work at once."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.cuda_stream = self.stream_id = self.device_index = self.device_type = 0
        self.device = torch.device("cpu")

    def synchronize(self) -> None:
        """Nothing is left to wait for."""

    def wait_stream(self, _: Stream) -> None:
        """Nothing is left to wait for."""

    def wait_event(self, _: Event) -> None:
        """Nothing is left to wait for."""

    def record_event(self, event: Event | None = None) -> Event:
        """The event, or a new one."""
        return event or Event()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        """The work of the block is done."""


class Graph:
    """A CUDA graph would record launches, which happen at once here."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise NotEmulated("CUDA graphs")


class Generator(torch.Generator):
    """A generator of random numbers, on the CPU."""

    def __new__(cls, device: Any = "cpu") -> Generator:
        return super().__new__(cls, device=_on_cpu(device))


def _on_cpu(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and value.partition(":")[0] == "cuda":
        return "cpu"
    return value


def pretend() -> None:
    """Let `torch.cuda` answer as on a machine with one H100."""
    for name, answer in _ANSWERS.items():
        setattr(torch.cuda, name, _answering(answer))
    for name, answer in _OF_ACCELERATOR.items():
        setattr(torch.accelerator, name, _answering(answer))
    torch.version.cuda = "12.8"
    stream = Stream()
    torch.cuda.current_stream = torch.cuda.default_stream = _answering(stream)
    torch.cuda.stream = torch.cuda.device = lambda _: nullcontext()  # type: ignore[assignment,misc]
    torch.cuda.Stream, torch.cuda.Event = Stream, Event  # type: ignore[misc,assignment]
    torch.cuda.CUDAGraph = torch.cuda.graph = Graph  # type: ignore[misc,assignment]
    torch.Generator = Generator  # type: ignore[misc]
    _move_default_device()


def _move_default_device() -> None:
    """`torch.set_default_device("cuda")` and `with torch.device("cuda"):` are the CPU as well."""
    known = DeviceContext.__init__

    def begin(self: DeviceContext, device: Any) -> None:
        known(self, _on_cpu(torch.device(device)))

    DeviceContext.__init__ = begin  # type: ignore[method-assign]


def _answering(answer: Any) -> Callable[..., Any]:
    return lambda *_, **__: answer
