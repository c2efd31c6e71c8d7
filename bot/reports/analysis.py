"""The analysis of a change as blocks: summary, motivation, steps, files, code, risks, impact,
relations.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from bot.i18n.catalog import LANGUAGES, Catalog, place
from bot.i18n.escape import Markdown, Plain
from bot.i18n.templates import Escaped
from bot.reports import html, json_v1, markdown, terminal
from bot.reports.blocks import Block, Code, Folded, Heading, Items, Picture, Table, Text
from bot.reports.causes import Cause, group_by_cause
from bot.reports.charts import path_label, stacked_bars
from bot.reports.dependents import dependents
from bot.reports.discussion import discussion
from bot.reports.findings import sentence_of
from bot.reports.report import Report
from bot.reports.summary import join_sentences, tag_names
from checks.core.finding import Finding, Location, Message, Side
from checks.summary import Analysis
from checks.summary.model import (
    ChangeStep,
    Claim,
    Commit,
    Excerpt,
    FileCard,
    Impact,
    PullReference,
    Risk,
)

_MOST_PLACES = 3
_MOST_FILES = 30
_MOST_SYMBOLS = 6
_MOST_WORTH = 3
# Of one step; the others are folded.
_MOST_CLAIMS = 2
_MOST_STEPS = 4
# Causes that stand open, the worst first; the others are folded.
_MOST_RISKS = 4
_STATUS = {"A": "added", "D": "deleted", "R": "renamed"}
# Where the picture's axis of points ends.
_MOST_POINTS = 10
_PARTS = ("size", "central", "remade", "callers", "findings", "fixes", "category")


@dataclass(frozen=True, slots=True)
class PullActivity:
    """Numbers of commits and comments, and when it was merged (ISO 8601), empty while it is not."""

    commits: int
    comments: int
    merged: str = ""


@dataclass(frozen=True, slots=True)
class AnalysisReport:
    """An analysis with the review that it stands on.

    `activity` is what GitHub knows of the pull request, None where it was not asked.
    """

    report: Report
    analysis: Analysis
    activity: PullActivity | None = None


def render(view: AnalysisReport, output: str, language: str) -> str:
    """The analysis as `terminal`, `markdown`, `html`, which has pictures, or `json`."""
    if output == "json":
        return _json(view, language)
    if output == "html":
        words = html.words_for(language)
        return html.page(
            title(view, Catalog(language)), document(view, words, pictures=True), language
        )
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
        "headline": claims_data(analysis.headline),
        "types": list(analysis.types),
        "summary": claims_data(analysis.summary),
        "motivation": list(analysis.motivation),
        "steps": steps,
        "files": [{**json_v1.plain(card), "score": card.score} for card in analysis.files],
        "symbols": list(analysis.symbols),
        "excerpts": json_v1.plain(analysis.excerpts),
        "risks": risks,
        "dropped": claims_data(analysis.dropped),
        "impacts": impacts,
        "dependents": json_v1.plain(analysis.dependents),
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


def document(view: AnalysisReport, words: Catalog, *, pictures: bool = False) -> Iterator[Block]:
    """Everything, in reading order; with `pictures`, which take a moment to draw, or without."""
    analysis = view.analysis
    yield from _summary(view, words)
    if not analysis.facts.files:
        return
    yield Heading(2, words("analysis.heading-motivation"))
    quotes = tuple(words.style.prose(quote) for quote in analysis.motivation)
    yield _items_or_text(quotes, words("analysis.no-motivation"))
    yield from _steps(analysis, words)
    files: list[Block] = [_files(analysis, words)]
    if pictures:
        files.insert(0, _picture(analysis, words))
    yield Folded(words("analysis.heading-files"), tuple(files))
    risks = [risk.finding for risk in analysis.risks]
    excerpts = [block for excerpt in analysis.excerpts for block in _excerpt(excerpt, risks, words)]
    if excerpts:
        yield Folded(words("analysis.heading-excerpts"), tuple(excerpts))
    if analysis.discussion is not None:
        yield from discussion(analysis.discussion, words)
    yield from _risks(analysis, words)
    impacts = tuple(_impact(impact, words) for impact in analysis.impacts)
    impact_block = _items_or_text(impacts, words("analysis.no-impact"))
    depending = dependents(analysis, words, pictures=pictures)
    yield Folded(words("analysis.heading-impact"), (impact_block, *depending))
    yield Folded(words("analysis.heading-related"), tuple(_related(analysis, words)))
    yield Folded(words("analysis.heading-missing"), tuple(_missing(view, words)))


def _items_or_text(lines: tuple[str, ...], otherwise: str) -> Block:
    """The lines as a list, or the text `otherwise` where there is none."""
    return Items(lines) if lines else Text(otherwise)


def _summary(view: AnalysisReport, words: Catalog) -> Iterator[Block]:
    """The overview in one sentence, then the chips: kinds, parts touched, risks, numbers."""
    analysis = view.analysis
    yield Heading(2, words("analysis.heading-summary"))
    if not analysis.facts.files:
        yield Text(words("analysis.empty"))
        return
    if analysis.headline:
        yield Text(join_sentences([claim.message for claim in analysis.headline], words))
    yield Items(tuple(_chips(view, words)))
    reading = tuple(_worth_reading(analysis, words))
    if reading:
        yield Text(words("analysis.worth-reading"))
        yield Items(reading)


def _chips(view: AnalysisReport, words: Catalog) -> Iterator[str]:
    analysis, facts = view.analysis, view.analysis.facts
    change = view.report.review.change
    kinds = [words(f"analysis.type-{kind}") for kind in analysis.types]
    tags = tag_names(facts, words)
    if kinds or tags:
        yield words("analysis.tags", kinds=kinds, tags=tags)
    risks = Counter(risk.finding.rule.partition(".")[0] for risk in _open_risks(analysis))
    if risks:
        chips = [words(f"analysis.risk-{family}", count=risks[family]) for family in risks]
        yield words("analysis.risk-chips", chips=chips)
    numbers = [
        words("analysis.compared", base=change.base_rev[:12], head=change.head_rev[:12]),
        words("analysis.size", files=len(facts.files), added=facts.added, removed=facts.removed),
    ]
    yield words("report.dot").join([*numbers, *_activity(view.activity, words)])
    if analysis.symbols:
        yield words("analysis.symbols", names=list(analysis.symbols))


def _activity(activity: PullActivity | None, words: Catalog) -> Iterator[str]:
    """What GitHub knows of the pull request."""
    if activity is None:
        return
    yield words("analysis.activity", commits=activity.commits, comments=activity.comments)
    if activity.merged:
        yield words("analysis.merged", time=activity.merged[:16].replace("T", " "))


def _open_risks(analysis: Analysis) -> list[Risk]:
    return [risk for risk in analysis.risks if not risk.finding.answered]


def _worth_reading(analysis: Analysis, words: Catalog) -> Iterator[str]:
    """The symbols to read first, each with what makes it worth that."""
    claims = [claim for step in analysis.steps for claim in step.claims]
    told = [claim.message for claim in analysis.headline]
    for excerpt in analysis.excerpts[:_MOST_WORTH]:
        about_it = [claim for claim in claims if excerpt.symbol in claim.symbols]
        own = [claim.message for claim in about_it if claim.message not in told]
        told += own[:1]
        reason = own[0] if own else excerpt.reason
        symbol = _unqualified(excerpt.symbol)
        said = Escaped(_sentence(reason, words))
        yield words("analysis.worth", name=symbol, place=excerpt.location, said=said)


def _claim(claim: Claim, words: Catalog) -> str:
    """A claim's sentence, with the first places where it can be checked."""
    sentence = _sentence(claim.message, words)
    places = _places(claim)
    if not places:
        return sentence
    shown = _place_texts(_shown_places(claim))
    if places[0].side is Side.BASE:
        return sentence + words("analysis.places-base", places=shown)
    rest = len(places) - len(shown)
    if rest:
        return sentence + words("analysis.places-more", places=shown, count=rest)
    return sentence + words("analysis.places", places=shown)


