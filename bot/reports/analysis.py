"""The analysis of a change as blocks: summary, motivation, steps, files, code, risks, impact,
relations.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.i18n.catalog import LANGUAGES, Catalog, place
from bot.i18n.escape import Markdown, Plain
from bot.i18n.templates import Escaped
from bot.reports import html, json_v1, markdown, terminal
from bot.reports.blocks import Block, Code, Heading, Items, Picture, Table, Text
from bot.reports.charts import Draw, stacked_bars
from bot.reports.discussion import discussion
from bot.reports.report import Report
from bot.reports.summary import tag_names
from checks.core.finding import Location, Message, Side
from checks.summary import Analysis
from checks.summary.model import Claim, Commit, Excerpt, FileCard, Impact, Reference, Risk

_MOST_PLACES = 3
_MOST_FILES = 30
_MOST_SYMBOLS = 6
_PARTS = ("size", "central", "remade", "callers", "findings", "fixes", "category")


@dataclass(frozen=True, slots=True)
class AnalysisReport:
    """An analysis with the review that it stands on."""

    report: Report
    analysis: Analysis


def render(view: AnalysisReport, output: str, language: str, draw: Draw = stacked_bars) -> str:
    """The analysis as `terminal`, `markdown`, `html`, for which its picture is made by `draw`, or
    `json`.
    """
    if output == "json":
        return _json(view, language)
    if output == "html":
        words = html.words_for(language)
        return html.page(title(view, Catalog(language)), document(view, words, draw), language)
    if output == "markdown":
        words = Catalog(language, Markdown())
        heading = Heading(1, title(view, words))
        return markdown.written([heading, *document(view, words)])
    return terminal.shown(document(view, Catalog(language, Plain())))


def _json(view: AnalysisReport, language: str) -> str:
    """Everything with its numbers; each claim with its sentence in every language."""
    found, change = view.analysis, view.report.review.change
    voices = {name: Catalog(name) for name in LANGUAGES}

    def claim(c: Claim) -> dict[str, Any]:
        said = {name: _sentence(c.message, words) for name, words in voices.items()}
        args = json_v1.plain(c.message.args)
        return {"key": c.message.key, "args": args, "places": json_v1.plain(c.places), **said}

    data = {
        "version": 1,
        "language": language,
        "base": change.base_rev,
        "head": change.head_rev,
        "facts": json_v1.plain(found.facts),
        "summary": [claim(c) for c in found.summary],
        "motivation": list(found.motivation),
        "steps": [
            {**json_v1.plain(s), "claims": [claim(c) for c in s.claims]} for s in found.steps
        ],
        "files": [{**json_v1.plain(c), "score": c.score} for c in found.files],
        "symbols": list(found.symbols),
        "excerpts": json_v1.plain(found.excerpts),
        "risks": [
            {"reached": r.reached, **json_v1.finding_data(r.finding, voices)} for r in found.risks
        ],
        "dropped": [claim(c) for c in found.dropped],
        "impacts": [{"who": i.who, **claim(i.claim)} for i in found.impacts],
        "history": json_v1.plain(found.history),
        "discussion": json_v1.plain(found.discussion),
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def title(view: AnalysisReport, words: Catalog) -> str:
    """The title of the page: the pull request's, else the subject of the last commit."""
    subject = view.report.review.change.pull.title or view.analysis.history.subject
    return words("analysis.title", subject=subject) if subject else words("analysis.untitled")


