"""How often verdicts on CI were right, by cause and by category."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown, Plain
from bot.reports import json_v1, markdown, terminal
from bot.reports.blocks import Block, Heading, Table, Text
from checks.ci.precision import Precision

_KINDS = ("cause", "category")
_COUNTS = ("verdicts", "right", "wrong", "precision")


def render(precisions: Sequence[Precision], output: str, language: str) -> str:
    """The tables as `terminal`, `markdown` or `json`."""
    if output == "json":
        rows = [{**json_v1.plain(p), "precision": p.precision} for p in precisions]
        return json.dumps({"version": 1, "verdicts": rows}, indent=2) + "\n"
    if output == "markdown":
        words = Catalog(language, Markdown())
        heading = Heading(1, words("ci.stats-title"))
        return markdown.write_document([heading, *_blocks(precisions, words)])
    words = Catalog(language, Plain())
    heading = Heading(2, words("ci.stats-title"))
    return terminal.write_for_terminal([heading, *_blocks(precisions, words)])


def _blocks(precisions: Sequence[Precision], words: Catalog) -> Iterator[Block]:
    if not precisions:
        yield Text(words("ci.stats-none"))
        return
    for kind in _KINDS:
        header = tuple(words(f"ci.stats-{key}") for key in (kind, *_COUNTS))
        totals = _totals(precisions, kind)
        yield Table(header, tuple(_row(kind, name, totals[name], words) for name in sorted(totals)))
    yield Text(words("ci.stats-how"))


def _totals(precisions: Sequence[Precision], kind: str) -> dict[str, Precision]:
    """The sum over all that have the same cause, or the same category."""
    totals: dict[str, Precision] = {}
    for precision in precisions:
        name = getattr(precision, kind)
        totals[name] = totals[name] + precision if name in totals else precision
    return totals


def _row(kind: str, name: str, total: Precision, words: Catalog) -> tuple[str, ...]:
    counts = (str(total.verdicts), str(total.right), str(total.wrong))
    return (words(f"ci.{kind}-{name}"), *counts, _share(total, words))


def _share(total: Precision, words: Catalog) -> str:
    if total.precision is None:
        return words("ci.stats-not-known")
    return f"{total.precision:.1%}"
