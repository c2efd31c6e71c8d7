"""How often verdicts on CI were right, by cause and category."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import add, attrgetter

from bot.ci.history import Precision
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown, Plain
from bot.reports import json_v1, markdown, terminal
from bot.reports.blocks import Block, Heading, Table, Text

_KINDS = ("cause", "category")
_COUNTS = ("verdicts", "right", "wrong", "precision")


def render(found: Sequence[Precision], output: str, language: str) -> str:
    """The table as `terminal`, `markdown` or `json`."""
    if output == "json":
        rows = [{**json_v1.plain(p), "precision": p.precision} for p in found]
        return json.dumps({"version": 1, "verdicts": rows}, indent=2) + "\n"
    words = Catalog(language, Markdown() if output == "markdown" else Plain())
    blocks = [
        Heading(1 if output == "markdown" else 2, words("ci.stats-title")),
        *_blocks(found, words),
    ]
    return markdown.written(blocks) if output == "markdown" else terminal.shown(blocks)


def _blocks(found: Sequence[Precision], words: Catalog) -> Iterator[Block]:
    if not found:
        yield Text(words("ci.stats-none"))
        return
    for kind in _KINDS:
        sort = attrgetter(kind)
        groups = (reduce(add, group) for _, group in groupby(sorted(found, key=sort), key=sort))
        header = tuple(words(f"ci.stats-{key}") for key in (kind, *_COUNTS))
        yield Table(header, tuple(_row(kind, group, words) for group in groups))
    yield Text(words("ci.stats-how"))


def _row(kind: str, one: Precision, words: Catalog) -> tuple[str, ...]:
    share = words("ci.stats-not-known") if one.precision is None else f"{one.precision:.1%}"
    counts = (str(one.verdicts), str(one.right), str(one.wrong))
    return (words(f"ci.{kind}-{getattr(one, kind)}"), *counts, share)
