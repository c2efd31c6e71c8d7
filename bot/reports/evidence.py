"""The evidence of a finding as blocks: what a reader can check for themselves."""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog, place
from bot.reports.blocks import Block, Code, Items, Table, Text
from checks.core.finding import (
    Counterexample,
    Definition,
    Evidence,
    Finding,
    History,
    KernelRun,
    PredictedFailure,
    RecordDiff,
    Sibling,
    Step,
)


def evidence_blocks(finding: Finding, words: Catalog) -> Iterator[Block]:
    """Every piece of evidence in the finding's order; runs of one kind share a table or a list."""
    run: list[Evidence] = []
    for piece in finding.evidence:
        if run and type(run[0]) is not type(piece):
            yield from _run(run, finding.rule, words)
            run = []
        run.append(piece)
    if run:
        yield from _run(run, finding.rule, words)


def _run(run: list[Evidence], rule: str, words: Catalog) -> Iterator[Block]:
    first = run[0]
    if isinstance(first, Counterexample):
        for piece in run:
            assert isinstance(piece, Counterexample)
            yield from _counterexample(piece, words)
    elif isinstance(first, PredictedFailure):
        for piece in run:
            assert isinstance(piece, PredictedFailure)
            yield from _failure(piece, words)
    elif isinstance(first, Sibling):
        yield _siblings([p for p in run if isinstance(p, Sibling)], rule, words)
    elif isinstance(first, Definition):
        yield _definitions([p for p in run if isinstance(p, Definition)], words)
    elif isinstance(first, KernelRun):
        yield _kernel_runs([p for p in run if isinstance(p, KernelRun)], words)
    elif isinstance(first, History):
        yield _history([p for p in run if isinstance(p, History)], words)
    elif isinstance(first, RecordDiff):
        for piece in run:
            assert isinstance(piece, RecordDiff)
            yield from _records(piece, words)
    else:
        yield from _steps([p for p in run if isinstance(p, Step)], rule, words)


def _counterexample(piece: Counterexample, words: Catalog) -> Iterator[Block]:
    code = words.style.code
    yield Text(words("evidence.counterexample", expression=piece.expression))
    header = (words("evidence.field"), words("evidence.put-in"), words("evidence.comes-out"), "")
    rows = tuple(
        (
            code(row.field),
            _number(row.before, words),
            _number(row.after, words),
            "" if row.before == row.after else words("evidence.differs"),
        )
        for row in piece.rows
    )
    yield Table(header, rows)
    if piece.packed is not None:
        yield Text(words("evidence.packed", packed=piece.packed))


def _number(value: int, words: Catalog) -> str:
    """Decimal, with the hexadecimal form where the bits are the point."""
    return words.style.code(str(value) if 0 <= value < 10 else f"{value} ({value:#x})")


def _failure(piece: PredictedFailure, words: Catalog) -> Iterator[Block]:
    yield Text(words("evidence.failure", test=piece.test))
    items = [
        words("evidence.failure-fixture", place=piece.fixture),
        words("evidence.failure-value", expression=piece.expression, value=piece.value),
        words("evidence.failure-raises", exception=piece.exception, place=piece.raised_at),
    ]
    yield Items(tuple(items))
    if piece.trace:
        yield Code(piece.trace)


def _siblings(pieces: list[Sibling], rule: str, words: Catalog) -> Table:
    code = words.style.code
    header = tuple(
        words(f"evidence.{name}") for name in ("hardware", "place", "function", "source", "why")
    )
    rows = tuple(
        (
            words.style.prose(p.hardware),
            code(place(p.location)),
            code(p.function) if p.function else "",
            code(p.excerpt) if p.excerpt else "",
            words.message(rule, p.verdict),
        )
        for p in pieces
    )
    return Table(header, rows)


def _definitions(pieces: list[Definition], words: Catalog) -> Table:
    code = words.style.code
    header = (
        words("evidence.name"),
        words("evidence.value"),
        words("evidence.place"),
        words("evidence.source"),
    )
    rows = tuple(
        (code(p.name), code(p.value), code(place(p.location)), code(p.excerpt) if p.excerpt else "")
        for p in pieces
    )
    return Table(header, rows)


def _kernel_runs(pieces: list[KernelRun], words: Catalog) -> Table:
    names = ("case", "metric", "base", "head", "tolerance")
    rows = tuple(
        (
            words.style.code(p.case),
            words.style.prose(p.metric),
            *(f"{number:g}" for number in (p.base, p.head, p.tolerance)),
        )
        for p in pieces
    )
    return Table(tuple(words(f"evidence.{name}") for name in names), rows)


def _history(pieces: list[History], words: Catalog) -> Items:
    return Items(tuple(words("evidence.history", where=p.where, what=p.what) for p in pieces))


def _records(piece: RecordDiff, words: Catalog) -> Iterator[Block]:
    yield Text(
        words("comparison.evidence", base=piece.base, head=piece.head, verdict=piece.verdict)
    )
    verdict = words(f"comparison.verdict-{piece.verdict}", safe=piece.safe)
    yield Items((verdict, *(words(f"comparison.{m.key}", **m.args) for m in piece.said)))


def _steps(pieces: list[Step], rule: str, words: Catalog) -> Iterator[Block]:
    yield Text(words("evidence.steps"))
    lines = []
    for piece in pieces:
        conclusion = words.message(rule, piece.conclusion)
        shown = words("evidence.step", place=piece.location, excerpt=piece.excerpt)
        lines.append(f"{shown} — {conclusion}" if conclusion else shown)
    yield Items(tuple(lines), numbered=True)
