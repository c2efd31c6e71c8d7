"""The score of an evaluation: a table for the terminal, JSON, and a plot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from bot.errors import UserError
from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Heading, Items, Table, Text
from bot.reports.terminal import written
from checks.evaluation import Outcome, RuleScore, Score


def table(score: Score, words: Catalog) -> str:
    """The score as text."""
    return written(_blocks(score, words), 100)


def _blocks(score: Score, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("eval.rules"))
    columns = ("rule", "labelled", "found", "recall", "reported", "on-clean")
    rows = tuple((name, *_row(rule)) for name, rule in sorted(score.rules.items()))
    yield Table(tuple(words(f"eval.column-{c}") for c in columns), rows)
    yield Text(
        words(
            "eval.totals",
            changes=len(score.seconds),
            recall=f"{score.recall_high:.2f}"
            if any(r.labelled_high for r in score.rules.values())
            else "-",
            clean=f"{score.bugs_per_clean:.2f}" if score.clean_changes else "-",
            median=f"{score.median_findings:g}",
            seconds=f"{median(score.seconds):.2f}" if score.seconds else "0",
            slowest=f"{max(score.seconds, default=0):.2f}",
            megabytes=f"{score.megabytes:.0f}",
            errors=len(score.errors),
        )
    )
    if score.missed:
        yield Heading(3, words("eval.missed"))
        yield Items(tuple(words("eval.miss", case=c, place=c.places[0]) for c in score.missed))
    if score.false_alarms:
        yield Heading(3, words("eval.false-alarms"))
        yield Items(
            tuple(words("eval.false-alarm", head=o.head, finding=f) for o, f in score.false_alarms)
        )
    if score.errors:
        yield Heading(3, words("eval.errors"))
        yield Items(
            tuple(
                words("eval.error", head=o.head, error=o.error.splitlines()[-1])
                for o in score.errors
            )
        )


def _row(rule: RuleScore) -> tuple[str, ...]:
    recall = f"{rule.found_high / rule.labelled_high:.2f}" if rule.labelled_high else "-"
    return str(rule.labelled), str(rule.found), recall, str(rule.reported), str(rule.bugs_on_clean)


def summary(score: Score, outcomes: Collection[Outcome], *, labelled: bool) -> dict[str, Any]:
    """The score as JSON-ready data. What needs labels is left out where there are none."""
    severities = Counter(f.severity for o in outcomes for f in o.findings)
    data: dict[str, Any] = {
        "changes": len(outcomes),
        "crashes": [{"head": o.head, "error": o.error} for o in score.errors],
        "findings": {
            "by_severity": dict(sorted(severities.items())),
            "by_rule": {
                name: rule.reported for name, rule in sorted(score.rules.items()) if rule.reported
            },
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
        data["recall_high_confidence"] = round(score.recall_high, 3)
        data["bugs_per_clean_change"] = round(score.bugs_per_clean, 3)
        data["rules"] = {
            name: {
                "labelled": rule.labelled, "found": rule.found, "labelled_high": rule.labelled_high,
                "found_high": rule.found_high, "reported": rule.reported, "bugs_on_clean": rule.bugs_on_clean,
            }
            for name, rule in sorted(score.rules.items())
        }  # fmt: skip
        data["missed"] = [
            {
                "id": c.id,
                "rule": c.rule,
                "path": c.places[0].path,
                "line": c.places[0].line,
                "confidence": c.confidence,
            }
            for c in score.missed
        ]
        data["false_alarms"] = [
            {"head": o.head, "rule": f.rule, "path": f.path, "line": f.line, "text": f.text}
            for o, f in score.false_alarms
        ]
    return data


def _rounded(values: Iterable[float], function: Any) -> float:
    values = list(values)
    return round(float(function(values)), 3) if values else 0.0


def plot(score: Score, path: Path) -> None:
    """Bars of labelled and found cases per rule, as an image in the format that the file's name
    says.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise UserError("eval-plot") from error
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
