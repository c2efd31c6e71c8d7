"""The analysis page of a change, for people who did not follow it.

`analyse` reads from top to bottom as the page is made: find the claims, group them into steps,
rate the files, pick code to read, list the risks. Everything here is pure: it works on a finished
review, the facts of the change, and what git knows of the past.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checks.domain.change_facts import Facts
from checks.review import Review
from checks.summary.change_type import change_types
from checks.summary.changes.name_replacements import find_name_replacements
from checks.summary.claims import claims_for
from checks.summary.dependents import find_dependents
from checks.summary.discussion import Thread, summarise_discussion
from checks.summary.excerpts import pick_excerpts
from checks.summary.files import rate_files
from checks.summary.headline import headline_claims
from checks.summary.impacts import find_impacts
from checks.summary.merge_identical import merge_identical
from checks.summary.model import Analysis, ChangeHistory, ChangeStep
from checks.summary.motivation import quote_motivation
from checks.summary.overview import key_symbols, summary_claims
from checks.summary.risks import collect_risks, risks_in_callees
from checks.summary.steps import group_into_steps

__all__ = ["Analysis", "analyse"]


def analyse(
    review: Review, facts: Facts, history: ChangeHistory, threads: Sequence[Thread] | None = None
) -> Analysis:
    """The analysis of a reviewed change.

    `threads` is what people wrote about it on GitHub, None where GitHub was not asked.
    """
    change, config = review.change, review.config
    claims = claims_for(change, config, facts, find_name_replacements(change, config))
    steps = group_into_steps(change, claims)
    risks = collect_risks(review, risks_in_callees(change, config))
    findings = [risk.finding for risk in risks]
    files = rate_files(change, config, facts, steps, findings, history)
    discussion = None
    if threads is not None:
        discussion = summarise_discussion(threads, review.findings)
    return Analysis(
        facts=facts,
        headline=headline_claims(claims),
        types=change_types(change.pull.title or history.subject, facts, claims),
        summary=summary_claims(claims),
        motivation=quote_motivation(change, config, history),
        steps=tuple(_with_merged_claims(step) for step in steps),
        files=files,
        symbols=key_symbols(claims),
        excerpts=pick_excerpts(change, config, claims, files),
        risks=risks,
        dropped=tuple(claim for claim in claims if claim.message.key == "dropped"),
        impacts=find_impacts(change, facts, claims),
        dependents=find_dependents(change, config, facts),
        history=history,
        discussion=discussion,
    )


def _with_merged_claims(step: ChangeStep) -> ChangeStep:
    return replace(step, claims=merge_identical(step.claims))
