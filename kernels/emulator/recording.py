"""The arguments of the calls that tests make, kept for the comparison of copies and schedules."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kernels.emulator.cutting import cut_to_fit, size_in_bytes
from kernels.emulator.library import HostTensor, Value

# Bytes of one call and of all calls of an op, and their number: a comparison needs no more.
_LARGEST = 64 << 20
_LARGEST_OF_ALL = 128 << 20
_MOST = 40
# What pytest sets itself: its version, the case that runs.
_OF_PYTEST = "PYTEST_"


@dataclass(frozen=True)
class Call:
    """The arguments of one call; no names are known of a plain function's parameters.

    `is_shown` says that a test made just this call; `settings` are the environment variables that
    it had set for it; `has_other_types` says that the types of its floats are not those of a test.
    """

    op: str
    parameters: tuple[str, ...]
    values: list[Value]
    is_shown: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    has_other_types: bool = False

    @contextmanager
    def with_settings(self) -> Iterator[None]:
        """Within it the environment is that of the call."""
        before = {name: os.environ.get(name) for name in self.settings}
        os.environ.update(self.settings)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


class Recorder:
    """Writes each call to a file of its own: a `.npz` of its tensors and the rest as JSON.

    `parameters` tells the names of an op's parameters.
    """

    def __init__(self, folder: Path, parameters: Callable[[str], Sequence[str]]) -> None:
        self._folder = folder
        self._parameters = parameters
        self._counts: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self._seen: set[str] = set()
        self._environment = dict(os.environ)
        folder.mkdir(parents=True, exist_ok=True)

    def record(self, name: str, values: Sequence[Value], number: int) -> None:
        """Keep a call, unless the same was kept before or there are enough."""
        count = self._counts.get(name, 0)
        is_shown = size_in_bytes(values) <= _LARGEST
        kept = values if is_shown else cut_to_fit(values, _LARGEST)
        if count >= _MOST or kept is None:
            return
        sum_of_sizes = self._sizes.get(name, 0) + size_in_bytes(kept)
        if sum_of_sizes > _LARGEST_OF_ALL:
            return
        arrays: dict[str, np.ndarray] = {}
        described = [_describe(value, f"{i}", arrays) for i, value in enumerate(kept)]
        settings = self._settings()
        digest = _digest(name, [described, settings], arrays)
        if digest in self._seen:
            return
        self._seen.add(digest)
        self._counts[name] = count + 1
        self._sizes[name] = sum_of_sizes
        call = {"op": name, "parameters": self._parameters(name), "arguments": described}
        call |= {"is_shown": is_shown, "settings": settings}
        arrays["call"] = np.frombuffer(json.dumps(call).encode(), np.uint8)
        np.savez(self._folder / f"{name}-{count:03}.npz", **arrays)

    def _settings(self) -> dict[str, str]:
        """What the test has set in the environment, which an op may read."""
        return {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(_OF_PYTEST) and self._environment.get(name) != value
        }


def load_call(path: Path) -> Call:
    """A recorded call."""
    with np.load(path, allow_pickle=False) as file:
        call = json.loads(file["call"].tobytes())
        values = [_restore(item, file) for item in call["arguments"]]
        names = tuple(call["parameters"])
        return Call(call["op"], names, values, call["is_shown"], call["settings"])


def _describe(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, HostTensor):
        # The order of its dimensions in memory, which an op may ask for.
        axes = sorted(range(value.array.ndim), key=lambda axis: -value.array.strides[axis])
        arrays[f"a{name}"] = value.array.transpose(axes).copy()
        kept = {"tensor": f"a{name}", "dtype": value.dtype, "on_host": value.on_host}
        return kept | {"axes": axes}
    if isinstance(value, (list, tuple)):
        return {"list": [_describe(item, f"{name}_{i}", arrays) for i, item in enumerate(value)]}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _restore(item: Any, arrays: Any) -> Any:
    if not isinstance(item, dict):
        return item
    if "list" in item:
        return [_restore(part, arrays) for part in item["list"]]
    array = arrays[item["tensor"]].transpose(np.argsort(item["axes"]))
    return HostTensor(array, item["dtype"], item["on_host"])


def _digest(name: str, described: list[Any], arrays: dict[str, np.ndarray]) -> str:
    hasher = hashlib.sha256(json.dumps([name, described]).encode())
    for array in arrays.values():
        hasher.update(np.ascontiguousarray(array))
    return hasher.hexdigest()
