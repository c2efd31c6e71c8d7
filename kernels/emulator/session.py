"""The libraries of this process, and what is recorded of the calls that tests make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernels.emulator.library import Library, OpSignature, Value

Watcher = Callable[[str, Sequence[Value], int], None]


@dataclass
class Session:
    """What a process emulates: the libraries, and the schedule that ops run under.

    `hardware` is what the test is written for. `watchers` are told of every call before it is made.
    `called` are the ops of PyTorch and Triton that the case at work has called, `parameters` what
    the functions of modules take.
    """

    library: Library | None = None
    seed: int = 0
    hardware: str = ""
    watchers: list[Watcher] = field(default_factory=list)
    calls: int = 0
    barriers: dict[str, list[str]] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def ops(self) -> dict[str, OpSignature]:
        """The ops by name."""
        return {} if self.library is None else self.library.ops()

    def call(self, name: str, values: Sequence[Value]) -> list[Value]:
        """Run an op, and note what the emulator saw."""
        if self.library is None:
            raise RuntimeError("no library is loaded")
        for watch in self.watchers:
            watch(name, values, self.calls)
        self.calls += 1
        try:
            return self.library.call(name, values, self.seed)
        finally:
            seen = self.library.observations()
            if seen.barriers:
                self.barriers.setdefault(name, []).extend(seen.barriers)


SESSION = Session()