def document(view: AnalysisReport, words: Catalog, draw: Draw | None = None) -> Iterator[Block]:
    """Everything, in reading order.

    Drawing takes a moment: the picture is made only where one says how to `draw`.
    """
    found = view.analysis
    yield from _summary(view, words)
    if not found.facts.files:
        return
    yield Heading(2, words("analysis.heading-motivation"))
    quotes = tuple(words.style.prose(q) for q in found.motivation)
    yield Items(quotes) if quotes else Text(words("analysis.no-motivation"))
    yield from _steps(found, words)
    yield Heading(2, words("analysis.heading-files"))
    if draw is not None:
        yield _picture(found, words, draw)
    yield _files(found, words)
    yield Heading(2, words("analysis.heading-excerpts"))
    for excerpt in found.excerpts:
        yield from _excerpt(excerpt, words)
    if found.discussion is not None:
        yield from discussion(found.discussion, words)
    yield from _risks(found, words)
    yield Heading(2, words("analysis.heading-impact"))
    impacts = tuple(_impact(i, words) for i in found.impacts)
    yield Items(impacts) if impacts else Text(words("analysis.no-impact"))
    yield from _related(found, words)
    yield from _missing(view, words)


def _summary(view: AnalysisReport, words: Catalog) -> Iterator[Block]:
    change, facts = view.report.review.change, view.analysis.facts
    yield Heading(2, words("analysis.heading-summary"))
    if not facts.files:
        yield Text(words("analysis.empty"))
        return
    lines = [
        words("analysis.compared", base=change.base_rev[:12], head=change.head_rev[:12]),
        words("analysis.size", files=len(facts.files), added=facts.added, removed=facts.removed),
    ]
    if tags := tag_names(facts, words):
        lines.append(words("analysis.tags", tags=tags))
    if view.analysis.symbols:
        lines.append(words("analysis.symbols", names=list(view.analysis.symbols)))
    yield Items(tuple(lines))
    if view.analysis.summary:
        yield Items(tuple(_said(c, words) for c in view.analysis.summary))


def _said(claim: Claim, words: Catalog) -> str:
    """A claim's sentence, with the first places where it can be checked."""
    places = [p for p in dict.fromkeys(claim.places) if p.path]
    places = [p for p in places if p.side is Side.HEAD] or places
    shown = [*_places(places[:_MOST_PLACES])]
    if not shown:
        return _sentence(claim.message, words)
    rest = len(places) - len(shown)
    where = (
        words("analysis.places-more", places=shown, count=rest)
        if rest
        else words("analysis.places", places=shown)
    )
    return _sentence(claim.message, words) + where


def _places(places: Sequence[Location]) -> Iterator[str]:
    """Places as they are read: in a file that was just named, the line is enough."""
    before = ""
    for p in places:
        yield f":{p.start_line}" if p.path == before and p.start_line else place(p)
        before = p.path


def _sentence(message: Message, words: Catalog) -> str:
    return words(f"analysis.{message.key}", **message.args)


def _steps(found: Analysis, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("analysis.heading-steps"))
    for step in found.steps:
        args = {"name": step.name, "added": step.added, "removed": step.removed}
        key = "analysis.step" if step.name else "analysis.step-rest"
        yield Heading(3, words(key, **args))
        yield Text(words("analysis.step-files", files=list(step.files)))
        if step.claims:
            yield Items(tuple(_said(c, words) for c in step.claims))


def _files(found: Analysis, words: Catalog) -> Table:
    keys = ("file", "score", "category", "lines", "why", "file-symbols")
    header = tuple(words(f"analysis.{key}") for key in keys)
    return Table(header, tuple(_row(card, words) for card in found.files[:_MOST_FILES]))


def _row(card: FileCard, words: Catalog) -> tuple[str, ...]:
    comma = words("report.comma")
    return (
        words.style.code(card.path),
        f"{card.score:.1f}",
        words(f"analysis.category-{card.category}"),
        f"+{card.added} −{card.removed}",
        comma.join(_part(p.kind, p.points, p.detail, words) for p in card.parts),
        comma.join(words.style.code(s.rsplit(".", 1)[-1]) for s in card.symbols[:_MOST_SYMBOLS]),
    )


def _part(kind: str, points: float, detail: int, words: Catalog) -> str:
    shown = Escaped(f"{points:.1f}")
    if kind.startswith("category-"):
        return words("analysis.part-category", points=shown)
    return words(f"analysis.part-{kind}", points=shown, detail=detail)


