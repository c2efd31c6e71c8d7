"""The ops that a job names, of the kinds of library that there are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from kernels.emulator.library import Library, OpSignature, Value

_LONGEST_REASON = 300


class Ops(Protocol):
    """What has ops that can be called."""

    def ops(self) -> dict[str, OpSignature]:
        """Every op by name."""

    def call(self, name: str, values: Sequence[Value], seed: int = 0) -> list[Value]:
        """The results of an op under the schedule `seed`. Raises `OpError`."""

    def check_types(self, *, wanted: bool) -> None:
        """Whether an op may read a tensor's numbers as those of another type."""

    def stand_ins(self) -> dict[str, str]:
        """The functions of another namespace that stand for what is declared and not defined."""


def load_library(job: dict[str, Any], *, namesakes: bool) -> Library:
    """The libraries that a job names, those that register its ops.

    Why an op that it needs besides cannot be loaded is another of its `refusals`.
    """
    libraries = {Path(path): set(names) for path, names in job["libraries"].items()}
    library = Library(Path(job["runtime"]), libraries, set(job["ops"]), namesakes=namesakes)
    for op in job["needs"]:
        try:
            library.load_op(op)
        except OSError as error:
            job["refusals"][op] = unloaded(error)
    return library


def unloaded(error: OSError) -> str:
    """Why a library cannot be loaded, without where it lies."""
    return f"not loaded: {str(error).rpartition('.so: ')[2]}"[:_LONGEST_REASON]


def load_ops(
    runtime: str,
    libraries: Mapping[str, Sequence[str]],
    modules: Collection[str],
    wanted: set[str],
    prefix: str = "",
    *,
    namesakes: bool = False,
) -> Ops:
    """The ops in `libraries` that are `wanted`; those in `modules` are pybind modules."""
    plain = {Path(path): set(ops) for path, ops in libraries.items() if path not in modules}
    library = Library(Path(runtime), plain, wanted, prefix, namesakes=namesakes)
    own = {path: ops for path, ops in libraries.items() if path in modules and wanted & set(ops)}
    if not own:
        return library
    # PyTorch is dear to import, and other ops do without.
    from kernels.emulator.torch_calls import ModuleOps

    return ModuleOps(library, own)
