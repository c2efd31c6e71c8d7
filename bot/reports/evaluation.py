"""The score of an evaluation: a table for the terminal, JSON, and a plot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Heading, Items, Table, Text
from bot.reports.terminal import write_at_width
from checks.evaluation.labels import RuleScore, Score
from checks.evaluation.outcome import ReviewOutcome


def table(score: Score, words: Catalog) -> str:
    """The score as text."""
    return write_at_width(_blocks(score, words), 100)


def _blocks(score: Score, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("eval.rules"))
    columns = ("rule", "labelled", "found", "recall", "reported", "on-clean")
    header = tuple(words(f"eval.column-{column}") for column in columns)
    yield Table(header, tuple(_row(name, rule) for name, rule in sorted(score.rules.items())))
    yield Text(_totals(score, words))
    if score.missed:
        lines = [words("eval.miss", case=case, place=case.places[0]) for case in score.missed]
        yield Heading(3, words("eval.missed"))
        yield Items(tuple(lines))
    if score.false_alarms:
        lines = []
        for outcome, finding in score.false_alarms:
            lines.append(words("eval.false-alarm", head=outcome.head, finding=finding))
        yield Heading(3, words("eval.false-alarms"))
        yield Items(tuple(lines))
    if score.errors:
        lines = []
        for outcome in score.errors:
            last_line = outcome.error.splitlines()[-1]
            lines.append(words("eval.error", head=outcome.head, error=last_line))
        yield Heading(3, words("eval.errors"))
        yield Items(tuple(lines))


def _totals(score: Score, words: Catalog) -> str:
    has_high = any(rule.labelled_high for rule in score.rules.values())
    return words(
        "eval.totals",
        changes=len(score.seconds),
        recall=f"{score.recall_high:.2f}" if has_high else "-",
        clean=f"{score.bugs_per_clean:.2f}" if score.clean_changes else "-",
        median=f"{score.median_findings:g}",
        seconds=f"{median(score.seconds):.2f}" if score.seconds else "0",
        slowest=f"{max(score.seconds, default=0):.2f}",
        megabytes=f"{score.megabytes:.0f}",
        errors=len(score.errors),
    )


def _row(name: str, rule: RuleScore) -> tuple[str, ...]:
    recall = "-"
    if rule.labelled_high:
        recall = f"{rule.found_high / rule.labelled_high:.2f}"
    counts = str(rule.labelled), str(rule.found)
    return name, *counts, recall, str(rule.reported), str(rule.bugs_on_clean)


def summary(score: Score, outcomes: Collection[ReviewOutcome], *, labelled: bool) -> dict[str, Any]:
    """The score as data for JSON. What needs labels is left out where there are none."""
    severities = Counter(finding.severity for o in outcomes for finding in o.findings)
    reported = {}
    for name, rule in sorted(score.rules.items()):
        if rule.reported:
            reported[name] = rule.reported
    data: dict[str, Any] = {
        "changes": len(outcomes),
        "crashes": [{"head": o.head, "error": o.error} for o in score.errors],
        "findings": {
            "by_severity": dict(sorted(severities.items())),
            "by_rule": reported,
            "per_change_median": score.median_findings,
            "per_change_most": max(score.findings_per_change, default=0),
        },
        "megabytes": score.megabytes,
        "seconds": {
            "median": _rounded(score.seconds, median),
            "slowest": _rounded(score.seconds, max),
        },
    }
    if labelled:
        data |= _labelled(score)
    return data


def _labelled(score: Score) -> dict[str, Any]:
    """What is known only where changes have labels."""
    missed = []
    for case in score.missed:
        place = case.places[0]
        missed.append(
            {
                "id": case.id,
                "rule": case.rule,
                "path": place.path,
                "line": place.line,
                "confidence": case.confidence,
            }
        )
    false_alarms = []
    for outcome, finding in score.false_alarms:
        false_alarms.append(
            {
                "head": outcome.head,
                "rule": finding.rule,
                "path": finding.path,
                "line": finding.line,
                "text": finding.text,
            }
        )
    return {
        "recall_high_confidence": round(score.recall_high, 3),
        "bugs_per_clean_change": round(score.bugs_per_clean, 3),
        "rules": {name: _rule_data(rule) for name, rule in sorted(score.rules.items())},
        "missed": missed,
        "false_alarms": false_alarms,
    }


def _rule_data(rule: RuleScore) -> dict[str, int]:
    return {
        "labelled": rule.labelled,
        "found": rule.found,
        "labelled_high": rule.labelled_high,
        "found_high": rule.found_high,
        "reported": rule.reported,
        "bugs_on_clean": rule.bugs_on_clean,
    }


def _rounded(values: Sequence[float], function: Callable[[Sequence[float]], float]) -> float:
    """A statistic to three places, 0 where there are no values."""
    return round(float(function(values)), 3) if values else 0.0


def plot(score: Score, path: Path) -> None:
    """Bars of labelled and found cases per rule, as an image in the format that the file's name
    says.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    rules = [
        (name, rule) for name, rule in sorted(score.rules.items(), reverse=True) if rule.labelled
    ]
    figure, axes = pyplot.subplots(figsize=(8, 0.35 * len(rules) + 1.2), layout="constrained")
    names = [name for name, _ in rules]
    axes.barh(names, [rule.labelled for _, rule in rules], color="#d0d7de", label="labelled")
    axes.barh(names, [rule.found for _, rule in rules], color="#1f6feb", height=0.5, label="found")
    axes.set_xlabel("cases")
    axes.legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
