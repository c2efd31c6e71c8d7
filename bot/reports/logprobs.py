"""The report of `specbot logprobs diff`: verdict, reasons, what the numbers prove, and the numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown, Plain
from bot.reports import markdown, terminal
from bot.reports.blocks import Block, Heading, Items, Table, Text
from checks.core.finding import Message
from checks.logprobs.compare import Decision, Judged, Outcome, Tally, Worst
from checks.logprobs.compare.comparable import ORIGIN
from checks.logprobs.compare.tally import Places, place_names, quantile, ulps_text


def render(outcome: Outcome, form: str, language: str) -> str:
    """The whole document as `terminal`, `markdown` or `json`, ending in a newline; the same bytes
    for the same outcome.
    """
    if form == "json":
        return json.dumps(data(outcome), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if form == "markdown":
        return markdown.written(blocks(outcome, Catalog(language, Markdown())))
    return terminal.shown(blocks(outcome, Catalog(language, Plain())))


def blocks(outcome: Outcome, words: Catalog) -> Iterator[Block]:
    """What a person reads, the verdict first."""
    yield Heading(2, words("comparison.heading-verdict", verdict=str(outcome.verdict)))
    yield Text(words(f"comparison.verdict-{outcome.verdict}", safe=outcome.safe))
    yield _items(outcome.reasons, words)
    if outcome.causes:
        yield Heading(2, words("comparison.heading-causes"))
        yield _items(outcome.causes, words)
    tally = outcome.tally
    if tally.counts["rows"]:
        yield Heading(2, words("comparison.heading-numbers"))
        yield _numbers(outcome, words)
    yield from _examples(tally, words)
    yield from _acceptance(outcome, words)
    if tally.counts["noise"] + tally.counts["unsure"] + tally.counts["over"]:
        yield from _places(tally, words)
    yield from _compared(tally, words)


def _items(messages: tuple[Message, ...], words: Catalog) -> Items:
    return Items(tuple(words(f"comparison.{m.key}", **m.args) for m in messages))


def _numbers(outcome: Outcome, words: Catalog) -> Table:
    counts = outcome.tally.counts
    rows = [("requests", str(counts["pairs"]))]
    rows += [
        (name, str(counts[name]))
        for name in ("rows", "equal", "reordered", "noise", "unsure", "over")
    ]
    rows += [("ulps", _spread(outcome.tally)), ("tolerance", f"{outcome.tolerance:.3g}")]
    if outcome.aa is not None:
        rows += [("aa", _spread(outcome.aa)), ("aa-rows", str(outcome.aa.counts["rows"]))]
    splits = ("near-tie", "drawn", "unknown")
    parted = [str(counts[f"split-{name}"]) for name in splits] + [str(counts["requests-real"])]
    rows.append(("splits", " / ".join(parted)))
    header = words("comparison.number"), words("comparison.value")
    shown = tuple(
        (words(f"comparison.numbers-{name}"), value) for name, value in rows if value != "0"
    )
    return Table(header, shown)


def _spread(tally: Tally) -> str:
    shares = [quantile(tally.ulps, share) for share in (0.5, 0.99, 0.999)]
    return " / ".join(ulps_text(min(value, tally.most)) for value in (*shares, tally.most))


def _examples(tally: Tally, words: Catalog) -> Iterator[Block]:
    worst = [*tally.examples.get("worst", ()), *tally.examples.get("rank", ())]
    if worst:
        yield Heading(2, words("comparison.heading-worst"))
        names = ("request", "position", "token", "kind", "base", "head", "ulps")
        yield Table(_header(names, words), tuple(_worst(w, words) for w in worst))
    splits = tally.examples.get("split", ())
    if splits:
        yield Heading(2, words("comparison.heading-splits"))
        yield Table(
            _header(("request", "position", "kind", "base", "head", "gap"), words),
            tuple(_split(w, words) for w in splits),
        )


def _header(names: tuple[str, ...], words: Catalog) -> tuple[str, ...]:
    return tuple(words(f"comparison.{name}") for name in names)


def _worst(worst: Worst, words: Catalog) -> tuple[str, ...]:
    form = "{:.0f}" if worst.kind == "rank" else "{:.7g}"
    values = (
        "" if math.isnan(v) and worst.kind == "missing" else form.format(v)
        for v in (worst.base, worst.head)
    )
    kind = words(f"comparison.kind-{worst.kind}")
    ulps = "" if worst.kind == "rank" else ulps_text(worst.ulps)
    return (
        words.style.code(worst.request),
        str(worst.position),
        str(worst.token),
        kind,
        *values,
        ulps,
    )


def _split(split: Worst, words: Catalog) -> tuple[str, ...]:
    sides = (
        "" if token < 0 and math.isnan(value) else f"{token} ({value:.6g})"
        for token, value in ((split.chosen_base, split.base), (split.chosen_head, split.head))
    )
    gap = "" if math.isnan(split.ulps) else ulps_text(split.ulps)
    kind = words(f"comparison.split-{split.kind}")
    return words.style.code(split.request), str(split.position), kind, *sides, gap


def _acceptance(outcome: Outcome, words: Catalog) -> Iterator[Block]:
    other = outcome.tally.counts["other-drafting"]
    decisions = outcome.acceptance
    if not decisions or not (decisions[0].steps_base or decisions[0].steps_head):
        return
    yield Heading(2, words("comparison.heading-acceptance"))
    first = decisions[0]
    yield Text(words("comparison.acceptance-steps", base=first.steps_base, head=first.steps_head))
    if other:
        yield Text(words("comparison.other-drafting", requests=other))
    rows = tuple(_decision(place, decision, words) for place, decision in enumerate(decisions))
    yield Table(_header(("measure", "base", "head", "change", "interval", "judged"), words), rows)


def _decision(place: int, decision: Decision, words: Catalog) -> tuple[str, ...]:
    name = (
        words("comparison.acceptance-place", place=place)
        if place
        else words("comparison.acceptance-length")
    )
    change = interval = ""
    if decision.judged is not Judged.EQUAL:
        change = f"{100 * decision.change:+.1f}%"
        interval = f"{100 * (decision.low - 1):+.1f}% … {100 * (decision.high - 1):+.1f}%"
    judged = words(f"comparison.judged-{decision.judged}", more=decision.more)
    return name, f"{decision.base:.4g}", f"{decision.head:.4g}", change, interval, judged


def _places(tally: Tally, words: Catalog) -> Iterator[Block]:
    steps = [str(n) for n in range(len(tally.step_places.rows))]
    steps[-1] += "-"
    for name, places, labels in (
        ("places", tally.places, place_names()),
        ("step-places", tally.step_places, steps),
    ):
        rows = tuple(_place(label, places, n) for n, label in enumerate(labels) if places.rows[n])
        if rows:
            yield Heading(2, words(f"comparison.heading-{name}"))
            yield Table(
                _header(("position", "rows", "differ", "over", "mean", "most"), words), rows
            )


def _place(label: str, places: Places, n: int) -> tuple[str, ...]:
    counts = (str(int(part[n])) for part in (places.rows, places.differ, places.over))
    return label, *counts, ulps_text(float(places.mean[n])), ulps_text(float(places.most[n]))


def _compared(tally: Tally, words: Catalog) -> Iterator[Block]:
    lines = [
        words("comparison.origin", field=field, base=base, head=head)
        for field in sorted(ORIGIN)
        for base, head in tally.said.get(field, ())
    ]  # fmt: skip
    for side in ("base", "head"):
        if requests := tally.counts[f"only-{side}"]:
            names = tally.names.get(f"only-{side}", [])
            lines.append(words("comparison.only", side=side, requests=requests, names=names))
    if lines:
        yield Heading(2, words("comparison.heading-compared"))
        yield Items(tuple(lines))


def data(outcome: Outcome) -> dict[str, Any]:
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


def _example(worst: Worst) -> dict[str, Any]:
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


def _json_places(places: Places, labels: list[str]) -> list[dict[str, Any]]:
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
