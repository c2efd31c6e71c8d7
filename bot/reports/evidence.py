"""The evidence of a finding as blocks: what a reader can check for themselves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from bot.i18n.catalog import Catalog, place
from bot.reports.blocks import Block, Code, Items, Table, Text
from checks.core.finding import (
    Counterexample,
    Definition,
    DerivationStep,
    Evidence,
    Execution,
    Finding,
    KernelRun,
    PastFailure,
    PredictedFailure,
    RecordDiff,
    Sibling,
)


def evidence_blocks(finding: Finding, words: Catalog) -> Iterator[Block]:
    """Every piece of evidence in the finding's order.

    Neighbours of one kind share a table or list.
    """
    for kind, group in groupby(finding.evidence, key=type):
        yield from _group(kind, list(group), finding.rule, words)


def _group(kind: type[Evidence], pieces: list[Any], rule: str, words: Catalog) -> Iterator[Block]:
    """Pieces that are all of one `kind`."""
    if kind is Counterexample:
        for piece in pieces:
            yield from _counterexample(piece, words)
    elif kind is PredictedFailure:
        for piece in pieces:
            yield from _failure(piece, words)
    elif kind is RecordDiff:
        for piece in pieces:
            yield from _records(piece, words)
    elif kind is Sibling:
        yield _siblings(pieces, rule, words)
    elif kind is Definition:
        yield _definitions(pieces, words)
    elif kind is KernelRun:
        yield _kernel_runs(pieces, words)
    elif kind is Execution:
        for piece in pieces:
            yield from _execution(piece, words)
    elif kind is PastFailure:
        yield _history(pieces, words)
    else:
        yield from _steps(pieces, rule, words)


def _counterexample(piece: Counterexample, words: Catalog) -> Iterator[Block]:
    yield Text(words("evidence.counterexample", expression=piece.expression))
    header = (words("evidence.field"), words("evidence.put-in"), words("evidence.comes-out"), "")
    rows = []
    for row in piece.rows:
        differs = "" if row.before == row.after else words("evidence.differs")
        before, after = _number(row.before, words), _number(row.after, words)
        rows.append((words.style.code(row.field), before, after, differs))
    yield Table(header, tuple(rows))
    if piece.packed is not None:
        yield Text(words("evidence.packed", packed=piece.packed))


def _number(value: int, words: Catalog) -> str:
    """Decimal, with the hexadecimal form where the bits are the point."""
    is_digit = 0 <= value < 10
    return words.style.code(str(value) if is_digit else f"{value} ({value:#x})")


def _failure(piece: PredictedFailure, words: Catalog) -> Iterator[Block]:
    if piece.fixture == piece.raised_at and not piece.trace:
        # The test makes the call that raises: there is no older form, and no value on its way.
        args = {"expression": piece.expression, "value": piece.value, "exception": piece.exception}
        yield Text(words("evidence.failure-call", place=piece.raised_at, **args))
        return
    yield Text(words("evidence.failure", test=piece.test))
    items = (
        words("evidence.failure-fixture", place=piece.fixture),
        words("evidence.failure-value", expression=piece.expression, value=piece.value),
        words("evidence.failure-raises", exception=piece.exception, place=piece.raised_at),
    )
    yield Items(items)
    if piece.trace:
        yield Code(piece.trace)


def _siblings(pieces: list[Sibling], rule: str, words: Catalog) -> Table:
    columns = ("hardware", "place", "function", "source", "why")
    rows = []
    for piece in pieces:
        row = (
            words.style.prose(piece.hardware),
            words.style.code(place(piece.location)),
            _code_or_nothing(piece.function, words),
            _code_or_nothing(piece.excerpt, words),
            words.message(rule, piece.verdict),
        )
        rows.append(row)
    return Table(_header(columns, words), tuple(rows))


def _definitions(pieces: list[Definition], words: Catalog) -> Table:
    columns = ("name", "value", "place", "source")
    code = words.style.code
    rows = []
    for piece in pieces:
        where = code(place(piece.location))
        excerpt = _code_or_nothing(piece.excerpt, words)
        rows.append((code(piece.name), code(piece.value), where, excerpt))
    return Table(_header(columns, words), tuple(rows))


def _kernel_runs(pieces: list[KernelRun], words: Catalog) -> Table:
    columns = ("case", "metric", "base", "head", "tolerance")
    rows = []
    for piece in pieces:
        case, metric = words.style.code(piece.case), words.style.prose(piece.metric)
        numbers = (f"{piece.base:g}", f"{piece.head:g}", f"{piece.tolerance:g}")
        rows.append((case, metric, *numbers))
    return Table(_header(columns, words), tuple(rows))


def _execution(piece: Execution, words: Catalog) -> Iterator[Block]:
    """The op and its schedule, the input as a table, what was expected, and the command."""
    yield Text(words("evidence.execution", op=piece.op, schedule=piece.schedule))
    code = words.style.code
    rows = [(code(name), code(value)) for name, value in piece.inputs]
    for key, value in (("expected", piece.expected), ("got", piece.got)):
        if value:
            rows.append((words(f"evidence.{key}"), code(value)))
    if rows:
        yield Table(_header(("name", "value"), words), tuple(rows))
    yield Text(words("evidence.again"))
    yield Code((piece.command,))


def _header(columns: tuple[str, ...], words: Catalog) -> tuple[str, ...]:
    return tuple(words(f"evidence.{column}") for column in columns)


def _code_or_nothing(text: str, words: Catalog) -> str:
    return words.style.code(text) if text else ""


def _history(pieces: list[PastFailure], words: Catalog) -> Items:
    lines = [words("evidence.history", where=piece.where, what=piece.what) for piece in pieces]
    return Items(tuple(lines))


def _records(piece: RecordDiff, words: Catalog) -> Iterator[Block]:
    args = {"base": piece.base, "head": piece.head, "verdict": piece.verdict}
    yield Text(words("comparison.evidence", **args))
    lines = [words(f"comparison.verdict-{piece.verdict}", safe=piece.safe)]
    for message in piece.said:
        lines.append(words(f"comparison.{message.key}", **message.args))
    yield Items(tuple(lines))


def _steps(pieces: list[DerivationStep], rule: str, words: Catalog) -> Iterator[Block]:
    yield Text(words("evidence.steps"))
    lines = []
    for piece in pieces:
        line = words("evidence.step", place=piece.location, excerpt=piece.excerpt)
        conclusion = words.message(rule, piece.conclusion)
        lines.append(f"{line} — {conclusion}" if conclusion else line)
    yield Items(tuple(lines), numbered=True)
