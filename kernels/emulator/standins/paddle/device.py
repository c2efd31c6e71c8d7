"""Places and devices: everything is said to be on a GPU."""

from __future__ import annotations

from typing import Any

from kernels.emulator.session import SESSION


class Place:
    """Where a tensor says that it is."""

    def __init__(self, device: int = 0) -> None:
        self.device = device

    def is_gpu_place(self) -> bool:
        return isinstance(self, CUDAPlace)

    def is_cpu_place(self) -> bool:
        return isinstance(self, CPUPlace)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = object.__hash__


class CPUPlace(Place):
    pass


class CUDAPlace(Place):
    pass


class CUDAPinnedPlace(Place):
    pass


class XPUPlace(CUDAPlace):
    """Device memory all the same."""


class Stream:
    """Work is done at once."""

    cuda_stream = 0

    def __init__(self, *_: object) -> None:
        pass

    def synchronize(self) -> None:
        """Nothing is left to wait for."""


class Properties:
    """What an emulated GPU says of itself."""

    name = "emulated"
    major, minor = 9, 0
    multi_processor_count = 4
    total_memory = 64 << 30


class _Cuda:
    Stream = Stream

    @staticmethod
    def synchronize(*_: object) -> None:
        """Nothing is left to wait for."""

    @staticmethod
    def empty_cache() -> None:
        """There is no cache."""

    @staticmethod
    def get_device_capability(*_: object) -> tuple[int, int]:
        return Properties.major, Properties.minor

    @staticmethod
    def get_device_properties(*_: object) -> Properties:
        return Properties()

    @staticmethod
    def device_count() -> int:
        return 1

    @staticmethod
    def current_stream(*_: object) -> Stream:
        return Stream()


cuda = _Cuda()


def synchronize(*_: object) -> None:
    """Nothing is left to wait for."""


def set_device(*_: Any) -> None:
    """There is one."""


def get_device() -> str:
    """The only one."""
    return "gpu:0"


def is_compiled_with_cuda() -> bool:
    return True


def is_compiled_with_xpu() -> bool:
    """Whether the test is one of an XPU's ops."""
    return SESSION.hardware == "xpu"


def is_compiled_with_rocm() -> bool:
    return False


def is_compiled_with_custom_device(*_: object) -> bool:
    return False
