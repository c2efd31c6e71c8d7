"""A `switch` as a chain of branches."""

from __future__ import annotations

from dataclasses import dataclass

from checks.lang.ir.expr import Binary, Const, Expr
from checks.lang.ir.stmt import If, Jump, Stmt, With, leaves

# A `case` that runs on into the next one has the next one's statements too; so many of them.
_LONGEST_FALL = 8


@dataclass(frozen=True, slots=True)
class SwitchCase:
    """One `case label:` (label None: `default:`) with its statements and lines."""

    label: Expr | None
    body: tuple[Stmt, ...]
    line: int
    end_line: int


def branch_chain(subject: Expr, cases: list[SwitchCase]) -> tuple[Stmt, ...]:
    """`if (subject == a) ... else if (subject == b || subject == c) ... else ...`."""
    default: tuple[Stmt, ...] = ()
    tests: list[tuple[Expr, int]] = []
    labels: list[Expr] = []
    for position, case in enumerate(cases):
        if case.label is None:
            default = _statements_from(cases, position)
            labels = []
            continue
        labels.append(case.label)
        # `case 1: case 2: f();` is one branch for both.
        is_last = position + 1 == len(cases)
        if case.body or is_last:
            tests.append((_equals_any(subject, labels), position))
            labels = []
    chain = default
    for test, position in reversed(tests):
        case = cases[position]
        body = _statements_from(cases, position)
        chain = (If(test, body, chain, line=case.line, end_line=case.end_line),)
    return chain


def _equals_any(subject: Expr, labels: list[Expr]) -> Expr:
    test: Expr | None = None
    for label in labels:
        equal = Binary("==", subject, label, line=label.line)
        test = equal if test is None else Binary("or", test, equal, line=test.line)
    return test if test is not None else Const(False)


def _statements_from(cases: list[SwitchCase], position: int) -> tuple[Stmt, ...]:
    """A case's statements, on into the next ones until one leaves.

    Its own `break` is the end of the branch, and no statement of it.
    """
    statements: list[Stmt] = []
    for case in cases[position : position + _LONGEST_FALL]:
        statements.extend(_without_braces(case.body))
        if leaves(tuple(statements)):
            break
    if statements and isinstance(statements[-1], Jump) and statements[-1].kind == "break":
        statements.pop()
    return tuple(statements)


def _without_braces(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`case 1: { ...; break; }` without its braces, so that the `break` is seen."""
    if len(body) == 1 and isinstance(body[0], With) and body[0].kind == "block":
        return body[0].body
    return body
