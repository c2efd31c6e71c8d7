"""What is common to the parts of the interpreter: running functions, failures, and control flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from checks.eval.interpreter.program import Program
from checks.eval.interpreter.values import FuncRef, Origin, V
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Stmt


@dataclass(frozen=True, slots=True)
class Failure:
    """The test certainly fails: `line` is the statement of the test, `where` the line that raises."""

    exception: str
    detail: str
    line: int
    where: Origin
    origins: frozenset[Origin]
    trace: tuple[tuple[Origin, str, str], ...]


@dataclass(slots=True)
class Frame:
    """One running function. `maybe` is set once what follows runs only on some paths; `test` says that this is the
    test, `fixture` that it stands in a file of tests, `altered` that the change has a line in it."""

    unit: SourceFile
    function: Function
    names: dict[str, V]
    scope: dict[str, V] | None = None
    maybe: bool = False
    test: bool = False
    fixture: bool = False
    altered: bool = False


class Return(Exception):
    def __init__(self, value: V) -> None:
        super().__init__()
        self.value = value


class Jump(Exception):
    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass
class State:
    """One interpretation. `changed(path, start, end)` says whether the change altered one of these lines of the code
    under test, `is_test(path)` which files hold fixtures. `budget` bounds the number of expressions. `stores` are the
    lines of those files that wrote an attribute (1) or an element (2), in the order of their last write; `reached` the
    test's statements, `constants` what modules and classes were asked for."""

    program: Program
    changed: Callable[[str, int, int], bool]
    is_test: Callable[[str], bool]
    budget: int = 60_000
    depth: int = 30
    frames: list[Frame] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    unknowns: int = 0
    trace: list[tuple[Origin, str, str]] = field(default_factory=list)
    reached: set[int] = field(default_factory=set)
    stores: dict[Origin, int] = field(default_factory=dict)
    constants: dict[tuple[str, str], V] = field(default_factory=dict)
    _importing: set[tuple[str, str]] = field(default_factory=set)

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def entering(
        self,
        function: Function,
        unit: SourceFile,
        names: dict[str, V],
        scope: dict[str, V] | None = None,
    ) -> Frame:
        """The frame of a call of `function`, which stands in `unit`."""
        altered = self.changed(unit.path, function.start_line, function.end_line)
        return Frame(unit, function, names, scope, fixture=self.is_test(unit.path), altered=altered)

    def eval(self, e: E.Expr) -> V:
        raise NotImplementedError

    def call_expr(self, e: E.Call) -> V:
        raise NotImplementedError

    def call_function(self, ref: FuncRef, args: list[V], words: dict[str, V]) -> V:
        raise NotImplementedError

    def store(self, target: E.Expr, value: V) -> None:
        raise NotImplementedError

    def block(self, body: tuple[Stmt, ...]) -> None:
        raise NotImplementedError
