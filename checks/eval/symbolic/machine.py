"""What every part of the symbolic run shares: its fields, fresh unknowns, and the steps that the parts take for one
another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from checks.eval.symbolic.affine import Bounds, Linear, symbol
from checks.eval.symbolic.values import Access, Pointer, State, Value
from checks.lang.ir.expr import Expr
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Stmt


@dataclass(frozen=True, slots=True)
class Watch:
    """Which names are indices: a buffer whose name is one of `names`, or ends in `_` and one of them."""

    names: tuple[str, ...]

    def __call__(self, name: str) -> bool:
        last = name.rsplit(".", 1)[-1]
        return any(last == n or last.endswith(f"_{n}") for n in self.names)


Finder = Callable[[str, str, int], Function | None]


class Machine(ABC):
    """One run over one entry function. `find(name, path, arity)` gives the function that `name` means in the file
    `path`, called with `arity` arguments. `advances` is where each index cell was first given a later value."""

    def __init__(self, watch: Watch, find: Finder, python: bool = False) -> None:
        self.watch = watch
        self.find = find
        self.python = python
        self.bounds = Bounds()
        self.accesses: list[Access] = []
        self.advances: dict[str, tuple[str, int]] = {}
        self.fresh = count(1)
        self.stack: list[Function] = []
        self.breaks: list[list[State]] = []
        self.returns: list[list[tuple[State, Value]]] = []
        self.depth = 0

    @property
    def path(self) -> str:
        """The file of the function that is running."""
        return self.stack[-1].path if self.stack else ""

    def later(self, index: str) -> Linear:
        """A later value of the index `index`, not known how much later."""
        return symbol("index", f"{index}#{next(self.fresh)}", index)

    def unknown(self, name: str) -> Linear:
        return symbol("opaque", f"{name}#{next(self.fresh)}")

    def advanced(self, buffer: str, line: int) -> None:
        self.advances.setdefault(buffer, (self.path, line))

    @abstractmethod
    def value(self, expr: Expr | None, state: State) -> Value:
        """What `expr` is; reads on the way are recorded."""

    @abstractmethod
    def number(self, value: Value, state: State | None) -> Linear | None:
        """`value` as a number, where it is one."""

    @abstractmethod
    def load(self, place: Pointer, line: int, state: State) -> Linear:
        """The element at `place`."""

    @abstractmethod
    def place(self, expr: Expr, state: State) -> Pointer | None:
        """Where `expr` lies in a buffer, without reading it."""

    @abstractmethod
    def join(self, state: State, live: list[State]) -> None:
        """Make `state` what is known after any one of `live`."""

    @abstractmethod
    def block(self, body: tuple[Stmt, ...], state: State) -> None:
        """Run statements in order."""

    @abstractmethod
    def call_body(self, function: Function, state: State) -> list[tuple[State, Value]]:
        """Every way out of `function`, with what it returns."""
