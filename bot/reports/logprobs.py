"""The report of `specbot logprobs diff`: verdict, reasons, what is proved, and the numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown, Plain
from bot.reports import markdown, terminal
from bot.reports.blocks import Block, Heading, Items, Table, Text
from checks.core.finding import Message
from checks.logprobs.compare import (
    AcceptanceVerdict,
    ComparisonOutcome,
    ComparisonStats,
    Decision,
    WorstRow,
)
from checks.logprobs.compare.comparable import ORIGIN
from checks.logprobs.compare.tally import PlaceStats, place_names, quantile, ulps_text


def render(outcome: ComparisonOutcome, form: str, language: str, *, verbose: bool = True) -> str:
    """The document as `terminal`, `markdown` or `json`, ending in a newline; the same bytes for the
    same outcome. On a terminal the numbers come only where it is `verbose`.
    """
    if form == "json":
        return json.dumps(data(outcome), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if form == "markdown":
        return markdown.write_document(blocks(outcome, Catalog(language, Markdown())))
    words = Catalog(language, Plain())
    if verbose:
        return terminal.write_for_terminal(blocks(outcome, words))
    titles = [b.text for b in _number_blocks(outcome, words) if isinstance(b, Heading)]
    hint = Text(words("report.unfold", titles=titles))
    return terminal.write_for_terminal([*_verdict_blocks(outcome, words), hint])


def blocks(outcome: ComparisonOutcome, words: Catalog) -> Iterator[Block]:
    """What a person reads, the verdict first."""
    yield from _verdict_blocks(outcome, words)
    yield from _number_blocks(outcome, words)


def _verdict_blocks(outcome: ComparisonOutcome, words: Catalog) -> Iterator[Block]:
    """The verdict, why, and what the numbers prove."""
    yield Heading(2, words("comparison.heading-verdict", verdict=str(outcome.verdict)))
    yield Text(words(f"comparison.verdict-{outcome.verdict}", safe=outcome.safe))
    yield _messages(outcome.reasons, words)
    if outcome.causes:
        yield Heading(2, words("comparison.heading-causes"))
        yield _messages(outcome.causes, words)


def _number_blocks(outcome: ComparisonOutcome, words: Catalog) -> Iterator[Block]:
    """The numbers themselves, and which records they are of."""
    tally = outcome.tally
    if tally.counts["rows"]:
        yield Heading(2, words("comparison.heading-numbers"))
        yield _numbers(outcome, words)
    yield from _examples(tally, words)
    yield from _acceptance(outcome, words)
    if any(tally.counts[kind] for kind in ("noise", "unsure", "over")):
        yield from _by_place(tally, words)
    yield from _compared(tally, words)


def _messages(messages: tuple[Message, ...], words: Catalog) -> Items:
    return Items(tuple(words(f"comparison.{m.key}", **m.args) for m in messages))


def _numbers(outcome: ComparisonOutcome, words: Catalog) -> Table:
    counts = outcome.tally.counts
    numbers = {"requests": str(counts["pairs"])}
    for name in ("rows", "equal", "reordered", "noise", "unsure", "over"):
        numbers[name] = str(counts[name])
    numbers["ulps"] = _spread(outcome.tally)
    numbers["tolerance"] = f"{outcome.tolerance:.3g}"
    if outcome.aa is not None:
        numbers["aa"] = _spread(outcome.aa)
        numbers["aa-rows"] = str(outcome.aa.counts["rows"])
    splits = [counts[f"split-{kind}"] for kind in ("near-tie", "drawn", "unknown")]
    splits.append(counts["requests-real"])
    numbers["splits"] = " / ".join(str(count) for count in splits)
    rows = []
    for name, value in numbers.items():
        if value != "0":
            rows.append((words(f"comparison.numbers-{name}"), value))
    header = words("comparison.number"), words("comparison.value")
    return Table(header, tuple(rows))


def _spread(tally: ComparisonStats) -> str:
    """The median, the 99th and the 99.9th percentile and the largest difference, in ulps."""
    shares = [quantile(tally.ulps, share) for share in (0.5, 0.99, 0.999)]
    # A quantile is the end of its bin, which may lie above the largest difference.
    values = [min(value, tally.most) for value in (*shares, tally.most)]
    return " / ".join(ulps_text(value) for value in values)


def _examples(tally: ComparisonStats, words: Catalog) -> Iterator[Block]:
    worst = [*tally.examples.get("worst", ()), *tally.examples.get("rank", ())]
    if worst:
        header = _header(("request", "position", "token", "kind", "base", "head", "ulps"), words)
        yield Heading(2, words("comparison.heading-worst"))
        yield Table(header, tuple(_worst(row, words) for row in worst))
    splits = tally.examples.get("split", ())
    if splits:
        header = _header(("request", "position", "kind", "base", "head", "gap"), words)
        yield Heading(2, words("comparison.heading-splits"))
        yield Table(header, tuple(_split(row, words) for row in splits))


def _header(names: tuple[str, ...], words: Catalog) -> tuple[str, ...]:
    return tuple(words(f"comparison.{name}") for name in names)


def _worst(worst: WorstRow, words: Catalog) -> tuple[str, ...]:
    is_rank = worst.kind == "rank"
    form = "{:.0f}" if is_rank else "{:.7g}"
    values = []
    for value in (worst.base, worst.head):
        is_missing = worst.kind == "missing" and math.isnan(value)
        values.append("" if is_missing else form.format(value))
    return (
        words.style.code(worst.request),
        str(worst.position),
        str(worst.token),
        words(f"comparison.kind-{worst.kind}"),
        *values,
        "" if is_rank else ulps_text(worst.ulps),
    )


def _split(split: WorstRow, words: Catalog) -> tuple[str, ...]:
    return (
        words.style.code(split.request),
        str(split.position),
        words(f"comparison.split-{split.kind}"),
        _chosen(split.chosen_base, split.base),
        _chosen(split.chosen_head, split.head),
        "" if math.isnan(split.ulps) else ulps_text(split.ulps),
    )


def _chosen(token: int, value: float) -> str:
    """The token that a side chose, and its logprob; empty where the side had ended before."""
    if token < 0 and math.isnan(value):
        return ""
    return f"{token} ({value:.6g})"


def _acceptance(outcome: ComparisonOutcome, words: Catalog) -> Iterator[Block]:
    """How many drafted tokens were accepted, on both sides, where tokens were drafted."""
    decisions = outcome.acceptance
    if not decisions:
        return
    first = decisions[0]
    if not first.steps_base and not first.steps_head:
        return
    yield Heading(2, words("comparison.heading-acceptance"))
    yield Text(words("comparison.acceptance-steps", base=first.steps_base, head=first.steps_head))
    other_drafting = outcome.tally.counts["other-drafting"]
    if other_drafting:
        yield Text(words("comparison.other-drafting", requests=other_drafting))
    columns = ("measure", "base", "head", "change", "interval", "judged")
    rows = tuple(_decision(place, decision, words) for place, decision in enumerate(decisions))
    yield Table(_header(columns, words), rows)


def _decision(place: int, decision: Decision, words: Catalog) -> tuple[str, ...]:
    """A row: the length at place 0, then the share at each place of a step."""
    if place:
        name = words("comparison.acceptance-place", place=place)
    else:
        name = words("comparison.acceptance-length")
    change = interval = ""
    if decision.judged is not AcceptanceVerdict.EQUAL:
        change = f"{100 * decision.change:+.1f}%"
        low, high = 100 * (decision.low - 1), 100 * (decision.high - 1)
        interval = f"{low:+.1f}% … {high:+.1f}%"
    judged = words(f"comparison.judged-{decision.judged}", more=decision.more)
    return name, f"{decision.base:.4g}", f"{decision.head:.4g}", change, interval, judged


def _by_place(tally: ComparisonStats, words: Catalog) -> Iterator[Block]:
    """Tables of the differences by position in the answer, and by place in a step."""
    yield from _place_table("places", tally.places, place_names(), words)
    steps = [str(number) for number in range(len(tally.step_places.rows))]
    steps[-1] += "-"
    yield from _place_table("step-places", tally.step_places, steps, words)


def _place_table(
    name: str, places: PlaceStats, labels: Sequence[str], words: Catalog
) -> Iterator[Block]:
    rows = []
    for number, label in enumerate(labels):
        if places.rows[number]:
            rows.append(_place_row(label, places, number))
    if rows:
        columns = ("position", "rows", "differ", "over", "mean", "most")
        yield Heading(2, words(f"comparison.heading-{name}"))
        yield Table(_header(columns, words), tuple(rows))


def _place_row(label: str, places: PlaceStats, number: int) -> tuple[str, ...]:
    counts = (places.rows[number], places.differ[number], places.over[number])
    mean, most = float(places.mean[number]), float(places.most[number])
    return label, *(str(int(count)) for count in counts), ulps_text(mean), ulps_text(most)


def _compared(tally: ComparisonStats, words: Catalog) -> Iterator[Block]:
    """What the records come from, and requests that only one side has."""
    lines = []
    for field in sorted(ORIGIN):
        for base, head in tally.said.get(field, ()):
            lines.append(words("comparison.origin", field=field, base=base, head=head))
    for side in ("base", "head"):
        requests = tally.counts[f"only-{side}"]
        if requests:
            names = tally.names.get(f"only-{side}", [])
            lines.append(words("comparison.only", side=side, requests=requests, names=names))
    if lines:
        yield Heading(2, words("comparison.heading-compared"))
        yield Items(tuple(lines))


def data(outcome: ComparisonOutcome) -> dict[str, Any]:
    """The same for machines. What is not finite is a string."""
    tally = outcome.tally
    return {
        "version": 1,
        "verdict": str(outcome.verdict),
        "safe": outcome.safe,
        "tolerance_ulps": outcome.tolerance,
        "reasons": [{"key": m.key, **m.args} for m in outcome.reasons],
        "causes": [{"key": m.key, **m.args} for m in outcome.causes],
        "counts": {name: n for name, n in tally.counts.items() if n},
        "ulps": {str(share): quantile(tally.ulps, share) for share in (0.5, 0.99)}
        | {"largest": _json(tally.most)},
        "widths": [
            {"base": b, "head": h, "requests": n} for (b, h), n in sorted(tally.widths.items())
        ],
        "origin": [
            {"field": f, "base": b, "head": h}
            for f in sorted(ORIGIN)
            for b, h in tally.said.get(f, ())
        ],
        "examples": {kind: [_example(w) for w in found] for kind, found in tally.examples.items()},
        "acceptance": [_json_decision(d) for d in outcome.acceptance],
        "by_position": _json_places(tally.places, place_names()),
        "by_place_in_step": _json_places(
            tally.step_places, [str(n) for n in range(len(tally.step_places.rows))]
        ),
    }


def _json(value: float) -> float | str:
    return float(f"{value:.9g}") if math.isfinite(value) else str(value)


def _example(worst: WorstRow) -> dict[str, Any]:
    return {
        "request": worst.request,
        "position": worst.position,
        "kind": worst.kind,
        "token": worst.token,
        "base": _json(worst.base),
        "head": _json(worst.head),
        "ulps": _json(worst.ulps),
        "chosen": [worst.chosen_base, worst.chosen_head],
    }


def _json_decision(decision: Decision) -> dict[str, Any]:
    return {
        "base": _json(decision.base),
        "head": _json(decision.head),
        "steps": [decision.steps_base, decision.steps_head],
        "ratio": [_json(decision.low), _json(decision.high)],
        "judged": str(decision.judged),
        "more_steps": decision.more,
    }


def _json_places(places: PlaceStats, labels: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "at": label,
            "rows": int(places.rows[n]),
            "differ": int(places.differ[n]),
            "over": int(places.over[n]),
            "mean_ulps": _json(float(places.mean[n])),
            "largest_ulps": _json(float(places.most[n])),
        }
        for n, label in enumerate(labels)
        if places.rows[n]
    ]
