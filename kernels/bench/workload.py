"""What a row of the table is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

Call = Callable[[], object]


@dataclass(frozen=True)
class Workload:
    """One row of the table. ``build(i)`` makes the i-th input set and the calls over it."""

    name: str
    op: str  # whose tests must be green
    bytes: int  # what it must read and write
    build: Callable[[int], dict[str, Call]]  # "ours", and peers by name
    at_most_floor: float | None = None  # target as a multiple of the floor
    at_most_us: float | None = None  # target in microseconds
    # As ``build``, over other kinds of inputs by their name.
    others: dict[str, Callable[[int], dict[str, Call]]] = field(default_factory=dict)
    compiled: bool = False  # torch.compile of the "torch" call is measured too
