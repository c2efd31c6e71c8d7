"""What a tally proves about why two sides differ, as messages: keys of `templates/words/comparison.toml`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checks.core.finding import Message
from checks.logprobs.compare.padding import KINDS
from checks.logprobs.compare.tally import SHOWN, STEP_PLACES, Tally

# An explanation is given where it explains this share of what is wrong.
_MOST = 0.9
_FEWEST_ROWS = 3
# Two slopes this near are one.
_ONE_SLOPE = 1.03


def explanations(tally: Tally) -> tuple[Message, ...]:
    """Explanations in a fixed order, those of wrong values first."""
    return tuple(
        [
            *_numbers(tally),
            *_padding(tally),
            *_swapped(tally),
            *_rows(tally),
            *_lines(tally),
            *_ranks(tally),
            *_signs(tally),
            *_places(tally),
            *_widths(tally),
        ]
    )


def swapped(tally: Tally) -> list[tuple[str, str]]:
    """Requests of head with the answer that another request has in base."""
    base, head = tally.marks["base"], tally.marks["head"]
    return sorted(
        (head[mark], base[mark]) for mark in base.keys() & head.keys() if head[mark] != base[mark]
    )


def padded(tally: Tally, side: str) -> dict[str, int]:
    """Rows without a token, by kind."""
    return {name: n for name in KINDS[1:] if (n := tally.counts[f"padding-{side}-{name}"])}


def _numbers(tally: Tally) -> Iterator[Message]:
    for kind in ("nan", "inf"):
        for side in ("base", "head"):
            if found := tally.counts[f"{kind}-{side}"]:
                yield Message(f"cause-{kind}", {"side": side, "rows": found})
    for side in ("base", "head"):
        found = tally.counts[f"zero-{side}"]
        if found >= _FEWEST_ROWS and found >= _MOST * tally.counts["moved"]:
            yield Message("cause-zero", {"side": side, "rows": found})
    for side in ("base", "head"):
        if found := tally.counts[f"torn-{side}"]:
            yield Message("cause-torn", {"side": side, "rows": found})


def _padding(tally: Tally) -> Iterator[Message]:
    for side in ("base", "head"):
        for kind, rows in padded(tally, side).items():
            first = next((w for w in tally.examples[f"padding-{side}"] if w.kind == kind), None)
            where = {"request": first.request, "position": first.position} if first else {}
            yield Message(
                "cause-padding",
                {"side": side, "kind": kind, "rows": rows, "first": bool(first), **where},
            )


def _swapped(tally: Tally) -> Iterator[Message]:
    found = swapped(tally)
    if found:
        shown = [f"{head} ← {base}" for head, base in found[:SHOWN]]
        yield Message("cause-swapped", {"requests": len(found), "names": shown})


def _rows(tally: Tally) -> Iterator[Message]:
    order = sorted(
        (item for item in tally.rows_of.items() if item[1]), key=lambda item: (-item[1], item[0])
    )
    for offset, rows in order[:3]:
        if offset == "other":
            yield Message(
                "cause-row-of-other", {"rows": rows, "names": tally.names.get("rows-of-other", [])}
            )
        else:
            yield Message("cause-row", {"offset": offset, "rows": rows})


def _lines(tally: Tally) -> Iterator[Message]:
    wrong, counts = _wrong(tally), tally.counts
    if systematic(tally) and counts["whole"] >= _MOST * (counts["noise"] + wrong):
        yield Message(
            "cause-renormalised",
            {"rows": counts["whole"], "up": counts["whole-up"] * 2 > counts["whole"]},
        )
    if wrong < _FEWEST_ROWS:
        return
    if counts["constant"] >= _MOST * wrong:
        up = counts["constant-up"] * 2 > counts["constant"]
        yield Message("cause-renormalised", {"rows": counts["constant"], "up": up})
    if counts["scaled"] < _MOST * wrong:
        return
    slopes = {
        "low": round(tally.slopes[0], 3),
        "high": round(tally.slopes[1], 3),
        "rows": counts["scaled"],
    }
    for side in ("head", "base"):
        if counts[f"tempered-{side}"] >= _MOST * counts["scaled"]:
            yield Message("cause-processed", {"side": side, **slopes})
            return
    if tally.slopes[1] <= _ONE_SLOPE * tally.slopes[0]:
        yield Message("cause-scaled", slopes)


def _ranks(tally: Tally) -> Iterator[Message]:
    wrong = tally.counts["rank"]
    if not wrong:
        return
    delta, rows = max(tally.ranks.items(), key=lambda item: (item[1], item[0]))
    if rows >= _MOST * wrong and rows >= _FEWEST_ROWS:
        yield Message(
            "cause-rank-offset",
            {"delta": f"{delta:+d}", "rows": rows, "of": tally.counts["ranked"]},
        )


def _signs(tally: Tally) -> Iterator[Message]:
    up, down, rows = tally.counts["sign-up"], tally.counts["sign-down"], tally.counts["rows"]
    if systematic(tally):
        args = {
            "up": up,
            "down": down,
            "share": f"{100 * (up + down) / rows:.2g}",
            "one": tally.counts["sign-one-ulp"],
        }
        yield Message("cause-systematic", args)
    elif max(up, down) >= 8 and min(up, down) == 0:
        yield Message("cause-one-sided", {"rows": max(up, down)})


def systematic(tally: Tally) -> bool:
    """Whether small differences go one way more than rounding can: at most one time in a million.

    Each request's signs are added, and turning a request's signs round is as likely as not where head and base are runs
    of the same: P(|sum| >= z sqrt(squares)) <= 2 exp(-z^2 / 2) (Hoeffding), which is 1e-6 at z^2 = 29.
    """
    return bool(tally.counts["sign-sum"] ** 2 > 29 * tally.counts["sign-square"])


def _places(tally: Tally) -> Iterator[Message]:
    places = tally.step_places
    over, rows = int(places.over.sum()), int(places.rows.sum())
    if over < 2 * _FEWEST_ROWS:
        return
    place = int(np.argmax(places.over))
    if places.over[place] >= _MOST * over and places.rows[place] < rows / 2:
        args = {"place": place, "rows": int(places.over[place]), "last": place == STEP_PLACES - 1}
        yield Message("cause-step-place", args)


def _widths(tally: Tally) -> Iterator[Message]:
    if unsorted := tally.counts["unsorted"]:
        yield Message("cause-unsorted", {"rows": unsorted})
    for (base, head), requests in sorted(tally.widths.items()):
        if base != head:
            yield Message(
                "cause-width",
                {"base": base, "head": head, "requests": requests, "fewer": head < base},
            )
    base, head = tally.counts["ragged-base"], tally.counts["ragged-head"]
    if base != head:
        yield Message("cause-ragged", {"base": base, "head": head})


def _wrong(tally: Tally) -> int:
    return tally.counts["over"] + tally.counts["unsure"]
