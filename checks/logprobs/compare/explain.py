"""What a tally proves about why two sides differ, as messages: keys of
`templates/words/comparison.toml`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checks.core.finding import Message
from checks.logprobs.compare.padding import KINDS
from checks.logprobs.compare.tally import SHOWN, STEP_PLACES, ComparisonStats

# An explanation is given where it explains this share of what is wrong.
_MOST = 0.9
_FEWEST_ROWS = 3
_MOST_OFFSETS = 3
_FEWEST_ONE_SIDED_ROWS = 8
# The largest slope over the smallest up to which all rows were scaled by one number.
_ONE_SLOPE = 1.03
_SIDES = ("base", "head")


def explanations(tally: ComparisonStats) -> tuple[Message, ...]:
    """Explanations in a fixed order, those of wrong values first."""
    return (
        *_odd_numbers(tally),
        *_padding(tally),
        *_swapped_answers(tally),
        *_exchanged_rows(tally),
        *_constants_and_slopes(tally),
        *_rank_offset(tally),
        *_one_direction(tally),
        *_one_place_in_step(tally),
        *_columns(tally),
    )


def swapped(tally: ComparisonStats) -> list[tuple[str, str]]:
    """(request of head, request of base that has its answer) of answers that changed places."""
    base, head = tally.marks["base"], tally.marks["head"]
    pairs = []
    for mark in base.keys() & head.keys():
        if head[mark] != base[mark]:
            pairs.append((head[mark], base[mark]))
    return sorted(pairs)


def padded(tally: ComparisonStats, side: str) -> dict[str, int]:
    """Rows without a token, by kind."""
    rows = {kind: tally.counts[f"padding-{side}-{kind}"] for kind in KINDS[1:]}
    return {kind: count for kind, count in rows.items() if count}


def _odd_numbers(tally: ComparisonStats) -> Iterator[Message]:
    """NaN, infinity and zero where there were numbers, and rows made of two rows."""
    counts = tally.counts
    for kind in ("nan", "inf"):
        for side in _SIDES:
            rows = counts[f"{kind}-{side}"]
            if rows:
                yield Message(f"cause-{kind}", {"side": side, "rows": rows})
    for side in _SIDES:
        rows = counts[f"zero-{side}"]
        if rows >= _FEWEST_ROWS and rows >= _MOST * counts["moved"]:
            yield Message("cause-zero", {"side": side, "rows": rows})
    for side in _SIDES:
        rows = counts[f"torn-{side}"]
        if rows:
            yield Message("cause-torn", {"side": side, "rows": rows})


def _padding(tally: ComparisonStats) -> Iterator[Message]:
    for side in _SIDES:
        for kind, rows in padded(tally, side).items():
            args = {"side": side, "kind": kind, "rows": rows, "first": False}
            examples = [e for e in tally.examples[f"padding-{side}"] if e.kind == kind]
            if examples:
                first = examples[0]
                args |= {"first": True, "request": first.request, "position": first.position}
            yield Message("cause-padding", args)


def _swapped_answers(tally: ComparisonStats) -> Iterator[Message]:
    pairs = swapped(tally)
    if pairs:
        names = [f"{head} ← {base}" for head, base in pairs[:SHOWN]]
        yield Message("cause-swapped", {"requests": len(pairs), "names": names})


def _exchanged_rows(tally: ComparisonStats) -> Iterator[Message]:
    """Rows of head that are another row of base, the most frequent offsets first."""
    offsets = [(offset, rows) for offset, rows in tally.rows_of.items() if rows]
    offsets.sort(key=lambda item: (-item[1], item[0]))
    for offset, rows in offsets[:_MOST_OFFSETS]:
        if offset == "other":
            names = tally.names.get("rows-of-other", [])
            yield Message("cause-row-of-other", {"rows": rows, "names": names})
        else:
            yield Message("cause-row", {"offset": offset, "rows": rows})


def _constants_and_slopes(tally: ComparisonStats) -> Iterator[Message]:
    """Distributions that were moved as a whole, or scaled, by a known temperature or not."""
    wrong, counts = _wrong_rows(tally), tally.counts
    if systematic(tally) and counts["whole"] >= _MOST * (counts["noise"] + wrong):
        up = counts["whole-up"] * 2 > counts["whole"]
        yield Message("cause-renormalised", {"rows": counts["whole"], "up": up})
    if wrong < _FEWEST_ROWS:
        return
    if counts["constant"] >= _MOST * wrong:
        up = counts["constant-up"] * 2 > counts["constant"]
        yield Message("cause-renormalised", {"rows": counts["constant"], "up": up})
    if counts["scaled"] >= _MOST * wrong:
        yield from _slope(tally)


def _slope(tally: ComparisonStats) -> Iterator[Message]:
    rows = tally.counts["scaled"]
    low, high = tally.slopes
    args = {"low": round(low, 3), "high": round(high, 3), "rows": rows}
    for side in ("head", "base"):
        if tally.counts[f"tempered-{side}"] >= _MOST * rows:
            yield Message("cause-processed", {"side": side, **args})
            return
    if high <= _ONE_SLOPE * low:
        yield Message("cause-scaled", args)


def _rank_offset(tally: ComparisonStats) -> Iterator[Message]:
    """Ranks that are nearly all off by the same number."""
    wrong = tally.counts["rank"]
    if not wrong:
        return
    delta, rows = max(tally.ranks.items(), key=lambda item: (item[1], item[0]))
    if rows >= _MOST * wrong and rows >= _FEWEST_ROWS:
        args = {"delta": f"{delta:+d}", "rows": rows, "of": tally.counts["ranked"]}
        yield Message("cause-rank-offset", args)


def _one_direction(tally: ComparisonStats) -> Iterator[Message]:
    """Small differences that all go one way."""
    up, down, rows = tally.counts["sign-up"], tally.counts["sign-down"], tally.counts["rows"]
    if systematic(tally):
        args = {
            "up": up,
            "down": down,
            "share": f"{100 * (up + down) / rows:.2g}",
            "one": tally.counts["sign-one-ulp"],
        }
        yield Message("cause-systematic", args)
    elif max(up, down) >= _FEWEST_ONE_SIDED_ROWS and min(up, down) == 0:
        yield Message("cause-one-sided", {"rows": max(up, down)})


def systematic(tally: ComparisonStats) -> bool:
    """Whether small differences go one way more than rounding can: at most one time in a million.

    Each request's signs are added, and turning a request's signs round is as likely as not where
    head and base are runs of the same: P(|sum| >= z sqrt(squares)) <= 2 exp(-z^2 / 2) (Hoeffding),
    which is 1e-6 at z^2 = 29.
    """
    return bool(tally.counts["sign-sum"] ** 2 > 29 * tally.counts["sign-square"])


def _one_place_in_step(tally: ComparisonStats) -> Iterator[Message]:
    """Wrong rows that nearly all stand at one place of their step: one draft position."""
    places = tally.step_places
    over, rows = int(places.over.sum()), int(places.rows.sum())
    if over < 2 * _FEWEST_ROWS:
        return
    place = int(np.argmax(places.over))
    if places.over[place] >= _MOST * over and places.rows[place] < rows / 2:
        args = {"place": place, "rows": int(places.over[place]), "last": place == STEP_PLACES - 1}
        yield Message("cause-step-place", args)


def _columns(tally: ComparisonStats) -> Iterator[Message]:
    """Columns out of order, more or fewer of them, or rows that are not all as wide."""
    unsorted = tally.counts["unsorted"]
    if unsorted:
        yield Message("cause-unsorted", {"rows": unsorted})
    for (base, head), requests in sorted(tally.widths.items()):
        if base != head:
            args = {"base": base, "head": head, "requests": requests, "fewer": head < base}
            yield Message("cause-width", args)
    ragged = {side: tally.counts[f"ragged-{side}"] for side in _SIDES}
    if ragged["base"] != ragged["head"]:
        yield Message("cause-ragged", ragged)


def _wrong_rows(tally: ComparisonStats) -> int:
    return tally.counts["over"] + tally.counts["unsure"]
