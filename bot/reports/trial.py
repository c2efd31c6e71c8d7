"""The page of `specbot try`: one that a team can be shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import bot
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from bot.reports import html, markdown, terminal
from bot.reports.blocks import Block, Heading, Table, Text
from checks.evaluation.fix_score import PairOutcome
from checks.evaluation.outcome import ReportedFinding
from checks.evaluation.trial import FalseAlarms, Trial, TriedChange, false_alarms, judged_counts

_SEVERITIES = ("bug", "suggestion", "question")
_ID = 12


def render(trial: Trial, form: str, language: str) -> str:
    """The page as `html`, `markdown`, `terminal` or `json`."""
    alarms = false_alarms(trial.findings, judged_counts())
    if form == "json":
        return json.dumps(_data(trial, alarms), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if form == "html":
        words = html.words_for(language)
        title = Catalog(language)("trial.title", repository=trial.repository)
        return html.page(title, _blocks(trial, alarms, words), language)
    if form == "markdown":
        return markdown.write_document(_blocks(trial, alarms, Catalog(language, Markdown())))
    return terminal.write_for_terminal(_blocks(trial, alarms, Catalog(language)))


def _blocks(trial: Trial, alarms: FalseAlarms, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("trial.title", repository=trial.repository))
    days = [change.change.day for change in trial.changes]
    yield Text(
        words(
            "trial.what",
            changes=len(trial.changes),
            first=min(days),
            last=max(days),
            head=trial.head[:_ID],
        )
    )
    yield Table(
        (words("trial.number"), words("trial.value")), tuple(_numbers(trial, alarms, words))
    )
    yield Heading(2, words("trial.findings"))
    if trial.findings:
        columns = ("change", "level", "place", "said")
        header = tuple(words(f"trial.column-{name}") for name in columns)
        yield Table(header, tuple(_finding_rows(trial, words)))
    else:
        yield Text(words("trial.no-findings"))
    yield Heading(2, words("trial.fixes"))
    if trial.fixes:
        columns = ("fix", "brought", "place", "near")
        header = tuple(words(f"trial.column-{name}") for name in columns)
        yield Table(header, tuple(_fix_rows(trial, words)))
    else:
        yield Text(words("trial.no-fixes"))
    yield Heading(2, words("trial.how"))
    yield Text(words("trial.how-fixes"))
    yield Text(words("trial.how-alarms", unread=alarms.unread))
    yield Text(words("trial.how-private"))


def _numbers(trial: Trial, alarms: FalseAlarms, words: Catalog) -> Iterator[tuple[str, str]]:
    yield words("trial.changes"), str(len(trial.changes))
    yield words("trial.quiet"), str(trial.quiet)
    for severity in _SEVERITIES:
        yield words(f"trial.count-{severity}"), str(trial.count(severity))
    yield (
        words("trial.alarms"),
        words(
            "trial.alarms-range", expected=f"{alarms.expected:.1f}", most=f"{alarms.at_most:.1f}"
        ),
    )
    yield words("trial.later-fixes"), str(len(trial.fixes))
    yield words("trial.near-fixes"), str(trial.near_fixes)
    yield (
        words("trial.seconds"),
        words(
            "trial.seconds-range",
            median=f"{trial.median_seconds:.2f}",
            longest=f"{trial.longest_seconds:.1f}",
        ),
    )
    yield words("trial.failures"), str(trial.failures)


def _finding_rows(trial: Trial, words: Catalog) -> Iterator[tuple[str, ...]]:
    for change in trial.changes:
        for finding in change.findings:
            level = words(f"report.severity-{finding.severity}")
            place = words("trial.place", path=finding.path, line=finding.line)
            said = words("trial.said", text=finding.text, rule=finding.rule)
            yield _change_cell(change, words), level, place, said


def _fix_rows(trial: Trial, words: Catalog) -> Iterator[tuple[str, ...]]:
    for change in trial.changes:
        for fix in change.fixes:
            name = words("trial.commit", commit=fix.pair.fix[:_ID], title=fix.pair.title)
            place = fix.pair.places[0]
            where = words("trial.place", path=place.path, line=place.line)
            near = words("trial.near" if fix.near_rules else "trial.not-near", rules=fix.near_rules)
            yield name, _change_cell(change, words), where, near


def _change_cell(change: TriedChange, words: Catalog) -> str:
    merged = change.change
    return words("trial.commit", commit=merged.head[:_ID], title=merged.title)


def _data(trial: Trial, alarms: FalseAlarms) -> dict[str, Any]:
    return {
        "tool": {"name": "specbot", "version": bot.__version__},
        "repository": trial.repository,
        "head": trial.head,
        "changes": [_change_data(change) for change in trial.changes],
        "quiet": trial.quiet,
        "findings": {severity: trial.count(severity) for severity in _SEVERITIES},
        "false_alarms": asdict(alarms),
        "later_fixes": len(trial.fixes),
        "near_fixes": trial.near_fixes,
        "seconds": {"median": trial.median_seconds, "longest": trial.longest_seconds},
        "failures": trial.failures,
    }


def _change_data(change: TriedChange) -> dict[str, Any]:
    return {
        **asdict(change.change),
        "seconds": change.outcome.seconds,
        "error": change.outcome.error,
        "findings": [_finding_data(finding) for finding in change.findings],
        "fixes": [_fix_data(fix) for fix in change.fixes],
    }


def _finding_data(finding: ReportedFinding) -> dict[str, Any]:
    return asdict(finding)


def _fix_data(fix: PairOutcome) -> dict[str, Any]:
    return {
        "fix": fix.pair.fix,
        "title": fix.pair.title,
        "day": fix.pair.date,
        "places": [asdict(place) for place in fix.pair.places],
        "near": list(fix.near_rules),
        "in_function": list(fix.function_rules),
    }