def _places(claim: Claim) -> list[Location]:
    """Where the claim can be checked: in the changed code, else in that of before."""
    with_path = [at for at in dict.fromkeys(claim.places) if at.path]
    return [at for at in with_path if at.side is Side.HEAD] or with_path


def _shown_places(claim: Claim) -> list[Location]:
    return _places(claim)[:_MOST_PLACES]


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
    first, rest = analysis.steps[:_MOST_STEPS], analysis.steps[_MOST_STEPS:]
    for step in first:
        yield from _step(step, words)
    if rest:
        blocks = tuple(block for step in rest for block in _step(step, words))
        yield Folded(words("analysis.more-steps", count=len(rest)), blocks)


def _step(step: ChangeStep, words: Catalog) -> Iterator[Block]:
    args = {"name": step.name, "added": step.added, "removed": step.removed}
    key = "analysis.step" if step.name else "analysis.step-rest"
    yield Heading(3, words(key, **args))
    lines = tuple(_claim(claim, words) for claim in step.claims)
    if lines:
        yield Items(lines[:_MOST_CLAIMS])
    files = _files_not_named(step)
    if files:
        yield Text(words("analysis.step-files", files=files, also=len(files) < len(step.files)))
    rest = lines[_MOST_CLAIMS:]
    if rest:
        yield Folded(words("analysis.more-claims", count=len(rest)), (Items(rest),))


def _files_not_named(step: ChangeStep) -> list[str]:
    """The step's files that no open claim of it shows: a file beside a claim is not said again."""
    named: set[str] = set()
    for claim in step.claims[:_MOST_CLAIMS]:
        named.update(at.path for at in _shown_places(claim))
    return [path for path in step.files if path not in named]


