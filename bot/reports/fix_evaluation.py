"""The score over pairs of a fix and what it mended: tables for the terminal, and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Heading, Table, Text
from bot.reports.terminal import write_at_width
from checks.evaluation.fix_score import FixScore, Share, total


def fix_table(score: FixScore, words: Catalog) -> str:
    """The score as text."""
    return write_at_width(_blocks(score, words), 100)


def _blocks(score: FixScore, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("eval.fixes"))
    columns = ("repository", "pairs", "near", "function")
    rows = [_repository_row(name, near, score.function[name]) for name, near in score.near.items()]
    if len(rows) > 1:
        name = words("eval.all-repositories")
        rows.append(_repository_row(name, total(score.near), total(score.function)))
    yield Table(tuple(words(f"eval.column-{column}") for column in columns), tuple(rows))
    if score.function_by_rule or score.near_by_rule:
        rule_columns = ("rule", "rule-near", "rule-function")
        header = tuple(words(f"eval.column-{column}") for column in rule_columns)
        yield Table(header, tuple(_rule_rows(score)))
    yield Text(
        words(
            "eval.fix-totals",
            changes=score.changes,
            findings=f"{_per_change(score, score.findings):.2f}",
            bugs=f"{_per_change(score, score.bugs):.2f}",
            seconds=f"{score.seconds:.2f}",
            errors=score.errors,
        )
    )


def _repository_row(name: str, near: Share, function: Share) -> tuple[str, ...]:
    return name, str(near.trials), _with_interval(near), _with_interval(function)


def _with_interval(share: Share) -> str:
    low, high = share.interval
    return f"{share.hits} = {share.value:.1%} ({low:.1%}-{high:.1%})"


def _rule_rows(score: FixScore) -> Iterator[tuple[str, ...]]:
    for rule in sorted({*score.near_by_rule, *score.function_by_rule}):
        near = score.near_by_rule.get(rule, 0)
        yield rule, str(near), str(score.function_by_rule.get(rule, 0))


def fix_summary(score: FixScore) -> dict[str, Any]:
    """The score as data for JSON."""
    repositories = {}
    for name, near in score.near.items():
        repositories[name] = _both(near, score.function[name])
    return {
        "all": _both(total(score.near), total(score.function)),
        "repositories": repositories,
        "near_by_rule": score.near_by_rule,
        "function_by_rule": score.function_by_rule,
        "changes": score.changes,
        "findings_per_change": round(_per_change(score, score.findings), 3),
        "bugs_per_change": round(_per_change(score, score.bugs), 3),
        "seconds_median": round(score.seconds, 3),
        "errors": score.errors,
    }


def _both(near: Share, function: Share) -> dict[str, Any]:
    return {"pairs": near.trials, "near": _share(near), "function": _share(function)}


def _share(share: Share) -> dict[str, Any]:
    low, high = share.interval
    return {
        "hits": share.hits,
        "share": round(share.value, 4),
        "interval": [round(low, 4), round(high, 4)],
    }


def _per_change(score: FixScore, count: int) -> float:
    return count / score.changes if score.changes else 0.0
