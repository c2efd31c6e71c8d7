"""Reads of a word in the Python class that owns the buffer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.bitfields.packing import single_assignments
from checks.domain.bitfields.reading import FieldRead, field_reads, strip_conversions
from checks.domain.conditions import are_compatible, split_condition
from checks.domain.ops import OpCall
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt, guarded_statements


@dataclass(frozen=True, slots=True)
class WordReader:
    """A place that reads a packed word: with shift and mask, or as a whole into `variable`.

    `read` is None for a word that is taken as a whole.
    """

    unit: SourceFile
    function: Function
    line: int
    read: FieldRead | None = None
    variable: str = ""


def python_readers(call: OpCall, buffer: str, index: int) -> Iterator[WordReader]:
    """Reads of `buffer[index]` in the class (or file) that makes the call.

    Only reads on branches that the call can be on too: one buffer often has the messages of several
    ops, one for each way in which the class runs.
    """
    assert call.function is not None
    owner = call.function.owner
    aliases = attribute_aliases(call.unit, owner)
    facts_of_call = attribute_facts(call.guards, aliases)
    attribute = buffer.rsplit(".", 1)[-1]
    for function in call.unit.functions:
        text = call.unit.text_of(function)
        if function.owner != owner or attribute not in text:
            continue
        for reader, guards in _reads_in(function, call.unit, buffer, index):
            if are_compatible(facts_of_call, attribute_facts(guards, aliases)):
                yield reader


def _reads_in(
    function: Function, unit: SourceFile, buffer: str, index: int
) -> Iterator[tuple[WordReader, tuple[E.Expr, ...]]]:
    """Each read with the conditions under which it runs."""
    statements = list(guarded_statements(function.body))
    local = single_assignments(statements)
    split: set[str] = set()
    for read in field_reads(function):
        if _is_word(read.word, buffer, index, local):
            split.update(E.names(read.expr))
            yield WordReader(unit, function, read.line, read), read.guarded.guards
    for guarded in statements:
        variable = _assigned_word(guarded, buffer, index, local)
        if variable is not None and variable not in split:
            reader = WordReader(unit, function, guarded.stmt.line, None, variable)
            yield reader, guarded.guards


def _assigned_word(
    guarded: GuardedStmt, buffer: str, index: int, local: dict[str, E.Expr]
) -> str | None:
    """`x` of `x = int(buffer[index])`."""
    stmt = guarded.stmt
    if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name) or stmt.value is None:
        return None
    value = strip_conversions(stmt.value, {})
    return stmt.target.id if _is_word(value, buffer, index, local) else None


def _is_word(expr: E.Expr, buffer: str, index: int, local: dict[str, E.Expr]) -> bool:
    """Whether `expr` is `buffer[index]` or `buffer[index, 0]`, also through a local that holds the
    buffer."""
    if not isinstance(expr, E.Index):
        return False
    if not all(isinstance(item, E.Const) for item in expr.indices):
        return False
    first = expr.indices[0]
    if not isinstance(first, E.Const) or first.value != index:
        return False
    return E.dotted(strip_conversions(expr.base, local)) == buffer


def attribute_aliases(unit: SourceFile, owner: str) -> dict[str, str]:
    """`self.x` -> the attribute that the class's `__init__` sets it to.

    `self.x = cfg.method is not None` counts as `cfg.method`: both are asked for being true.
    """
    aliases: dict[str, str] = {}
    init = next((f for f in unit.functions if f.owner == owner and f.name == "__init__"), None)
    if init is None:
        return aliases
    for guarded in guarded_statements(init.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.value is None:
            continue
        value = stmt.value
        if isinstance(value, E.Binary) and value.op == "is-not" and value.right == E.Const(None):
            value = value.left
        name, other = E.dotted(stmt.target), E.dotted(value)
        if name and other:
            aliases[name] = other
    return aliases


def attribute_facts(guards: tuple[E.Expr, ...], aliases: dict[str, str]) -> dict[str, bool]:
    """What conditions say of single attributes: dotted name -> whether it is true."""
    facts: dict[str, bool] = {}
    for guard in guards:
        for part, is_true in split_condition(guard, holds=True):
            name = E.dotted(part)
            if name is not None:
                facts[aliases.get(name, name)] = is_true
    return facts
