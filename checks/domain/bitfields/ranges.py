"""What values a field can have where a word is packed: from its declared type, and from the
conditions that hold there."""

from __future__ import annotations

from collections.abc import Callable

from checks.domain.bitfields.bit_solver import BitSolver, BitVector, Condition
from checks.domain.bitfields.int_types import INT32, INT64, int_type
from checks.domain.bitfields.masked_values import MaskedValues
from checks.domain.bitfields.packing import BitField, PackExpr, single_assignments
from checks.eval.integers import CIntType
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assert, Assign, GuardedStmt, guarded_statements

# A field this wide has no field above it that could be spilled into.
_WIDEST_FIELD = 30

# The solver's integers are this wide, and constants of the source are taken up to the other width:
# sums of them cannot come round.
_INTEGER_BITS = 160
_LARGEST_CONSTANT = 1 << 128


class Ranges:
    """The values that fields can have at the statement `at` of `function`."""

    def __init__(self, function: Function, unit: SourceFile, at: GuardedStmt) -> None:
        self._language = unit.language
        statements = list(guarded_statements(function.body))
        self._at = at
        self._masked = MaskedValues(statements)
        self._local = single_assignments(statements)
        self._types = _declared_types(function, statements)
        self._members = _member_types(unit)
        self._facts = [*_asserted_before(at, statements), *at.guards]

    def type_of(self, expr: E.Expr) -> CIntType | None:
        """The type that bounds the values of `expr`: as declared, or of a cast to a narrower one.

        None where C++ does not say it here, as for what a call returns. A number in Python has 64
        bits.
        """
        if self._language == "python":
            return INT64
        match expr:
            case E.Const(value=int()):
                return INT32
            case E.Cast(type=text, operand=operand):
                return _narrower(int_type(text), self.type_of(operand))
            case E.Name(id=name):
                text = self._types.get(name, "")
                return None if "*" in text else int_type(text)
            case E.Attr(name=name):
                return self._members.get(name)
            case E.Index(base=E.Name(id=name)):
                return int_type(self._types.get(name, "").rstrip("*& "))
            case E.Index(base=base):
                return self.type_of(base)
            case E.Binary(op="+" | "-" | "*" | "/" | "%", left=left, right=right):
                return _promoted(self.type_of(left), self.type_of(right))
        return None

    def bits_of(self, pack: PackExpr) -> int:
        """The width of the word: of its widest field, at least an int."""
        types = (field.cast or self.type_of(field.expr) for field in pack.fields)
        return max(32, *(type_.bits for type_ in types if type_ is not None), 0)

    def _type_of_field(self, field: BitField) -> CIntType | None:
        own = self.type_of(field.expr)
        return own if field.cast is None or own is None else _narrower(field.cast, own)

    def overflow(self, field: BitField, width: int) -> int | None:
        """A value of the field that does not fit `width` bits and that nothing here rules out.

        None where there is no such value. Negative values of a signed field of the word's own width
        are not considered: sizes are rarely negative.
        """
        if field.constant is not None:
            fits = 0 <= field.constant < 1 << width
            return None if fits else field.constant
        if field.mask is None:
            is_masked = self._masked.holds(field.expr, self._at)
        else:
            is_masked = field.mask < 1 << width
        type_ = self._type_of_field(field)
        if is_masked or type_ is None or width > _WIDEST_FIELD:
            return None
        # The width of a declared type is a mask.
        if type_.highest < 1 << width:
            return None
        facts = [fact for fact in self._facts if self._mentions(fact, field.expr)]
        if not facts:
            return 1 << width
        return _smallest_beyond(width, self._key(field.expr), facts, type_, self._key)

    def _mentions(self, fact: E.Expr, expr: E.Expr) -> bool:
        key = self._key(expr)
        return any(self._key(part) == key for part in E.walk(fact))

    def _key(self, expr: E.Expr) -> str:
        """Equal for expressions that mean the same value: a local stands for what it was set to."""
        if isinstance(expr, E.Cast):
            return self._key(expr.operand)
        if isinstance(expr, E.Name):
            value = self._local.get(expr.id)
            if isinstance(value, E.Name | E.Attr | E.Cast):
                return self._key(value)
        return source_of(expr)

    def text(self, expr: E.Expr | None) -> str:
        """`expr` as source, short; empty for None."""
        return "" if expr is None else source_of(expr)


def _declared_types(function: Function, statements: list[GuardedStmt]) -> dict[str, str]:
    """The type of each parameter and local, as written."""
    declared = {param.name: param.type for param in function.params}
    for guarded in statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and stmt.declares and isinstance(stmt.target, E.Name):
            declared[stmt.target.id] = stmt.declares
    return declared


