"""Each failed job in full: what failed, why, the evidence, the lines of the log, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TypeVar

from bot.i18n.catalog import Catalog
from bot.i18n.templates import Escaped, place
from bot.reports.blocks import Block, Code, Folded, Heading, Items, Table, Text
from bot.reports.ci.phrasing import (
    Level,
    advice,
    again,
    cut,
    duration,
    links,
    message,
    name,
    root,
)
from checks.ci.message_keys import Reason
from checks.ci.model import Past, Requirement
from checks.ci.observed_failures import mask_variable_parts
from checks.ci.report import CIReport, Evidence, FailedJob, Failure, LogLine

_LONGEST = 240
_MOST_RELATED = 8
# Accounts that stand open; of more, each is folded.
_MOST_OPEN = 2
_FEWEST_SUGGESTIONS = 3
Item = TypeVar("Item")


def details(report: CIReport, words: Catalog, level: Level) -> Iterator[Block]:
    """The jobs that block a merge, or may; then, folded, the optional ones."""
    blocking: list[FailedJob] = []
    optional: list[FailedJob] = []
    for failed in report.failed:
        is_optional = failed.job.requirement is Requirement.OPTIONAL
        (optional if is_optional else blocking).append(failed)
    if not level.optional:
        optional = []
    if not blocking and not optional:
        return
    yield Heading(2, words("ci.heading-details"))
    groups = _by_cause(blocking[: level.rows])
    for group in groups:
        if len(groups) > _MOST_OPEN:
            yield _folded(group, words, level)
        else:
            yield from _group(group, words, level)
    if optional:
        blocks: list[Block] = []
        for group in _by_cause(optional):
            blocks += _group(group, words, level)
        title = words("ci.heading-optional-details", count=len(optional))
        yield Folded(title, tuple(blocks))


def _by_cause(failed_jobs: Iterable[FailedJob]) -> list[list[FailedJob]]:
    """Jobs that died of the same error together: a matrix, or a step that many jobs share."""
    groups: dict[tuple[str, str, str], list[FailedJob]] = {}
    for failed in failed_jobs:
        main = failed.main
        error = mask_variable_parts(main.error) if main.error else failed.job.id
        groups.setdefault((main.category, main.cause, error), []).append(failed)
    return list(groups.values())


def _folded(group: list[FailedJob], words: Catalog, level: Level) -> Block:
    first = group[0]
    confidence = words(f"ci.confidence-{first.main.confidence}")
    title = words(
        "ci.detail-summary",
        name=name(first.job),
        more=len(group) - 1,
        category=Escaped(words(f"ci.category-{first.main.category}")),
        confidence=Escaped(confidence),
    )
    return Folded(title, tuple(_group(group, words, level)))


def _group(group: list[FailedJob], words: Catalog, level: Level) -> Iterator[Block]:
    """One account for all jobs that died of the same error."""
    first = group[0]
    category = words(f"ci.category-{first.main.category}")
    heading = words("ci.detail-heading", name=name(first.job), category=Escaped(category))
    yield Heading(3, heading)
    if len(group) > 1:
        names = [name(failed.job) for failed in group]
        yield Text(words("ci.detail-group", count=len(group), names=names))
    yield from _job(first, words, level)


def _job(failed: FailedJob, words: Catalog, level: Level) -> Iterator[Block]:
    """What failed, why, and what to do first; folded, what that rests on and everything else."""
    first, later = _suggestions(failed, words, level)
    folded = list(_background(failed, later, words, level))
    run = tuple(_run(failed, words))
    facts = tuple(_facts(failed, words))
    yield Items(facts if folded else facts + run)
    yield from _failures(failed, words, level)
    if first:
        yield Text(words("ci.suggestions"))
        yield Items(first, numbered=True)
    if failed.notes:
        yield Items(tuple(message(note, words) for note in failed.notes))
    if folded:
        last = (Items(run),) if run else ()
        yield Folded(words("ci.detail-more"), (*folded, *last))


def _background(
    failed: FailedJob, later: tuple[str, ...], words: Catalog, level: Level
) -> Iterator[Block]:
    """What else may be done, and what the account rests on."""
    if later:
        yield Text(words("ci.suggestions-later"))
        yield Items(later)
    yield from _reasons(failed, words, level)
    yield from _log(failed, words, level)
    yield from _related(failed, words)


def _facts(failed: FailedJob, words: Catalog) -> Iterator[str]:
    """Whose fault it is and whether to run it again; the error and its root cause where no table
    of failures has them."""
    main = failed.main
    cause = words(f"ci.cause-{main.cause}")
    confidence = words(f"ci.confidence-{main.confidence}")
    rerun = words(f"ci.rerun-{main.rerun}")
    has_table = _has_tests(failed)
    if main.error and not has_table:
        yield words("ci.detail-error", error=cut(main.error, _LONGEST))
    yield words("ci.detail-cause", cause=Escaped(cause), confidence=Escaped(confidence))
    if not has_table:
        yield words("ci.detail-root", root=Escaped(root(main, words)))
    yield words("ci.detail-rerun", rerun=Escaped(rerun))


def _has_tests(failed: FailedJob) -> bool:
    return any(failure.test for failure in failed.failures)


def _run(failed: FailedJob, words: Catalog) -> Iterator[str]:
    """Where the job ran, how long, and its links."""
    job = failed.job
    if job.runner:
        yield words("ci.detail-runner", runner=job.runner)
    if job.seconds is not None:
        yield words("ci.detail-took", time=duration(job.seconds, words))
    link = words("report.comma").join(
        part for part in (links(job, words), again(job, words)) if part
    )
    if link:
        yield link


def _failures(failed: FailedJob, words: Catalog, level: Level) -> Iterator[Block]:
    """The table of failed tests, where there is one."""
    if not _has_tests(failed):
        return
    yield Text(words("ci.failures"))
    header = tuple(words(f"ci.{key}") for key in ("failure-test", "failure-error", "failure-cause"))
    shown = failed.failures[: level.failures]
    yield Table(header, tuple(_failure_row(failure, words) for failure in shown), cards=True)
    left_out = failed.left_out + len(failed.failures) - len(shown)
    if left_out:
        yield Text(words("ci.failures-left-out", count=left_out))


def _failure_row(failure: Failure, words: Catalog) -> tuple[str, ...]:
    test = words.style.code(failure.test) if failure.test else words("ci.whole-job")
    error = cut(failure.error, _LONGEST)
    cause = words(f"ci.cause-{failure.cause}")
    why = words("ci.cause-and-root", cause=Escaped(cause), root=Escaped(root(failure, words)))
    return test, words.style.code(error) if error else "", why


def _reasons(failed: FailedJob, words: Catalog, level: Level) -> Iterator[Block]:
    reasons: dict[str, None] = {}
    for evidence in _in_turn([_worth_saying(failure) for failure in failed.failures]):
        reasons[_evidence(evidence, words)] = None
    shown = tuple(reasons)[: level.evidence]
    if shown:
        yield Text(words("ci.evidence"))
        yield Items(shown)


def _in_turn(rows: Iterable[Sequence[Item]]) -> Iterator[Item]:
    """The first item of every row, then the second of each, and so on."""
    for column in zip_longest(*rows):
        for item in column:
            if item is not None:
                yield item


def _worth_saying(failure: Failure) -> tuple[Evidence, ...]:
    """The failure's evidence.

    That a JUnit file has a failure, which the table shows, is left out unless nothing else is
    known.
    """
    telling = tuple(e for e in failure.evidence if e.message.key != Reason.JUNIT)
    return telling or failure.evidence


def _evidence(evidence: Evidence, words: Catalog) -> str:
    sentence = message(evidence.message, words)
    line = evidence.line
    if evidence.location is not None:
        sentence += words("ci.evidence-place", place=evidence.location)
    if line is not None and line.number:
        text = cut(line.text, _LONGEST)
        sentence += words("ci.evidence-line", number=line.number, text=text)
    if evidence.past is not None:
        sentence += words("ci.evidence-past", **where(evidence.past, words))
    return sentence


def where(past: Past, words: Catalog) -> dict[str, str]:
    """Where and when a past result was seen, as arguments."""
    branch = words(f"ci.where-{past.where}", pull=past.pull or "")
    return {"where": Escaped(branch), "date": f"{past.date:%Y-%m-%d}", "commit": past.commit[:12]}


def _log(failed: FailedJob, words: Catalog, level: Level) -> Iterator[Block]:
    shown = failed.lines[: level.lines]
    if not shown:
        return
    yield Text(words("ci.key-log"))
    yield Code(tuple(_numbered(line) for line in shown), "text")
    if len(failed.lines) > len(shown):
        yield Text(words("ci.log-shortened", count=level.lines))


def _numbered(line: LogLine) -> str:
    """The line after its number; a line of a JUnit file has none."""
    text = cut(line.text, _LONGEST)
    return f"{line.number}: {text}" if line.number else text


def _suggestions(
    failed: FailedJob, words: Catalog, level: Level
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(what to do first, what may be done besides): the surest suggestion of each failure goes
    before the second of any."""
    shown = failed.failures[: level.failures]
    suggestions = _in_turn([failure.suggestions for failure in shown])
    lines = advice(suggestions, words)[: max(level.failures, _FEWEST_SUGGESTIONS)]
    first = max(len(shown), _FEWEST_SUGGESTIONS)
    return lines[:first], lines[first:]


def _related(failed: FailedJob, words: Catalog) -> Iterator[Block]:
    places: dict[str, None] = {}
    for failure in failed.failures:
        for location in failure.related:
            places[place(location)] = None
    if places:
        yield Text(words("ci.related", places=list(places)[:_MOST_RELATED]))
