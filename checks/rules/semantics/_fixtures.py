"""What a test sets up: the last position it fills of a buffer, against the index it passes with it.

A test is run on symbols as well, but straight through: loops once, array constructors as new buffers, helpers of the
same file followed. At each call of an op, or of a reference function, the arrays are compared with the index.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from checks.eval.symbolic.affine import Linear, number, symbol
from checks.eval.symbolic.interpret import Interpreter, Watch
from checks.eval.symbolic.values import Pointer, State, Table, Value
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
from checks.rules.semantics._fixture_fill import Content, Use, Write

FILLED = {"zeros": 0, "ones": 1, "zeros_like": 0, "ones_like": 1}
FULL = frozenset({"full", "full_like"})
WRAPS = frozenset({"to_tensor", "array", "asarray", "tensor", "as_tensor"})


class FixtureRun(Interpreter):
    """One test, with its `setUp` before it. `wanted` are the callees to note."""

    def __init__(self, unit: SourceFile, wanted: frozenset[str], watch: Watch) -> None:
        super().__init__(watch, lambda name, path, arity: _function(unit, name, arity), python=True)
        self.wanted = wanted
        self.contents: dict[str, Content] = {}
        self.rows: dict[str, tuple[int, ...]] = {}
        self.filled: list[Write] = []
        self.uses: list[Use] = []
        self.test = ""

    def run(self, test: Function, before: Iterable[Function]) -> list[Use]:
        """Every wanted call that `test` makes after `before`."""
        self.test = test.qualname
        state = State()
        for function in (*before, test):
            self.call_body(function, state)
            state.left = False
        return self.uses

    def branch(self, stmt: If, state: State) -> None:
        for arm in (stmt.then, stmt.orelse):
            self.block(arm, state)
            state.left = False

    def loop(self, stmt: For, state: State) -> None:
        if stmt.target is not None and (name := dotted(stmt.target)):
            state.env[name] = self.unknown(name)
        self.breaks.append([])
        self.block(stmt.body, state)
        self.breaks.pop()
        state.left = False

    def number(self, value: Value, state: State | None) -> Linear | None:
        if isinstance(value, Pointer) and value.buffer in self.contents:
            return self.contents[value.buffer].value
        return super().number(value, state)

    def store(self, target: Expr, op: str, value: Value, line: int, state: State) -> None:
        place = self.place(target, state) if isinstance(target, Index) else None
        if place is None or not isinstance(target, Index):
            super().store(target, op, value, line, state)
            return
        form = self.number(value, state)
        whole = len(target.indices) == 1 or not isinstance(target.indices[-1], Slice)
        if whole and form is not None and op == "=":
            self.hold(place.buffer, form, line)
        if len(target.indices) > 1 or place.row:
            _, high = self.span(target, place, state)
            if high is not None:
                single = not isinstance(target.indices[-1], Slice)
                self.filled.append(Write(place.buffer, high, line, guessed=single))

    def hold(self, buffer: str, form: Linear, line: int) -> None:
        where = self.stack[-1]
        self.contents[buffer] = Content(form, where.path, line, where.qualname)

    def element(self, expr: Index, state: State) -> Value:
        match expr:
            case Index(base=Attr(base=base, name="shape"), indices=(Const(value=0),)):
                held = self.value(base, state)
                if isinstance(held, Pointer) and held.buffer in self.rows:
                    return number(len(self.rows[held.buffer]))
        return super().element(expr, state)

    def call(self, expr: Call, state: State) -> Value:
        name = callee(expr)
        if name in self.wanted:
            args = tuple(v for a in expr.args for v in self.spread(a, state))
            words = tuple(pair for k, v in expr.keywords for pair in self.named_pairs(k, v, state))
            kept = (dict(self.contents), tuple(self.filled))
            self.uses.append(Use(name, self.test, expr.line, args, words, *kept))
            return None
        if name in FILLED or name in FULL:
            return self.fresh_array(self._fill(expr, state), expr.line)
        if name in WRAPS and expr.args:
            return self.wrapped(expr, state)
        if name == "len" and expr.args:
            held = self.value(expr.args[0], state)
            if isinstance(held, Pointer) and held.buffer in self.rows:
                return number(len(self.rows[held.buffer]))
        result = super().call(expr, state)
        if isinstance(result, Pointer) or (isinstance(result, Table) and result.items):
            return result
        # A helper that rebuilds a dict in a loop (`{k: to_tensor(v)}`) gives the same arrays again.
        tables = [v for a in expr.args if isinstance(v := self.value(a, state), Table)]
        return tables[0] if len(tables) == 1 else result

    def spread(self, expr: Expr, state: State) -> tuple[Value, ...]:
        """The values of an argument: of every item of a dict, in its order, for `*inputs.values()`."""
        match expr:
            case Unary(op="*", operand=Call(func=Attr(base=base, name="values"), args=())):
                held = self.value(base, state)
                return tuple(v for _, v in held.items) if isinstance(held, Table) else (None,)
            case _:
                return (self.value(expr, state),)

    def named_pairs(self, name: str, expr: Expr, state: State) -> tuple[tuple[str, Value], ...]:
        """The parameter and value of a keyword argument: of every item of a dict for `**inputs`."""
        held = self.value(expr, state)
        if name == "**":
            return held.items if isinstance(held, Table) else ()
        return ((name, held),)

    def _fill(self, expr: Call, state: State) -> Linear | None:
        if callee(expr) in FILLED:
            return number(FILLED[callee(expr)])
        words = dict(expr.keywords)
        value = words.get("fill_value") or (expr.args[1] if len(expr.args) > 1 else None)
        return self.number(self.value(value, state), state) if value is not None else None

    def fresh_array(self, fill: Linear | None, line: int) -> Pointer:
        made = Pointer(f"@{next(self.fresh)}")
        if fill is not None:
            self.hold(made.buffer, fill, line)
        return made

    def wrapped(self, expr: Call, state: State) -> Value:
        """`to_tensor(x)`: the same array, or a new one from a literal."""
        literal = _row(expr.args[0])
        if literal is None:
            held = self.value(expr.args[0], state)
            return replace(held, row=False) if isinstance(held, Pointer) else held
        made = self.fresh_array(number(literal[0]) if len(set(literal)) == 1 else None, expr.line)
        self.rows[made.buffer] = literal
        last = len(literal) - 1
        while last > 0 and literal[last] in (0, -1) and literal[last] == literal[-1]:
            last -= 1
        self.filled.append(Write(made.buffer, number(last), expr.line, guessed=True))
        return made

    def relevant(self, args: list[Value], words: dict[str, Value], state: State) -> bool:
        return len(self.stack) < 4

    def named(self, expr: Name | Attr, state: State) -> Value:
        name = dotted(expr)
        if isinstance(expr, Name) and name not in state.env:
            return symbol("opaque", expr.id)
        return super().named(expr, state)


def _row(expr: Expr) -> tuple[int, ...] | None:
    """The numbers of a list display, of its first row where it has rows."""
    if not isinstance(expr, Sequence) or not expr.items:
        return None
    if isinstance(expr.items[0], Sequence):
        return _row(expr.items[0])
    values = [_integer(item) for item in expr.items]
    return tuple(v for v in values if v is not None) if None not in values else None


def _integer(expr: Expr) -> int | None:
    match expr:
        case Const(value=int(value)):
            return value
        case Unary(op="-", operand=Const(value=int(value))):
            return -value
        case _:
            return None


def _function(unit: SourceFile, name: str, arity: int) -> Function | None:
    for function in unit.functions:
        params = [p for p in function.params if p.name not in ("self", "cls")]
        if function.name == name and arity <= len(params):
            return function
    return None


def uses(unit: SourceFile, wanted: frozenset[str], watch: Watch) -> list[Use]:
    """Every use of `wanted` in the tests of a file."""
    found: list[Use] = []
    setups = {f.owner: f for f in unit.functions if f.name in ("setUp", "setup_method")}
    for test in unit.functions:
        if not test.name.startswith("test") or not wanted:
            continue
        before = [setups[test.owner]] if test.owner in setups and test.owner else []
        found += FixtureRun(unit, wanted, watch).run(test, before)
    return found
