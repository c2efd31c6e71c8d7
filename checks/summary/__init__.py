"""What a change is, for people who did not follow it: steps, files that matter, code worth reading, risks, relations.

Pure: from a review, the facts and what git knows of the past. Every sentence is a claim with its places
(`checks.summary.model.Claim`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checks.domain.change_facts import Facts
from checks.review import Review
from checks.summary.claims import claims
from checks.summary.discussion import Thread, discussion
from checks.summary.excerpts import excerpts
from checks.summary.files import cards
from checks.summary.merge_identical import gathered
from checks.summary.model import Analysis, Claim, History
from checks.summary.motivation import motivation
from checks.summary.replacements import replacements
from checks.summary.risks import impacts, reached, risks
from checks.summary.steps import steps

__all__ = ["Analysis", "analyse"]

_MOST_SUMMARY = 4
_MOST_SYMBOLS = 8
# What a summary says first: claims of these kinds explain more of a change than the others.
_TELLING = (
    "split",
    "moved",
    "op-added",
    "op-removed",
    "op-replaced",
    "op-changed",
    "extracted",
    "carried",
    "setting-changed",
    "replaced",
    "class-added",
    "dropped",
    "first-calls",
    "condition",
    "condition-part",
    "unpacked",
    "assigned",
    "loop",
    "branches",
    "function-replaced",
    "function-removed",
    "function-added",
    "functions-added",
    "functions-removed",
    "parameter-replaced",
    "parameter-optional",
    "signature",
    "override",
    "narrowed",
    "exit",
    "setting-added",
    "keys",
    "calls",
    "state",
    "passed",
    "repeated",
    "set-local",
    "tests-added",
)


def analyse(
    review: Review, facts: Facts, history: History, threads: Sequence[Thread] | None = None
) -> Analysis:
    """The analysis of a reviewed change. `threads` is what people said about it, None where nobody was asked."""
    change, config = review.change, review.config
    found = claims(change, config, facts, replacements(change, config))
    made = steps(change, found)
    dangers = risks(review, reached(change, config))
    files = cards(change, config, facts, made, (r.finding for r in dangers), history)
    return Analysis(
        facts=facts,
        summary=_summary(found),
        motivation=motivation(change.pull, history),
        steps=tuple(replace(step, claims=gathered(step.claims)) for step in made),
        files=files,
        symbols=_symbols(found),
        excerpts=excerpts(change, config, found, files),
        risks=dangers,
        dropped=tuple(c for c in found if c.message.key == "dropped"),
        impacts=impacts(change, facts, found),
        history=history,
        discussion=discussion(threads, review.findings) if threads is not None else None,
    )


def _summary(found: tuple[Claim, ...]) -> tuple[Claim, ...]:
    order = {key: n for n, key in enumerate(_TELLING)}
    telling = [c for c in found if c.message.key in order]
    return (
        gathered(sorted(telling, key=lambda c: order[c.message.key]))[:_MOST_SUMMARY] or found[:1]
    )


def _symbols(found: tuple[Claim, ...]) -> tuple[str, ...]:
    names = (
        str(s).rsplit(".", 1)[-1] for c in found if c.message.key in _TELLING for s in c.symbols
    )
    return tuple(dict.fromkeys(names))[:_MOST_SYMBOLS]
