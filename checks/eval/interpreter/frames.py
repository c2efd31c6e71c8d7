"""What the parts of the interpreter share: its fields, running functions, control flow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from checks.eval.interpreter.modules import NameKey
from checks.eval.interpreter.program import PatchedModules
from checks.eval.interpreter.values import FuncRef, Value, ValueOrigin
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Stmt

# How an interpretation notes what a line of a test file wrote.
WROTE_ATTRIBUTE = 1
WROTE_ELEMENT = 2


@dataclass(frozen=True, slots=True)
class CertainFailure:
    """The test certainly fails.

    `line` is the statement of the test, `where` the line that raises, `origins` the lines that the
    culprit came through. `trace` has the altered lines among them, with their text and value.
    """

    exception: str
    detail: str
    line: int
    where: ValueOrigin
    origins: frozenset[ValueOrigin]
    trace: tuple[tuple[ValueOrigin, str, str], ...]


@dataclass(slots=True)
class CallFrame:
    """One running function with its local `names`; `scope` holds those of the function around it.

    `maybe` says that what runs now runs only on some paths, `may_have_returned` and
    `may_have_jumped` that a path may have left the function, or the loop, before. `test` says that
    this is the test, `fixture` that it stands in a file of tests, `altered` that the change has a
    line in it.
    """

    unit: SourceFile
    function: Function
    names: dict[str, Value]
    scope: dict[str, Value] | None = None
    maybe: bool = False
    may_have_returned: bool = False
    may_have_jumped: bool = False
    test: bool = False
    fixture: bool = False
    altered: bool = False

    @property
    def is_certain(self) -> bool:
        """Whether every path comes to what runs now."""
        return not (self.maybe or self.may_have_returned or self.may_have_jumped)


class ReturnSignal(Exception):
    """A `return` of the interpreted code."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class LoopJump(Exception):
    """A `break` or `continue` (`kind`) of the interpreted code."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass
class Interpretation(ABC):
    """One interpretation.

    `changed(path, start, end)` says whether the change altered one of these lines of the code under
    test, `is_test(path)` which files hold fixtures. `budget` bounds the number of expressions,
    `depth` that of calls inside calls.

    `stores` are the lines of test files that wrote an attribute or an element, in the order of
    their last write; `reached` the test's statements; `constants` the values of names of modules
    and classes that were asked for; `unknowns` counts calls into something unknown.

    `handlers` counts the bodies that run now and whose exceptions somebody may take;
    `may_have_raised` says that a path may have left the innermost of them by one.
    """

    program: PatchedModules
    changed: Callable[[str, int, int], bool]
    is_test: Callable[[str], bool]
    budget: int = 60_000
    depth: int = 30
    frames: list[CallFrame] = field(default_factory=list)
    failures: list[CertainFailure] = field(default_factory=list)
    unknowns: int = 0
    handlers: int = 0
    may_have_raised: bool = False
    trace: list[tuple[ValueOrigin, str, str]] = field(default_factory=list)
    reached: set[int] = field(default_factory=set)
    stores: dict[ValueOrigin, int] = field(default_factory=dict)
    constants: dict[NameKey, Value] = field(default_factory=dict)
    # The names whose imports are being followed.
    importing: set[NameKey] = field(default_factory=set)

    @property
    def frame(self) -> CallFrame:
        """The function that is running."""
        return self.frames[-1]

    @property
    def is_certain(self) -> bool:
        """Whether what runs now runs on every path of the test that goes on."""
        return not self.may_have_raised and all(frame.is_certain for frame in self.frames)

    def note_possible_exception(self) -> None:
        """Some path, or every one, raises here.

        The test ends there, so that what comes after runs on the other paths: it is in doubt only
        where the exception may be taken.
        """
        self.unknowns += 1
        if self.handlers:
            self.may_have_raised = True

    def make_frame(
        self,
        function: Function,
        unit: SourceFile,
        names: dict[str, Value],
        scope: dict[str, Value] | None = None,
    ) -> CallFrame:
        """The frame of a call of `function`, which stands in `unit`."""
        altered = self.changed(unit.path, function.start_line, function.end_line)
        in_tests = self.is_test(unit.path)
        return CallFrame(unit, function, names, scope, fixture=in_tests, altered=altered)

    @abstractmethod
    def eval(self, expr: E.Expr) -> Value:
        """The value of an expression. Raises BudgetExceeded beyond the budget."""

    @abstractmethod
    def call_function(self, ref: FuncRef, args: list[Value], words: dict[str, Value]) -> Value:
        """Run a function of the tree."""

    @abstractmethod
    def store(self, target: E.Expr, value: Value) -> None:
        """`target = value`."""

    @abstractmethod
    def block(self, body: tuple[Stmt, ...]) -> None:
        """Run statements in order."""
