"""How often verdicts on CI were right, by cause and category."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import groupby
from operator import add

from bot.ci.history import Precision
from bot.reports import jsonfmt, markdown, terminal
from bot.reports.blocks import Block, Heading, Table, Text
from bot.style import Markdown, Plain
from bot.words import Words

_KEYS = ("cause", "category", "verdicts", "right", "wrong", "precision")


def render(found: Sequence[Precision], output: str, language: str) -> str:
    """The table as `terminal`, `markdown` or `json`."""
    if output == "json":
        rows = [{**jsonfmt.plain(p), "precision": p.precision} for p in found]
        return json.dumps({"version": 1, "verdicts": rows}, indent=2) + "\n"
    words = Words(language, Markdown() if output == "markdown" else Plain())
    blocks = [Heading(1 if output == "markdown" else 2, words("ci.stats-title")), *_blocks(found, words)]
    return markdown.written(blocks) if output == "markdown" else terminal.shown(blocks)


def _blocks(found: Sequence[Precision], words: Words) -> Iterator[Block]:
    if not found:
        yield Text(words("ci.stats-none"))
        return
    rows: list[tuple[str, ...]] = []
    for _, group in groupby(sorted(found, key=lambda p: (p.cause, p.category)), key=lambda p: p.cause):
        listed = list(group)
        whole = reduce(add, listed)
        rows.append(_row(Precision("", whole.cause, whole.verdicts, whole.right, whole.wrong), words))
        rows += [_row(p, words) for p in listed]
    yield Table(tuple(words(f"ci.stats-{key}") for key in _KEYS), tuple(rows))
    yield Text(words("ci.stats-how"))


def _row(one: Precision, words: Words) -> tuple[str, ...]:
    share = "" if one.precision is None else f"{one.precision:.1%}"
    category = words(f"ci.category-{one.category}") if one.category else words("ci.stats-all")
    counts = (str(one.verdicts), str(one.right), str(one.wrong))
    return (words(f"ci.cause-{one.cause}"), category, *counts, share)
