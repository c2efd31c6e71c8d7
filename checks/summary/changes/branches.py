"""Values of an enum that functions newly compare with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.ops import statement_expressions
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.summary.changes.pairs import paired_functions

# An enum's member: `SpecMethod.MTP`, never `self.method`.
_MEMBER = re.compile(r"(?:\w+\.)*[A-Z][A-Za-z0-9]+\.[A-Z][A-Z0-9_]*")
_COMPARISONS = ("==", "!=", "in", "not-in", "is")


@dataclass(frozen=True, slots=True)
class NewBranches:
    """Members of `enum` that a function newly compares with; `new`: so is the function itself."""

    function: Function
    enum: str
    members: tuple[str, ...]
    line: int
    new: bool


def find_new_branches(change: ChangeSet, config: Config) -> Iterator[NewBranches]:
    """Comparisons with members of an enum (`X.NAME`) that a function did not make before."""
    for delta in paired_functions(change, config):
        known = set()
        if delta.base is not None:
            known = {name for name, _ in _compared_members(delta.base)}
        lines: dict[str, dict[str, int]] = {}
        for name, line in _compared_members(delta.head):
            if name not in known:
                enum, _, member = name.rpartition(".")
                lines.setdefault(enum, {}).setdefault(member, line)
        for enum, members in lines.items():
            first_line = next(iter(members.values()))
            yield NewBranches(delta.head, enum, tuple(members), first_line, delta.base is None)


def _compared_members(function: Function) -> Iterator[tuple[str, int]]:
    """(`Enum.MEMBER`, line) of every comparison in the function, in order."""
    for _, expressions in statement_expressions(function.body):
        for expr in expressions:
            if isinstance(expr, E.Binary) and expr.op in _COMPARISONS:
                for side in (expr.left, expr.right):
                    for name in _members_in(side):
                        yield name, expr.line


def _members_in(operand: E.Expr) -> list[str]:
    """The enum members that `operand` is, or that it lists: `(Enum.A, Enum.B)`."""
    items = operand.items if isinstance(operand, E.Sequence) else (operand,)
    members = []
    for item in items:
        name = E.dotted(item)
        if name and _MEMBER.fullmatch(name):
            members.append(".".join(name.split(".")[-2:]))
    return members
