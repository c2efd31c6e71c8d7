"""Follows a test without running it: its set-up, its statements, and its certain failures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from checks.eval.interpreter.assignments import store_value
from checks.eval.interpreter.calls import call_function
from checks.eval.interpreter.expressions import evaluate
from checks.eval.interpreter.frames import CertainFailure, Interpretation, ReturnSignal
from checks.eval.interpreter.modules import is_fixture
from checks.eval.interpreter.patches import apply_decorators
from checks.eval.interpreter.setups import SetupSnapshot
from checks.eval.interpreter.statements import run_statement
from checks.eval.interpreter.values import (
    UNKNOWN_VALUE,
    BudgetExceeded,
    ClassRef,
    FuncRef,
    Instance,
    SimulatedException,
    Value,
    ValueOrigin,
)
from checks.lang.ir import expr as E
from checks.lang.ir import stmt as S
from checks.lang.ir.source_file import Class, Function, SourceFile

_SETUP_METHODS = ("setUp", "setup_method")


class TestInterpreter(Interpretation):
    """Interprets one test."""

    # pytest takes classes whose name begins with "Test" for tests, unless they say no.
    __test__ = False

    def run(self, function: Function, unit: SourceFile) -> None:
        """Interpret the test `function`, collecting `failures`.

        Raises BudgetExceeded beyond the budget.
        """
        apply_decorators(self, function)
        # An argument that no fixture makes may be anything.
        names = {param.name: Value(Instance(None, open=True)) for param in function.params}
        frame = self.make_frame(function, unit, names)
        frame.test = True
        self.frames.append(frame)
        owner = _owner_of(function, unit)
        # The set-up may raise or be unknown in part: the test is followed all the same.
        if owner is not None and function.params:
            names[function.params[0].name] = self._set_up(ClassRef(owner, unit))
        for param in function.params:
            fixtures = [f for f in unit.functions_named.get(param.name, ()) if is_fixture(f)]
            if fixtures:
                call_fixture = partial(self.call_function, FuncRef(fixtures[0], unit), [], {})
                names[param.name] = _ignore_exceptions(call_fixture)
        try:
            self.block(function.body)
        except ReturnSignal:
            pass
        finally:
            self.frames.pop()

    def _set_up(self, cls: ClassRef) -> Value:
        """The test's object after its set-up.

        A set-up is followed once for all tests that patch nothing before it.
        """
        key = (cls.unit.path, cls.cls.start_line)
        snapshots = self.program.modules.set_ups
        shared = not self.program.overrides
        if shared and key in snapshots:
            return self._resume(snapshots[key])
        budget = self.budget
        instance = Value(Instance(cls, open=True))
        for name in _SETUP_METHODS:
            methods = cls.unit.functions_named.get(f"{cls.cls.name}.{name}")
            if methods:
                method = FuncRef(methods[0], cls.unit, instance)
                _ignore_exceptions(partial(self.call_function, method, [], {}))
        if shared and self.budget < budget:
            snapshots[key] = self._take_snapshot(instance, budget - self.budget)
        return instance

    def _take_snapshot(self, instance: Value, spent: int) -> SetupSnapshot:
        return SetupSnapshot(
            instance,
            self.constants,
            self.program.overrides,
            self.trace,
            self.stores,
            self.unknowns,
            spent,
        ).copy()

    def _resume(self, snapshot: SetupSnapshot) -> Value:
        """Go on from where a set-up ended; gives the test's object."""
        # The test writes into what the set-up made, so each test has its own copy.
        copy = snapshot.copy()
        self.constants = copy.constants
        self.program.overrides = copy.overrides
        self.trace = copy.trace
        self.stores = copy.stores
        self.unknowns = copy.unknowns
        self.budget -= copy.spent
        return copy.instance

    def eval(self, expr: E.Expr) -> Value:
        """The value of an expression. Raises BudgetExceeded beyond the budget."""
        self.budget -= 1
        if self.budget < 0:
            raise BudgetExceeded
        return evaluate(self, expr)

    def call_function(self, ref: FuncRef, args: list[Value], words: dict[str, Value]) -> Value:
        """Run a function of the tree; a wrong argument list raises TypeError."""
        return call_function(self, ref, args, words)

    def store(self, target: E.Expr, value: Value) -> None:
        """`target = value`."""
        store_value(self, target, value)

    def block(self, body: tuple[S.Stmt, ...]) -> None:
        """Run statements in order; those of the test itself are followed beyond a failure."""
        is_test = self.frame.test
        for stmt in body:
            if is_test and not _has_blocks_or_leaves(stmt):
                self._run_test_statement(stmt)
            else:
                run_statement(self, stmt)

    def _run_test_statement(self, stmt: S.Stmt) -> None:
        """A statement of the test itself: an exception is a failure, and the test goes on."""
        self.reached.add(stmt.line)
        try:
            run_statement(self, stmt)
        except SimulatedException as raised:
            self._record_failure(raised, stmt.line)
            if isinstance(stmt, S.Assign):
                for name in E.names(stmt.target):
                    self.frame.names[name] = UNKNOWN_VALUE

    def _record_failure(self, raised: SimulatedException, line: int) -> None:
        if not self.is_certain:
            return
        where = raised.where or ValueOrigin(self.frame.unit.path, line)
        trace = self._last_traced(raised)
        failure = CertainFailure(raised.name, raised.detail, line, where, raised.origins, trace)
        self.failures.append(failure)

    def _last_traced(self, raised: SimulatedException) -> tuple[tuple[ValueOrigin, str, str], ...]:
        """The last entry of the trace for each line that the culprit came through, in order."""
        last_position = {entry[0]: i for i, entry in enumerate(self.trace)}
        entries = []
        for i, entry in enumerate(self.trace):
            if entry[0] in raised.origins and last_position[entry[0]] == i:
                entries.append(entry)
        return tuple(entries)


def _owner_of(function: Function, unit: SourceFile) -> Class | None:
    """The class of a test method."""
    for cls in unit.classes:
        if cls.name == function.owner:
            return cls
    return None


def _ignore_exceptions(action: Callable[[], Value]) -> Value:
    """The result of `action`; unknown where the interpreted code raises."""
    try:
        return action()
    except SimulatedException:
        return UNKNOWN_VALUE


def _has_blocks_or_leaves(stmt: S.Stmt) -> bool:
    """Whether the statements inside `stmt` are to be guarded one by one, or it ends the block."""
    return isinstance(stmt, S.With | S.If | S.For | S.Return | S.Jump)
