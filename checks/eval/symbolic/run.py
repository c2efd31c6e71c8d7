"""What a handler may use of the symbolic run: fields, fresh unknowns, and steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from checks.eval.symbolic.accesses import AccessRecorder, BufferUse
from checks.eval.symbolic.affine import Linear, symbol_form
from checks.eval.symbolic.values import PathState, Pointer, SymbolicValue, UseSite
from checks.lang.ir.expr import Attr, Call, Expr, Index, Name
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Stmt


@dataclass(frozen=True, slots=True)
class IndexNames:
    """Which names are indices: those in `names`, or ending in `_` and one of them."""

    names: tuple[str, ...]

    def __call__(self, name: str) -> bool:
        last = name.rsplit(".", 1)[-1]
        return any(last == index or last.endswith(f"_{index}") for index in self.names)


# (name, path, arity) -> the function that `name` means in the file `path`, for that many arguments.
FunctionFinder = Callable[[str, str, int], Function | None]
# One way out of a function: the state there, and what it returns.
FunctionExit = tuple[PathState, SymbolicValue]


class SymbolicRun(ABC):
    """One run over one entry function.

    `python` chooses between the two languages' arrays: a Python name holds the array's elements, a
    C++ name is a pointer. `advances` tells where each index was first given a later value (path and
    line).
    """

    def __init__(self, watch: IndexNames, find: FunctionFinder, python: bool = False) -> None:
        self.watch = watch
        self.find = find
        self.python = python
        self.recorder = AccessRecorder()
        self.advances: dict[str, tuple[str, int]] = {}
        self.fresh = count(1)
        # The functions that are running, the one called last at the end.
        self.stack: list[Function] = []
        # The states that left each enclosing loop early, and the exits of each running function.
        self.breaks: list[list[PathState]] = []
        self.exits: list[list[FunctionExit]] = []
        self.depth = 0

    @property
    def path(self) -> str:
        """The file of the function that is running; empty before the first one."""
        return self.stack[-1].path if self.stack else ""

    def site(self, line: int) -> UseSite:
        """The place at `line` of the function that is running."""
        function = self.stack[-1].name if self.stack else ""
        return UseSite(self.path, line, function)

    def later(self, index: str) -> Linear:
        """A later value of the index `index`, not known how much later."""
        return symbol_form("index", f"{index}#{next(self.fresh)}", index)

    def unknown(self, name: str) -> Linear:
        """A value of `name` of which nothing is known."""
        return symbol_form("opaque", f"{name}#{next(self.fresh)}")

    def note_advance(self, index: str, line: int) -> None:
        """Remember that `index` was given a later value at `line`; the first place counts."""
        self.advances.setdefault(index, (self.path, line))

    def record(
        self,
        kind: str,
        buffer: str,
        low: Linear | None,
        high: Linear | None,
        line: int,
        state: PathState,
        where: UseSite | None = None,
    ) -> None:
        """Note a use of the positions `low`..`high` of `buffer`.

        `where` is given where the use stands elsewhere than at `line`.
        """
        use = BufferUse(kind, buffer, low, high, where or self.site(line))
        self.recorder.record(use, state)

    @abstractmethod
    def value(self, expr: Expr | None, state: PathState) -> SymbolicValue:
        """What `expr` is; reads on the way are recorded."""

    @abstractmethod
    def named(self, expr: Name | Attr, state: PathState) -> SymbolicValue:
        """What a name or a dotted name is."""

    @abstractmethod
    def element(self, expr: Index, state: PathState) -> SymbolicValue:
        """What a subscript is: an element, a row, or a slice."""

    @abstractmethod
    def call(self, expr: Call, state: PathState) -> SymbolicValue:
        """What a call gives."""

    @abstractmethod
    def number(self, value: SymbolicValue, state: PathState | None) -> Linear | None:
        """`value` as a number, where it is one."""

    @abstractmethod
    def load(self, place: Pointer, line: int, state: PathState) -> Linear:
        """The element at `place`."""

    @abstractmethod
    def place(self, expr: Expr, state: PathState) -> Pointer | None:
        """Where `expr` lies in a buffer, without reading it."""

    @abstractmethod
    def relevant(
        self, args: list[SymbolicValue], words: dict[str, SymbolicValue], state: PathState
    ) -> bool:
        """Whether a call with these arguments is worth following."""

    @abstractmethod
    def block(self, body: tuple[Stmt, ...], state: PathState) -> None:
        """Run statements in order."""

    @abstractmethod
    def call_body(self, function: Function, state: PathState) -> list[FunctionExit]:
        """Every way out of `function`, with what it returns."""

    def number_of(self, expr: Expr | None, state: PathState) -> Linear | None:
        """`expr` as a number, where it is one; reads on the way are recorded."""
        return self.number(self.value(expr, state), state)