def _member_types(unit: SourceFile) -> dict[str, CIntType]:
    """The widest integer type that a struct of the file gives each member's name."""
    types: dict[str, CIntType] = {}
    for struct in unit.structs:
        for member in struct.members:
            type_ = int_type(member.type)
            known = types.get(member.name)
            if type_ is not None and (known is None or known.bits < type_.bits):
                types[member.name] = type_
    return types


def _narrower(first: CIntType | None, second: CIntType | None) -> CIntType | None:
    """The type that leaves fewer values; the one that is known where only one is."""
    if first is None or second is None:
        return first or second
    return first if first.highest <= second.highest else second


def _promoted(left: CIntType | None, right: CIntType | None) -> CIntType | None:
    """The type of a sum or product in C: an `int` at least. None where a side is not known."""
    if left is None or right is None:
        return None
    return max(INT32, left, right, key=lambda type_: type_.bits)


def _asserted_before(at: GuardedStmt, statements: list[GuardedStmt]) -> list[E.Expr]:
    """The assertions that have held on every way to `at`."""
    facts = []
    for guarded in statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assert) or stmt.line >= at.stmt.line:
            continue
        if set(guarded.guards) <= set(at.guards):
            facts.append(stmt.test)
    return facts


def _smallest_beyond(
    width: int,
    key: str,
    facts: list[E.Expr],
    type_: CIntType,
    key_of: Callable[[E.Expr], str],
) -> int | None:
    """The smallest value beyond `width` bits that all `facts` allow for the expression `key`.

    None when the solver finds none.
    """
    solver = BitSolver()
    terms = _Terms(solver, key, key_of)
    lowest, highest = max(1 << width, type_.lowest), type_.highest
    solver.require(terms.number(lowest).at_most(terms.x))
    solver.require(terms.x.at_most(highest))
    for fact in facts:
        condition = terms.condition(fact)
        if condition is not None:
            solver.require(condition)
    smallest = solver.solve([terms.x])
    if smallest is None:
        return None
    (highest,) = smallest
    while lowest < highest:
        middle = (lowest + highest) // 2
        smaller = solver.solve([terms.x], terms.x.at_most(middle))
        if smaller is None:
            lowest = middle + 1
        else:
            (highest,) = smaller
    return highest


class _Terms:
    """Facts about the expression `key` alone, in the solver's terms; `x` stands for it."""

    def __init__(self, solver: BitSolver, key: str, key_of: Callable[[E.Expr], str]) -> None:
        self._solver = solver
        self._key = key
        self._key_of = key_of
        self.x = solver.unknown("x", _INTEGER_BITS)

    def number(self, value: int) -> BitVector:
        """A constant as wide as `x`."""
        return self._solver.number(value, _INTEGER_BITS)

    def condition(self, fact: E.Expr) -> Condition | None:
        """`fact` where it is about `x` alone, None where it says something else.

        A condition may say less than the fact, never more, so that no value is ruled out wrongly.
        """
        match fact:
            case E.Binary(op="and", left=left, right=right):
                first, second = self.condition(left), self.condition(right)
                if first is None or second is None:
                    return first or second
                return first.both(second)
            case E.Binary(op="or", left=left, right=right):
                first, second = self.condition(left), self.condition(right)
                if first is None or second is None:
                    return None
                return first.either(second)
            case E.Unary(op="not", operand=operand):
                # The negation of a condition that says less than its fact would say more.
                if _contains_and(operand):
                    return None
                condition = self.condition(operand)
                return None if condition is None else condition.negation()
            case E.Binary(op=op, left=left, right=right):
                smaller, larger = self._term(left), self._term(right)
                if smaller is None or larger is None:
                    return None
                return _comparison(op, smaller, larger)
            case _:
                return None

    def _term(self, expr: E.Expr) -> BitVector | None:
        """A number, `x`, or a sum or remainder of those; None for anything else."""
        if self._key_of(expr) == self._key:
            return self.x
        match expr:
            case E.Const(value=int() as value):
                is_small = abs(value) < _LARGEST_CONSTANT
                return self.number(int(value)) if is_small else None
            case E.Binary(op="&", left=left, right=E.Const(value=int() as mask)):
                inner = self._term(left)
                is_run_of_ones = mask & (mask + 1) == 0
                return inner & mask if inner is not None and is_run_of_ones else None
            case E.Binary(op="+" | "-" as op, left=left, right=right):
                first, second = self._term(left), self._term(right)
                if first is None or second is None:
                    return None
                return first + second if op == "+" else first - second
            case _:
                return None


def _contains_and(expr: E.Expr) -> bool:
    return any(isinstance(part, E.Binary) and part.op == "and" for part in E.walk(expr))


def _comparison(op: str, left: BitVector, right: BitVector) -> Condition | None:
    match op:
        case "==":
            return left.equals(right)
        case "!=":
            return left.equals(right).negation()
        case "<":
            return left.less(right)
        case "<=":
            return left.at_most(right)
        case ">":
            return right.less(left)
        case ">=":
            return right.at_most(left)
        case _:
            return None