def _files(analysis: Analysis, words: Catalog) -> Table:
    keys = ("file", "status", "module", "score", "category", "lines", "why", "file-symbols")
    header = tuple(words(f"analysis.{key}") for key in keys)
    return Table(header, tuple(_file_row(card, words) for card in analysis.files[:_MOST_FILES]))


def _file_row(card: FileCard, words: Catalog) -> tuple[str, ...]:
    comma = words("report.comma")
    parts = [_score_part(part.kind, part.points, part.detail, words) for part in card.parts]
    symbols = [words.style.code(_unqualified(name)) for name in card.symbols[:_MOST_SYMBOLS]]
    return (
        words.style.code(PurePosixPath(card.path).name),
        words(f"analysis.status-{_STATUS.get(card.status, 'modified')}"),
        words.style.code(card.module),
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


def _picture(analysis: Analysis, words: Catalog) -> Picture:
    cards = analysis.files[:_MOST_FILES]
    plain = Catalog(words.language)
    series = []
    for kind in _PARTS:
        points = [_points(card, kind) for card in cards]
        if any(points):
            series.append((plain(f"analysis.picture-{kind}"), points))
    labels = [path_label(card.path) for card in cards]
    return Picture(stacked_bars(labels, series, _MOST_POINTS), plain("analysis.picture-files"))


def _points(card: FileCard, kind: str) -> float:
    return sum(part.points for part in card.parts if part.kind.split("-")[0] == kind)


def _excerpt(excerpt: Excerpt, risks: list[Finding], words: Catalog) -> Iterator[Block]:
    """A piece of code, with what rules say of its lines beside them."""
    yield Heading(3, words.style.code(_unqualified(excerpt.symbol)))
    yield Text(_sentence(excerpt.reason, words))
    yield Text(words("analysis.excerpt-part", place=excerpt.location))
    path, first = excerpt.location.path, excerpt.location.start_line
    lines = []
    for number, line in enumerate(excerpt.lines, first):
        sign = "+" if number in excerpt.changed else " "
        lines.append(sign + line)
    notes = []
    for finding in risks:
        index = finding.location.start_line - first
        if finding.location.path == path and 0 <= index < len(lines):
            notes.append((index, _note(finding, words)))
    yield Code(tuple(lines), "diff", path, tuple(notes))


def _note(finding: Finding, words: Catalog) -> str:
    severity = Escaped(words(f"report.severity-{finding.level}"))
    said = Escaped(words.message(finding.rule, finding.message))
    return words("analysis.excerpt-note", severity=severity, said=said, rule=finding.rule)


def _risks(analysis: Analysis, words: Catalog) -> Iterator[Block]:
    """Risks of the changed code, then those of code that the change reaches; a line for a cause."""
    yield Heading(2, words("analysis.heading-risks"))
    own = [risk.finding for risk in analysis.risks if not risk.reached]
    reached = [risk.finding for risk in analysis.risks if risk.reached]
    lines = [_risk(cause, words) for cause in group_by_cause(own)]
    lines += [_dropped(claim, words) for claim in analysis.dropped]
    yield _items_or_text(tuple(lines[:_MOST_RISKS]), words("analysis.no-risks"))
    rest = tuple(lines[_MOST_RISKS:])
    if rest:
        yield Folded(words("analysis.more-risks", count=len(rest)), (Items(rest),))
    if reached:
        more = tuple(_risk(cause, words) for cause in group_by_cause(reached))
        yield Folded(words("analysis.risks-reached"), (Items(more),))


def _risk(cause: Cause, words: Catalog) -> str:
    finding = cause.first
    severity = words(f"report.severity-{finding.level}")
    return words(
        "analysis.risk",
        severity=Escaped(severity),
        place=finding.location,
        said=Escaped(sentence_of(cause, words)),
        rules=cause.rules,
    )


def _dropped(claim: Claim, words: Catalog) -> str:
    sentence = Escaped(_sentence(claim.message, words))
    return words("analysis.dropped-risk", place=claim.places[0], said=sentence)


def _impact(impact: Impact, words: Catalog) -> str:
    who = Escaped(words(f"analysis.who-{impact.who}"))
    return words("analysis.impact", who=who, said=Escaped(_claim(impact.claim, words)))


def _related(analysis: Analysis, words: Catalog) -> Iterator[Block]:
    """Commits and pull requests that the change refers to, and earlier changes of its code."""
    lines = [_reference(reference, words) for reference in analysis.history.references]
    for earlier in analysis.history.earlier:
        symbols = [_unqualified(name) for name in earlier.symbols[:_MOST_SYMBOLS]]
        commit = _commit_args(earlier.commit)
        lines.append(words("analysis.earlier", **commit, symbols=symbols, lines=earlier.lines))
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
    yield Items(tuple(lines))
