"""What a test sets up: the last position it fills of a buffer, against the index it passes with it.

A test is run on symbols as kernels are, but straight through: loops once, array constructors as new
buffers, helpers of the same file followed. At each call of an op, or of a reference function, the
state of the arrays is noted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checks.eval.symbolic.affine import Linear, constant_form, symbol_form
from checks.eval.symbolic.executor import SymbolicExecutor
from checks.eval.symbolic.run import IndexNames
from checks.eval.symbolic.values import BufferTable, PathState, Pointer, SymbolicValue
from checks.lang.ir.expr import (
    Attr,
    Call,
    Const,
    Expr,
    Index,
    Name,
    Sequence,
    Slice,
    Unary,
    callee,
    dotted,
)
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import For, If
from checks.rules.semantics._fixture_fill import FixtureUse, UniformContent, Write

CONSTANT_FILLERS = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1}
VALUE_FILLERS = frozenset({"full", "full_like"})
CONVERSIONS = frozenset({"to_tensor", "array", "asarray", "tensor", "as_tensor"})
SETUP_METHODS = frozenset({"setUp", "setup_method"})
# Elements at the end of a literal that are padding when they repeat.
PADDING = frozenset({0, -1})
MOST_NESTED_CALLS = 4


def fixture_uses(unit: SourceFile, callees: frozenset[str], watch: IndexNames) -> list[FixtureUse]:
    """Every call of one of `callees` in the tests of a file."""
    if not callees:
        return []
    setups = {f.owner: f for f in unit.functions if f.name in SETUP_METHODS}
    found: list[FixtureUse] = []
    for test in unit.functions:
        if not test.name.startswith("test"):
            continue
        functions = [test]
        if test.owner and test.owner in setups:
            functions.insert(0, setups[test.owner])
        run = FixtureRun(unit, callees, watch, test.qualname)
        found += run.run(functions)
    return found


class FixtureRun(SymbolicExecutor):
    """The run of one test: what its arrays hold, and the calls of `callees` that it makes."""

    def __init__(
        self, unit: SourceFile, callees: frozenset[str], watch: IndexNames, test: str
    ) -> None:
        super().__init__(watch, lambda name, path, arity: _function(unit, name, arity), python=True)
        self.callees = callees
        self.test = test
        self.contents: dict[str, UniformContent] = {}
        self.literals: dict[str, tuple[int, ...]] = {}
        self.writes: list[Write] = []
        self.uses: list[FixtureUse] = []

    def run(self, functions: Iterable[Function]) -> list[FixtureUse]:
        """The calls that `functions`, run one after the other, make."""
        state = PathState()
        for function in functions:
            self.call_body(function, state)
            state.left = False
        return self.uses

    def branch(self, stmt: If, state: PathState) -> None:
        # Which arm a test takes seldom matters to its arrays, so both are run, one after the other.
        for arm in (stmt.then, stmt.orelse):
            self.block(arm, state)
            state.left = False

    def loop(self, stmt: For, state: PathState) -> None:
        name = dotted(stmt.target) if stmt.target is not None else None
        if name:
            state.env[name] = self.unknown(name)
        self.breaks.append([])
        self.block(stmt.body, state)
        self.breaks.pop()
        state.left = False

    def number(self, value: SymbolicValue, state: PathState | None) -> Linear | None:
        if isinstance(value, Pointer) and value.buffer in self.contents:
            return self.contents[value.buffer].value
        return super().number(value, state)

    def store(
        self, target: Expr, op: str, value: SymbolicValue, line: int, state: PathState
    ) -> None:
        place = self.place(target, state) if isinstance(target, Index) else None
        if place is None or not isinstance(target, Index):
            super().store(target, op, value, line, state)
            return
        is_slice = isinstance(target.indices[-1], Slice)
        # `x[:] = v`, and `x[b] = v` for each row `b`: every element is the same then.
        whole = len(target.indices) == 1 or not is_slice
        filler = self.number(value, state)
        if whole and filler is not None and op == "=":
            self.set_content(place.buffer, filler, line)
        if len(target.indices) > 1 or place.row:
            _, high = self.span(target, place, state)
            if high is not None:
                self.writes.append(Write(place.buffer, high, line, guessed=not is_slice))

    def set_content(self, buffer: str, filler: Linear, line: int) -> None:
        where = self.stack[-1]
        self.contents[buffer] = UniformContent(filler, where.path, line, where.qualname)

    def element(self, expr: Index, state: PathState) -> SymbolicValue:
        match expr:
            case Index(base=Attr(base=array, name="shape"), indices=(Const(value=0),)):
                length = self.literal_length(array, state)
                if length is not None:
                    return length
        return super().element(expr, state)

    def literal_length(self, array: Expr, state: PathState) -> Linear | None:
        """How many elements an array has that was written as a literal."""
        value = self.value(array, state)
        if isinstance(value, Pointer) and value.buffer in self.literals:
            return constant_form(len(self.literals[value.buffer]))
        return None

    def call(self, expr: Call, state: PathState) -> SymbolicValue:
        name = callee(expr)
        if name in self.callees:
            self.note_call(name, expr, state)
            return None
        if name in CONSTANT_FILLERS or name in VALUE_FILLERS:
            return self.new_array(self.filler(expr, state), expr.line)
        if name in CONVERSIONS and expr.args:
            return self.converted(expr, state)
        if name == "len" and expr.args:
            length = self.literal_length(expr.args[0], state)
            if length is not None:
                return length
        return self.helper_result(expr, state)

    def helper_result(self, expr: Call, state: PathState) -> SymbolicValue:
        """What a function of the test file gives back."""
        result = super().call(expr, state)
        if isinstance(result, Pointer) or (isinstance(result, BufferTable) and result.items):
            return result
        # A helper that rebuilds a dict in a loop (`{k: to_tensor(v)}`) gives the same arrays again.
        arguments = [self.value(argument, state) for argument in expr.args]
        tables = [value for value in arguments if isinstance(value, BufferTable)]
        return tables[0] if len(tables) == 1 else result

    def note_call(self, name: str, expr: Call, state: PathState) -> None:
        args: list[SymbolicValue] = []
        for argument in expr.args:
            args += self.argument_values(argument, state)
        keywords: list[tuple[str, SymbolicValue]] = []
        for keyword, value in expr.keywords:
            keywords += self.keyword_values(keyword, value, state)
        contents, writes = dict(self.contents), tuple(self.writes)
        self.uses.append(
            FixtureUse(name, self.test, expr.line, tuple(args), tuple(keywords), contents, writes)
        )

    def argument_values(self, expr: Expr, state: PathState) -> tuple[SymbolicValue, ...]:
        """The values of an argument: one for each item of a dict for `*inputs.values()`."""
        match expr:
            case Unary(op="*", operand=Call(func=Attr(base=base, name="values"), args=())):
                table = self.value(base, state)
                if not isinstance(table, BufferTable):
                    return (None,)
                return tuple(value for _, value in table.items)
            case _:
                return (self.value(expr, state),)

    def keyword_values(
        self, name: str, expr: Expr, state: PathState
    ) -> tuple[tuple[str, SymbolicValue], ...]:
        """The parameter and value of a keyword argument: of every item of a dict for `**inputs`."""
        value = self.value(expr, state)
        if name != "**":
            return ((name, value),)
        return value.items if isinstance(value, BufferTable) else ()

    def filler(self, expr: Call, state: PathState) -> Linear | None:
        """The number with which a constructor such as `zeros` or `full` fills its array."""
        name = callee(expr)
        if name in CONSTANT_FILLERS:
            return constant_form(CONSTANT_FILLERS[name])
        value = dict(expr.keywords).get("fill_value")
        if value is None and len(expr.args) > 1:
            value = expr.args[1]
        return self.number(self.value(value, state), state) if value is not None else None

    def new_array(self, filler: Linear | None, line: int) -> Pointer:
        array = Pointer(f"@{next(self.fresh)}")
        if filler is not None:
            self.set_content(array.buffer, filler, line)
        return array

    def converted(self, expr: Call, state: PathState) -> SymbolicValue:
        """`to_tensor(x)`: the same array, or a new one from a literal."""
        literal = _literal_row(expr.args[0])
        if literal is None:
            value = self.value(expr.args[0], state)
            return replace(value, row=False) if isinstance(value, Pointer) else value
        filler = constant_form(literal[0]) if len(set(literal)) == 1 else None
        array = self.new_array(filler, expr.line)
        self.literals[array.buffer] = literal
        last = constant_form(_last_unpadded(literal))
        self.writes.append(Write(array.buffer, last, expr.line, guessed=True))
        return array

    def relevant(
        self, args: list[SymbolicValue], words: dict[str, SymbolicValue], state: PathState
    ) -> bool:
        return len(self.stack) < MOST_NESTED_CALLS

    def named(self, expr: Name | Attr, state: PathState) -> SymbolicValue:
        name = dotted(expr)
        if isinstance(expr, Name) and name not in state.env:
            return symbol_form("opaque", expr.id)
        return super().named(expr, state)


def _last_unpadded(literal: tuple[int, ...]) -> int:
    """The last position of `literal` before the padding at its end."""
    last = len(literal) - 1
    while last > 0 and literal[last] in PADDING and literal[last] == literal[-1]:
        last -= 1
    return last


def _literal_row(expr: Expr) -> tuple[int, ...] | None:
    """The numbers of a list display, of its first row where it has rows."""
    if not isinstance(expr, Sequence) or not expr.items:
        return None
    if isinstance(expr.items[0], Sequence):
        return _literal_row(expr.items[0])
    values: list[int] = []
    for item in expr.items:
        value = _integer(item)
        if value is None:
            return None
        values.append(value)
    return tuple(values)


def _integer(expr: Expr) -> int | None:
    match expr:
        case Const(value=int(value)):
            return value
        case Unary(op="-", operand=Const(value=int(value))):
            return -value
        case _:
            return None


def _function(unit: SourceFile, name: str, arity: int) -> Function | None:
    """The function of `unit` that a call with `arity` arguments can mean."""
    for function in unit.functions:
        params = [p for p in function.params if p.name not in ("self", "cls")]
        if function.name == name and arity <= len(params):
            return function
    return None
