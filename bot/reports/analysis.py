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
from checks.summary.model import Claim, Commit, Excerpt, FileCard, Impact, PullReference, Risk

_MOST_PLACES = 3
_MOST_FILES = 30
_MOST_SYMBOLS = 6
_LONGEST_LABEL = 52
# Where the picture's axis of points ends.
_MOST_POINTS = 10
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
        return markdown.write_document([heading, *document(view, words)])
    return terminal.write_for_terminal(document(view, Catalog(language, Plain())))


def _json(view: AnalysisReport, language: str) -> str:
    """Everything with its numbers; each claim with its sentence in every language."""
    analysis, change = view.analysis, view.report.review.change
    catalogs = {name: Catalog(name) for name in LANGUAGES}

    def claims_data(claims: Sequence[Claim]) -> list[dict[str, Any]]:
        return [_claim_data(claim, catalogs) for claim in claims]

    steps = []
    for step in analysis.steps:
        steps.append({**json_v1.plain(step), "claims": claims_data(step.claims)})
    risks = []
    for risk in analysis.risks:
        finding = json_v1.finding_data(risk.finding, catalogs)
        risks.append({"reached": risk.reached, **finding})
    impacts = []
    for impact in analysis.impacts:
        impacts.append({"who": impact.who, **_claim_data(impact.claim, catalogs)})
    data = {
        "version": 1,
        "language": language,
        "base": change.base_rev,
        "head": change.head_rev,
        "facts": json_v1.plain(analysis.facts),
        "summary": claims_data(analysis.summary),
        "motivation": list(analysis.motivation),
        "steps": steps,
        "files": [{**json_v1.plain(card), "score": card.score} for card in analysis.files],
        "symbols": list(analysis.symbols),
        "excerpts": json_v1.plain(analysis.excerpts),
        "risks": risks,
        "dropped": claims_data(analysis.dropped),
        "impacts": impacts,
        "history": json_v1.plain(analysis.history),
        "discussion": json_v1.plain(analysis.discussion),
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _claim_data(claim: Claim, catalogs: json_v1.Catalogs) -> dict[str, Any]:
    sentences = {name: _sentence(claim.message, words) for name, words in catalogs.items()}
    return {
        "key": claim.message.key,
        "args": json_v1.plain(claim.message.args),
        "places": json_v1.plain(claim.places),
        **sentences,
    }


def title(view: AnalysisReport, words: Catalog) -> str:
    """The title of the page: the pull request's, else the subject of the last commit."""
    subject = view.report.review.change.pull.title or view.analysis.history.subject
    return words("analysis.title", subject=subject) if subject else words("analysis.untitled")


def document(view: AnalysisReport, words: Catalog, draw: Draw | None = None) -> Iterator[Block]:
    """Everything, in reading order.

    Drawing takes a moment: the picture is made only where `draw` is given.
    """
    analysis = view.analysis
    yield from _summary(view, words)
    if not analysis.facts.files:
        return
    yield Heading(2, words("analysis.heading-motivation"))
    quotes = tuple(words.style.prose(quote) for quote in analysis.motivation)
    yield _items_or_text(quotes, words("analysis.no-motivation"))
    yield from _steps(analysis, words)
    yield Heading(2, words("analysis.heading-files"))
    if draw is not None:
        yield _picture(analysis, words, draw)
    yield _files(analysis, words)
    yield Heading(2, words("analysis.heading-excerpts"))
    for excerpt in analysis.excerpts:
        yield from _excerpt(excerpt, words)
    if analysis.discussion is not None:
        yield from discussion(analysis.discussion, words)
    yield from _risks(analysis, words)
    yield Heading(2, words("analysis.heading-impact"))
    impacts = tuple(_impact(impact, words) for impact in analysis.impacts)
    yield _items_or_text(impacts, words("analysis.no-impact"))
    yield from _related(analysis, words)
    yield from _missing(view, words)


def _items_or_text(lines: tuple[str, ...], otherwise: str) -> Block:
    """The lines as a list, or the text `otherwise` where there is none."""
    return Items(lines) if lines else Text(otherwise)


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
    tags = tag_names(facts, words)
    if tags:
        lines.append(words("analysis.tags", tags=tags))
    if view.analysis.symbols:
        lines.append(words("analysis.symbols", names=list(view.analysis.symbols)))
    yield Items(tuple(lines))
    if view.analysis.summary:
        yield Items(tuple(_claim(claim, words) for claim in view.analysis.summary))


def _claim(claim: Claim, words: Catalog) -> str:
    """A claim's sentence, with the first places where it can be checked."""
    sentence = _sentence(claim.message, words)
    with_path = [at for at in dict.fromkeys(claim.places) if at.path]
    in_head = [at for at in with_path if at.side is Side.HEAD]
    places = in_head or with_path
    if not places:
        return sentence
    shown = _place_texts(places[:_MOST_PLACES])
    rest = len(places) - len(shown)
    if rest:
        return sentence + words("analysis.places-more", places=shown, count=rest)
    return sentence + words("analysis.places", places=shown)


def _place_texts(places: Sequence[Location]) -> list[str]:
    """Places as they are read: in a file that was just named, the line is enough."""
    texts = []
    last_path = ""
    for at in places:
        same_file = at.path == last_path and at.start_line
        texts.append(f":{at.start_line}" if same_file else place(at))
        last_path = at.path
    return texts


def _sentence(message: Message, words: Catalog) -> str:
    return words(f"analysis.{message.key}", **message.args)


def _steps(analysis: Analysis, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("analysis.heading-steps"))
    for step in analysis.steps:
        args = {"name": step.name, "added": step.added, "removed": step.removed}
        key = "analysis.step" if step.name else "analysis.step-rest"
        yield Heading(3, words(key, **args))
        yield Text(words("analysis.step-files", files=list(step.files)))
        if step.claims:
            yield Items(tuple(_claim(claim, words) for claim in step.claims))


def _files(analysis: Analysis, words: Catalog) -> Table:
    keys = ("file", "score", "category", "lines", "why", "file-symbols")
    header = tuple(words(f"analysis.{key}") for key in keys)
    return Table(header, tuple(_file_row(card, words) for card in analysis.files[:_MOST_FILES]))


def _file_row(card: FileCard, words: Catalog) -> tuple[str, ...]:
    comma = words("report.comma")
    parts = [_score_part(part.kind, part.points, part.detail, words) for part in card.parts]
    symbols = [words.style.code(_unqualified(name)) for name in card.symbols[:_MOST_SYMBOLS]]
    return (
        words.style.code(card.path),
        f"{card.score:.1f}",
        words(f"analysis.category-{card.category}"),
        f"+{card.added} −{card.removed}",
        comma.join(parts),
        comma.join(symbols),
    )


def _score_part(kind: str, points: float, detail: int, words: Catalog) -> str:
    """One reason for a file's score."""
    shown = Escaped(f"{points:.1f}")
    if kind.startswith("category-"):
        return words("analysis.part-category", points=shown)
    return words(f"analysis.part-{kind}", points=shown, detail=detail)


def _picture(analysis: Analysis, words: Catalog, draw: Draw) -> Picture:
    cards = analysis.files[:_MOST_FILES]
    plain = Catalog(words.language)
    series = []
    for kind in _PARTS:
        points = [_points(card, kind) for card in cards]
        if any(points):
            series.append((plain(f"analysis.picture-{kind}"), points))
    labels = [_label(card.path) for card in cards]
    return Picture(draw(labels, series, _MOST_POINTS), plain("analysis.picture-files"))


def _label(path: str) -> str:
    """The end of a path that is too long for the picture."""
    return path if len(path) < _LONGEST_LABEL else "…" + path[1 - _LONGEST_LABEL :]


def _points(card: FileCard, kind: str) -> float:
    return sum(part.points for part in card.parts if part.kind.split("-")[0] == kind)


def _excerpt(excerpt: Excerpt, words: Catalog) -> Iterator[Block]:
    yield Heading(3, words.style.code(_unqualified(excerpt.symbol)))
    yield Text(_sentence(excerpt.reason, words))
    yield Text(words("analysis.excerpt-part", place=excerpt.location))
    lines = []
    for number, line in enumerate(excerpt.lines, excerpt.location.start_line):
        sign = "+" if number in excerpt.changed else " "
        lines.append(sign + line)
    yield Code(tuple(lines), "diff")


def _risks(analysis: Analysis, words: Catalog) -> Iterator[Block]:
    """Risks of the changed code, then those of code that the change reaches."""
    yield Heading(2, words("analysis.heading-risks"))
    own: list[str] = []
    reached: list[str] = []
    for risk in analysis.risks:
        (reached if risk.reached else own).append(_risk(risk, words))
    own += [_dropped(claim, words) for claim in analysis.dropped]
    yield _items_or_text(tuple(own), words("analysis.no-risks"))
    if reached:
        yield Text(words("analysis.risks-reached"))
        yield Items(tuple(reached))


def _risk(risk: Risk, words: Catalog) -> str:
    finding = risk.finding
    severity = words(f"report.severity-{finding.level}")
    sentence = words.message(finding.rule, finding.message)
    return words(
        "analysis.risk",
        severity=Escaped(severity),
        place=finding.location,
        said=Escaped(sentence),
        rule=finding.rule,
    )


def _dropped(claim: Claim, words: Catalog) -> str:
    sentence = Escaped(_sentence(claim.message, words))
    return words("analysis.dropped-risk", place=claim.places[0], said=sentence)


def _impact(impact: Impact, words: Catalog) -> str:
    who = Escaped(words(f"analysis.who-{impact.who}"))
    return words("analysis.impact", who=who, said=Escaped(_claim(impact.claim, words)))


def _related(analysis: Analysis, words: Catalog) -> Iterator[Block]:
    """Commits and pull requests that the change refers to, and earlier changes of its code."""
    yield Heading(2, words("analysis.heading-related"))
    lines = [_reference(reference, words) for reference in analysis.history.references]
    for earlier in analysis.history.earlier:
        symbols = [_unqualified(name) for name in earlier.symbols[:_MOST_SYMBOLS]]
        commit = _commit_args(earlier.commit)
        line = words("analysis.earlier", **commit, symbols=symbols, lines=earlier.lines)
        if earlier.fixes:
            fixes = [f"{fix.id[:9]} {fix.subject}" for fix in earlier.fixes]
            line += "\n" + words("analysis.earlier-fixes", fixes=fixes)
        lines.append(line)
    yield _items_or_text(tuple(lines), words("analysis.no-related"))


def _reference(reference: PullReference, words: Catalog) -> str:
    key = f"analysis.reference-{reference.how}"
    if reference.commit is None:
        return words(key, number=reference.number, commit="", subject="")
    return words(key, number=reference.number, **_commit_args(reference.commit))


def _commit_args(commit: Commit) -> dict[str, str]:
    return {"commit": commit.id[:9], "subject": commit.subject}


def _unqualified(symbol: str) -> str:
    """The last part of a dotted name."""
    return symbol.rsplit(".", 1)[-1]


def _missing(view: AnalysisReport, words: Catalog) -> Iterator[Block]:
    """What the analysis could not look at, and the option that would give it."""
    history = view.analysis.history
    lines = []
    if view.analysis.discussion is not None:
        lines.append(words("analysis.missing-answers", option="--pr"))
    else:
        lines.append(words("analysis.missing-discussion", option="--pr"))
    if not view.report.review.change.pull.known:
        lines.append(words("analysis.missing-description", option="--title, --body-file"))
    if not history.message:
        lines.append(words("analysis.missing-history"))
    elif history.unread:
        lines.append(words("analysis.missing-past", files=list(history.unread)))
    yield Heading(2, words("analysis.heading-missing"))
    yield Items(tuple(lines))
