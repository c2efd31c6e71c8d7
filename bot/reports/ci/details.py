"""Each failed task in full: what failed, why, the evidence, the lines of the log, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from bot.i18n.catalog import Catalog
from bot.i18n.templates import Escaped, place
from bot.reports.blocks import Block, Code, Folded, Heading, Items, Table, Text
from bot.reports.ci.phrasing import Level, advice, cut, duration, links, message, name, root
from checks.ci.message_keys import Reason
from checks.ci.model import Past, Requirement
from checks.ci.report import CIReport, Evidence, FailedJob, Failure

_LONGEST = 240


def details(report: CIReport, words: Catalog, level: Level) -> Iterator[Block]:
    """The tasks that block a merge, or may; then, folded, the optional ones."""
    blocking = [f for f in report.failed if f.job.requirement is not Requirement.OPTIONAL]
    optional = [f for f in report.failed if f.job.requirement is Requirement.OPTIONAL]
    if not blocking and not (optional and level.optional):
        return
    yield Heading(2, words("ci.heading-details"))
    for failed in blocking[: level.rows]:
        yield from _job(failed, words, level)
    if optional and level.optional:
        blocks = tuple(b for failed in optional for b in _job(failed, words, level))
        yield Folded(words("ci.heading-optional-details", count=len(optional)), blocks)


def _job(failed: FailedJob, words: Catalog, level: Level) -> Iterator[Block]:
    job, main = failed.job, failed.main
    category = words(f"ci.category-{main.category}")
    yield Heading(3, words("ci.detail-heading", name=name(job), category=Escaped(category)))
    yield Items(tuple(_facts(failed, words)))
    if any(f.test for f in failed.failures):
        yield Text(words("ci.failures"))
        yield _table(failed, words, level)
        left = failed.left_out + max(0, len(failed.failures) - level.failures)
        if left:
            yield Text(words("ci.failures-left-out", count=left))
    reasons = tuple(dict.fromkeys(_evidence(e, words) for e in _in_turn(failed.failures)))
    if reasons[: level.evidence]:
        yield Text(words("ci.evidence"))
        yield Items(reasons[: level.evidence])
    if failed.lines[: level.lines]:
        yield Text(words("ci.key-log"))
        yield Code(tuple(_line(n.number, n.text) for n in failed.lines[: level.lines]), "text")
        if len(failed.lines) > level.lines:
            yield Text(words("ci.log-shortened", count=level.lines))
    todo = advice((s for f in failed.failures[: level.failures] for s in f.suggestions), words)
    if todo:
        yield Text(words("ci.suggestions"))
        yield Items(todo[: max(level.failures, 3)], numbered=True)
    related = tuple(dict.fromkeys(place(p) for f in failed.failures for p in f.related))
    if related:
        yield Text(words("ci.related", places=list(related[:8])))
    if failed.notes:
        yield Items(tuple(message(n, words) for n in failed.notes))


def _facts(failed: FailedJob, words: Catalog) -> Iterator[str]:
    job, main = failed.job, failed.main
    cause = words(f"ci.cause-{main.cause}")
    sure = words(f"ci.confidence-{main.confidence}")
    yield words("ci.detail-cause", cause=Escaped(cause), confidence=Escaped(sure))
    yield words("ci.detail-root", root=Escaped(root(main, words)))
    yield words("ci.detail-rerun", rerun=Escaped(words(f"ci.rerun-{main.rerun}")))
    if job.runner:
        yield words("ci.detail-runner", runner=job.runner)
    if job.seconds is not None:
        yield words("ci.detail-took", time=duration(job.seconds, words))
    if link := links(job, words):
        yield link


def _table(failed: FailedJob, words: Catalog, level: Level) -> Table:
    header = tuple(words(f"ci.{key}") for key in ("failure-test", "failure-error", "failure-cause"))
    return Table(header, tuple(_failure(f, words) for f in failed.failures[: level.failures]))


def _failure(failure: Failure, words: Catalog) -> tuple[str, ...]:
    test = words.style.code(failure.test) if failure.test else words("ci.whole-job")
    error = cut(failure.error, _LONGEST)
    cause = words(f"ci.cause-{failure.cause}")
    why = words("ci.cause-and-root", cause=Escaped(cause), root=Escaped(root(failure, words)))
    return test, words.style.code(error) if error else "", why


def _in_turn(failures: Iterable[Failure]) -> Iterator[Evidence]:
    """The first piece of every failure's evidence, then the second of each. That a JUnit file has a failure which the
    table shows is worth saying only where nothing else is known."""
    for row in zip_longest(*(_telling(f) for f in failures)):
        yield from (e for e in row if e is not None)


def _telling(failure: Failure) -> tuple[Evidence, ...]:
    return tuple(e for e in failure.evidence if e.message.key != Reason.JUNIT) or failure.evidence


def _evidence(evidence: Evidence, words: Catalog) -> str:
    said = message(evidence.message, words)
    if evidence.location is not None:
        said += words("ci.evidence-place", place=evidence.location)
    if evidence.line is not None and evidence.line.number:
        said += words(
            "ci.evidence-line", number=evidence.line.number, text=cut(evidence.line.text, _LONGEST)
        )
    if evidence.past is not None:
        said += words("ci.evidence-past", **where(evidence.past, words))
    return said


def where(past: Past, words: Catalog) -> dict[str, str]:
    """Where and when a past result was seen, as arguments."""
    seen = words(f"ci.where-{past.where}", pull=past.pull or "")
    return {"where": Escaped(seen), "date": f"{past.date:%Y-%m-%d}", "commit": past.commit[:12]}


def _line(number: int, text: str) -> str:
    said = cut(text, _LONGEST)
    return f"{number}: {said}" if number else said
