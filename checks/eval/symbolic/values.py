"""What the symbolic run computes with: numbers, places, dictionaries, and a path's state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from checks.eval.symbolic.affine import Linear, Offset


class UseSite(NamedTuple):
    """Where something stands: a file, a line in it, and the name of the function around it."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """A place in `buffer`.

    In Python `row` says that the row was chosen already, so that the next index is a position.
    `where` is the place at which the index came into `offset`.
    """

    buffer: str
    offset: Linear = field(default_factory=Linear)
    row: bool = False
    where: UseSite | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class BufferTable:
    """A dict display with string keys."""

    items: tuple[tuple[str, SymbolicValue], ...]

    def get(self, key: str) -> SymbolicValue:
        """The value under `key`, None where there is none."""
        return dict(self.items).get(key)


@dataclass(frozen=True, slots=True)
class LocalAddress:
    """The address of a local variable (`&at`)."""

    name: str


SymbolicValue = Linear | Pointer | BufferTable | LocalAddress | None


@dataclass(frozen=True, slots=True)
class BufferAccess:
    """One use of an index: `kind` is `read` or `write` of `buffer`, or `compare` of the index
    itself with `buffer`.

    `high` is the largest position relative to the index `index` (as it is when the function ends
    for a write, at that moment for a read), None where not known. `moves` says that the smallest
    position moves with the index too: a window at its end, and not a search from the start. `lag`
    are the loads that the position subtracts from the index before any loop adds them again: `index
    - accepted + i` lags by `accepted`. `first` is the line where the subscript of a write was
    computed, if that is a few lines above.
    """

    kind: str
    buffer: str
    index: str
    high: Offset | None
    moves: bool
    lag: tuple[tuple[str, int], ...]
    path: str
    line: int
    function: str
    first: int = 0


@dataclass(frozen=True, slots=True)
class PendingWrite:
    """A write whose position is still measured against the changing index `access.index`."""

    access: BufferAccess
    high: Linear | None

    def shifted(self, shift: Linear) -> PendingWrite:
        """The same write, measured against an index that is smaller by `shift`."""
        if self.high is None:
            return self
        return PendingWrite(self.access, self.high + shift)


@dataclass
class PathState:
    """One path through a function.

    `env` holds local values, `cells` the current value of every index buffer, `writes` the writes
    so far, `limits` forms that are known to be at most 0, `lines` where each local was last
    assigned. `left` is set once the path has left the block (return, raise, break).
    """

    env: dict[str, SymbolicValue] = field(default_factory=dict)
    cells: dict[str, Linear] = field(default_factory=dict)
    writes: list[PendingWrite] = field(default_factory=list)
    limits: list[Linear] = field(default_factory=list)
    left: bool = False
    lines: dict[str, int] = field(default_factory=dict)

    def copy(self) -> PathState:
        """An independent copy, for one arm of a branch."""
        return PathState(
            dict(self.env),
            dict(self.cells),
            list(self.writes),
            list(self.limits),
            self.left,
            dict(self.lines),
        )

    def set_cell(self, name: str, value: Linear) -> None:
        """Give the index `name` a new value; writes are measured against it from now on."""
        old = self.cells.get(name)
        self.cells[name] = value
        if old is None:
            return
        shift = old - value
        self.writes = [
            write.shifted(shift) if write.access.index == name else write for write in self.writes
        ]
