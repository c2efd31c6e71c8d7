"""The discussion of a pull request as blocks: quotes with their authors, and what this bot said
beside them.
"""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog, place
from bot.i18n.templates import Escaped
from bot.reports.blocks import Block, Heading, Items, Text
from checks.core.finding import Finding, Location
from checks.summary.discussion import Discussion, PostedFinding, Quote, Thread, Topic

_MOST_TOPICS = 30
_MOST_BESIDE = 4


def discussion(found: Discussion, words: Catalog) -> Iterator[Block]:
    """Every topic, open ones first, then what became of our own findings."""
    yield Heading(2, words("analysis.heading-discussion"))
    if not found.topics:
        yield Text(words("analysis.no-discussion"))
    for topic in found.topics[:_MOST_TOPICS]:
        yield Heading(3, _title(topic, words))
        yield Items(tuple(_lines(topic, words)))
    left_out = len(found.topics) - _MOST_TOPICS
    if left_out > 0:
        yield Text(words("analysis.topics-left", count=left_out))
    if found.posted:
        acted = sum(posted.acted for posted in found.posted)
        yield Heading(3, words("analysis.posted", count=len(found.posted), acted=acted))
        yield Items(tuple(_posted(posted, words) for posted in found.posted))


def _title(topic: Topic, words: Catalog) -> str:
    return words(
        "analysis.topic",
        place=_link(topic.threads[0], words),
        about=Escaped(words(f"analysis.kind-{topic.kind}")),
        stands=Escaped(words(f"analysis.topic-{topic.state}")),
    )


def _link(thread: Thread, words: Catalog) -> Escaped:
    """Where the thread stands, as a link to it on GitHub."""
    if thread.path:
        text = words.style.code(place(Location(thread.path, thread.line)))
    else:
        text = words("analysis.no-line")
    return Escaped(words.style.link(text, thread.url))


def _lines(topic: Topic, words: Catalog) -> Iterator[str]:
    yield _quoted(topic.opening, words)
    if topic.conclusion is not None:
        yield _quoted(topic.conclusion, words)
    if len(topic.threads) > 1:
        people = list(topic.people)
        yield words("analysis.topic-threads", count=len(topic.threads), people=people)
    for finding in topic.beside[:_MOST_BESIDE]:
        yield _beside(finding, words)


def _quoted(quote: Quote, words: Catalog) -> str:
    return words("analysis.quote", author=quote.author, text=quote.text)


def _beside(finding: Finding, words: Catalog) -> str:
    said = Escaped(words.message(finding.rule, finding.message))
    return words("analysis.beside", place=finding.location, said=said, rule=finding.rule)


def _posted(one: PostedFinding, words: Catalog) -> str:
    key = "analysis.posted-acted" if one.acted else "analysis.posted-left"
    return words(key, place=_link(one.thread, words), text=one.said)