def _picture(found: Analysis, words: Catalog, draw: Draw) -> Picture:
    cards = found.files[:_MOST_FILES]
    plain = Catalog(words.language)
    series = [
        (plain(f"analysis.picture-{kind}"), [_points(c, kind) for c in cards]) for kind in _PARTS
    ]
    labels = [c.path if len(c.path) < 52 else "…" + c.path[-51:] for c in cards]
    return Picture(
        draw(labels, [s for s in series if any(s[1])], 10), plain("analysis.picture-files")
    )


def _points(card: FileCard, kind: str) -> float:
    return sum(p.points for p in card.parts if p.kind.split("-")[0] == kind)


def _excerpt(excerpt: Excerpt, words: Catalog) -> Iterator[Block]:
    yield Heading(3, words.style.code(excerpt.symbol.rsplit(".", 1)[-1]))
    yield Text(_sentence(excerpt.reason, words))
    yield Text(words("analysis.excerpt-part", place=excerpt.location))
    numbered = enumerate(excerpt.lines, excerpt.location.start_line)
    yield Code(tuple(("+" if n in excerpt.changed else " ") + line for n, line in numbered), "diff")


def _risks(found: Analysis, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("analysis.heading-risks"))
    own = tuple(_risk(r, words) for r in found.risks if not r.reached)
    own += tuple(_dropped(c, words) for c in found.dropped)
    reached = tuple(_risk(r, words) for r in found.risks if r.reached)
    yield Items(own) if own else Text(words("analysis.no-risks"))
    if reached:
        yield Text(words("analysis.risks-reached"))
        yield Items(reached)


def _risk(risk: Risk, words: Catalog) -> str:
    f = risk.finding
    said = words.message(f.rule, f.message)
    severity = words(f"report.severity-{f.level}")
    return words(
        "analysis.risk",
        severity=Escaped(severity),
        place=f.location,
        said=Escaped(said),
        rule=f.rule,
    )


def _dropped(claim: Claim, words: Catalog) -> str:
    said = Escaped(_sentence(claim.message, words))
    return words("analysis.dropped-risk", place=claim.places[0], said=said)


def _impact(impact: Impact, words: Catalog) -> str:
    who = words(f"analysis.who-{impact.who}")
    return words("analysis.impact", who=Escaped(who), said=Escaped(_said(impact.claim, words)))


def _related(found: Analysis, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("analysis.heading-related"))
    lines = [_reference(r, words) for r in found.history.references]
    for earlier in found.history.earlier:
        args = {
            "symbols": [s.rsplit(".", 1)[-1] for s in earlier.symbols[:_MOST_SYMBOLS]],
            "lines": earlier.lines,
        }
        lines.append(words("analysis.earlier", **_told(earlier.commit), **args))
        if earlier.fixes:
            lines[-1] += "\n" + words(
                "analysis.earlier-fixes", fixes=[_short(c) for c in earlier.fixes]
            )
    yield Items(tuple(lines)) if lines else Text(words("analysis.no-related"))


def _reference(reference: Reference, words: Catalog) -> str:
    told = _told(reference.commit) if reference.commit else {"commit": "", "subject": ""}
    return words(f"analysis.reference-{reference.how}", number=reference.number, **told)


def _told(commit: Commit) -> dict[str, str]:
    return {"commit": commit.id[:9], "subject": commit.subject}


def _short(commit: Commit) -> str:
    return f"{commit.id[:9]} {commit.subject}"


def _missing(view: AnalysisReport, words: Catalog) -> Iterator[Block]:
    asked = view.analysis.discussion is not None
    lines = [
        words("analysis.missing-answers" if asked else "analysis.missing-discussion", option="--pr")
    ]
    if not view.report.review.change.pull.known:
        lines.append(words("analysis.missing-description", option="--title, --body-file"))
    if not view.analysis.history.message:
        lines.append(words("analysis.missing-history"))
    elif view.analysis.history.unread:
        lines.append(words("analysis.missing-past", files=list(view.analysis.history.unread)))
    yield Heading(2, words("analysis.heading-missing"))
    yield Items(tuple(lines))
