"""What the interpreter computes with: numbers, places in buffers, dictionaries, and the state of one path."""

from __future__ import annotations

from collections.abc import Sequence as Sequence_
from dataclasses import dataclass, field

from checks.eval.symbolic.affine import Linear, Offset
from checks.lang.ir.expr import Expr, Index, Name, Sequence, Unary, Unknown, dotted, walk
from checks.lang.ir.stmt import Assign, For, If, Jump, Raise, Return, Stmt, With


@dataclass(frozen=True, slots=True)
class Pointer:
    """A place in `buffer`. In Python `row` says that the row was chosen already, so that the next index is a position.
    `where` is the path, line and function in which the index came into `offset`."""

    buffer: str
    offset: Linear = field(default_factory=Linear)
    row: bool = False
    where: tuple[str, int, str] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Table:
    """A dict display with string keys."""

    items: tuple[tuple[str, Value], ...]

    def get(self, key: str) -> Value:
        return dict(self.items).get(key)


@dataclass(frozen=True, slots=True)
class Reference:
    """The address of a local variable."""

    name: str


Value = Linear | Pointer | Table | Reference | None


@dataclass(frozen=True, slots=True)
class Access:
    """One use of an index: `kind` is `read` or `write` of `buffer`, or `compare` of the index itself with `buffer`.

    `high` and `low` are the largest and smallest position relative to the index `index` (as it is when the function
    ends for a write, at that moment for a read), None where not known. `moves` says that the smallest position moves
    with the index too: a window at its end, and not a search from the start. `lag` are the loads that the position
    subtracts from the index before any loop adds them again: `index - accepted + i` lags by `accepted`. `first` is the
    line where the subscript of a write was computed, if that is a few lines above.
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
class Pending:
    """A write whose position is still measured against the changing index `index`."""

    access: Access
    high: Linear | None


@dataclass
class State:
    """One path: local values, the current value of every index cell, writes so far, and what is known to be <= 0."""

    env: dict[str, Value] = field(default_factory=dict)
    cells: dict[str, Linear] = field(default_factory=dict)
    writes: list[Pending] = field(default_factory=list)
    limits: list[Linear] = field(default_factory=list)
    left: bool = False
    lines: dict[str, int] = field(default_factory=dict)

    def copy(self) -> State:
        writes, limits = list(self.writes), list(self.limits)
        return State(dict(self.env), dict(self.cells), writes, limits, self.left, dict(self.lines))

    def set_cell(self, name: str, value: Linear) -> None:
        """Give the index a new value; writes are measured against it from now on."""
        old = self.cells.get(name)
        self.cells[name] = value
        if old is None:
            return
        shift = old - value
        self.writes = [
            Pending(w.access, w.high + shift if w.high is not None else None)
            if w.access.index == name
            else w
            for w in self.writes
        ]


def assigned(body: Sequence_[Stmt], *, carried: bool = False) -> tuple[set[str], list[Expr]]:
    """Variables that `body` assigns (dotted names too), and the places (`a[i]`, `*p`) that it stores to.

    With `carried`, without what is assigned only on the way out of the loop (`n = 0; break;`).
    """
    names: set[str] = set()
    places: list[Expr] = []
    if carried and body and isinstance(body[-1], Return | Raise | Jump) and _quits(body[-1]):
        return names, places
    for stmt in body:
        match stmt:
            case Assign(target=target):
                for part in target.items if isinstance(target, Sequence) else (target,):
                    name = dotted(part)
                    if name is not None:
                        names.add(name)
                    elif isinstance(part, Index | Unary):
                        places.append(part)
            case If(then=then, orelse=orelse):
                _merge(names, places, assigned(then, carried=carried))
                _merge(names, places, assigned(orelse, carried=carried))
            case For(body=inner, target=target):
                names |= (
                    {e.id for e in walk(target) if isinstance(e, Name)}
                    if target is not None
                    else set()
                )
                _merge(names, places, assigned(inner))
            case With(body=inner, parts=parts):
                for block in (inner, *parts):
                    _merge(names, places, assigned(block, carried=carried))
            case _:
                pass
    return names, places


def _quits(stmt: Stmt) -> bool:
    return not isinstance(stmt, Jump) or stmt.kind == "break"


def _merge(names: set[str], places: list[Expr], more: tuple[set[str], list[Expr]]) -> None:
    names |= more[0]
    places += more[1]


def postfix(expr: Unknown) -> str | None:
    """The variable of a conditional `count++`, which the front end leaves unlowered."""
    text = expr.text.strip()
    return text[:-2] if text[-2:] in ("++", "--") and text[:-2].isidentifier() else None
