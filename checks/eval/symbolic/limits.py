"""What a condition says about positions: linear forms that are at most zero where it holds."""

from __future__ import annotations

from checks.eval.symbolic.affine import Linear
from checks.eval.symbolic.run import SymbolicRun
from checks.eval.symbolic.values import PathState
from checks.lang.ir.expr import Binary, Expr, Unary

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def limits_of(run: SymbolicRun, test: Expr, state: PathState, *, holds: bool) -> list[Linear]:
    """Linear forms that are at most zero where `test` is `holds`."""
    match test:
        case Unary(op="not", operand=operand):
            return limits_of(run, operand, state, holds=not holds)
        case Binary(op="and" | "or" as op, left=left, right=right):
            # Only of an `and` that holds, or an `or` that fails, both sides are known.
            if (op == "and") != holds:
                return []
            left_limits = limits_of(run, left, state, holds=holds)
            return left_limits + limits_of(run, right, state, holds=holds)
        case Binary(op=op, left=left, right=right) if op in _OPPOSITE:
            left_number = _peek_number(run, left, state)
            right_number = _peek_number(run, right, state)
            if left_number is None or right_number is None:
                return []
            if not holds:
                op = _OPPOSITE[op]
            return _limits_of_comparison(op, left_number, right_number)
        case _:
            return []


def _limits_of_comparison(op: str, left: Linear, right: Linear) -> list[Linear]:
    """What is at most zero where `left op right` holds."""
    match op:
        case "<":
            return [(left - right).plus(1)]
        case "<=":
            return [left - right]
        case ">":
            return [(right - left).plus(1)]
        case ">=":
            return [right - left]
        case "==":
            return [left - right, right - left]
        case _:
            return []


def _peek_number(run: SymbolicRun, expr: Expr, state: PathState) -> Linear | None:
    """The number that `expr` is, without keeping the reads that looking at it records."""
    accesses = run.recorder.accesses
    count = len(accesses)
    number = run.number_of(expr, state)
    del accesses[count:]
    return number
