"""Tests of branches that a change wrote anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, equal_code
from checks.core.config import Config
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import If, guarded_statements
from checks.summary.pairs import paired

_TEST = re.compile(
    r"(?:(?:\}?\s*else\s+)?if|while)\s*\((.*)\)\s*(?:\{|return[^;]*;|continue;|break;)?$"
    r"|(?:(?:el)?if|while)\s+(.*):(?:\s+#.*)?$"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """The test of a branch, or (`part`) one operand of it, before and after, as written."""

    function: Function
    old: str
    new: str
    line: int
    part: bool = False


def conditions(change: ChangeSet, config: Config) -> Iterator[Condition]:
    """Tests of branches that were written anew in place: one went and one came in the same hunk of a function."""
    for delta in paired(change, config):
        file = change.changed(delta.head.path)
        if delta.base is None or delta.base_unit is None or file is None:
            continue
        before, now = _tests(delta.base), _tests(delta.head)
        for hunk in file.hunks:
            gone = [
                t for t in before if hunk.base_start <= t.line < hunk.base_start + hunk.base_len
            ]
            come = [t for t in now if hunk.head_start <= t.line < hunk.head_start + hunk.head_len]
            if (
                len(gone) == len(come) == 1
                and gone[0] != come[0]
                and _share_a_name(gone[0], come[0])
            ):
                old, new = condition(gone[0], delta.base_unit), condition(come[0], delta.unit)
                if old and new and old != new:
                    yield Condition(delta.head, old, new, come[0].line)
        yield from _long_conditions(delta)


def _long_conditions(delta: ChangedFunction) -> Iterator[Condition]:
    """Tests with an operand a line, of which one was exchanged for another: that operand before and after."""
    assert delta.base is not None and delta.base_unit is not None
    before, now = _tests(delta.base), _tests(delta.head)
    for test in now:
        operands = _operands(test)
        lines = {o.line for o in operands}
        if len(lines) < len(operands) or len(operands) < 3:
            continue
        for old in before:
            was = _operands(old)
            gone = [o for o in was if not any(equal_code(o, n) for n in operands)]
            come = [n for n in operands if not any(equal_code(o, n) for o in was)]
            if (
                len(was) == len(operands)
                and len(gone) == len(come) == 1
                and delta.touched(come[0].line)
            ):
                texts = _operand(gone[0], delta.base_unit), _operand(come[0], delta.unit)
                yield Condition(delta.head, *texts, come[0].line, part=True)


def _operands(test: E.Expr) -> list[E.Expr]:
    """The operands of the outermost `and`s or `or`s, in order."""
    if isinstance(test, E.Binary) and test.op in ("and", "or"):
        sides = [
            _operands(s) if isinstance(s, E.Binary) and s.op == test.op else [s]
            for s in (test.left, test.right)
        ]
        return [*sides[0], *sides[1]]
    return [test]


def _operand(e: E.Expr, unit: SourceFile) -> str:
    return re.sub(r"^(?:or|and|\|\||&&)\s+|\s+(?:or|and|\|\||&&)$", "", unit.text(e.line).strip())


def _tests(function: Function) -> list[E.Expr]:
    return [g.stmt.test for g in guarded_statements(function.body) if isinstance(g.stmt, If)]


def _share_a_name(a: E.Expr, b: E.Expr) -> bool:
    return bool(E.names(a) & E.names(b))


def condition(test: E.Expr, unit: SourceFile) -> str:
    """The condition as it stands on its line, empty where it goes over several."""
    found = _TEST.match(unit.text(test.line).strip())
    return (found[1] or found[2]).strip() if found else ""
