"""The body of a tab, in every language: a report of CI, of kernels or of logprobs as HTML.

Whoever has such a report keeps it in the `PageStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from bot.i18n.catalog import LANGUAGES, Catalog
from bot.redact import redact
from bot.reports import ci, html, kernelpairs, logprobs, logprobs_pictures, pictures
from bot.reports.blocks import Block, Heading
from bot.reports.ci import CIView
from bot.reports.roofline import roofline
from checks.ci.model import Requirement
from checks.ci.report import CIReport
from checks.logprobs.compare import ComparisonOutcome

Bodies = dict[str, str]


def ci_tab(view: CIView) -> Bodies:
    """The tab `ci`, with secrets out."""

    def document(words: Catalog) -> Iterator[Block]:
        yield from ci.document(view, words)
        yield from pictures.ci_timeline(view.report.run, words)

    bodies = _in_every_language(document)
    return {language: redact(body) for language, body in bodies.items()}


def ci_verdict(report: CIReport) -> str:
    """How CI stands, as the board shows it: `failed`, `running` or `passed`; empty where there is
    none. A task that no merge waits for fails nothing."""
    for failure in report.failed:
        if failure.job.failed and failure.job.requirement is not Requirement.OPTIONAL:
            return "failed"
    if report.running or report.missing:
        return "running"
    return "passed" if report.run.jobs else ""


def kernels_tab(report: kernelpairs.KernelReport) -> Bodies:
    """The tab `kernels`: base against head."""

    def document(words: Catalog) -> Iterator[Block]:
        yield from kernelpairs.blocks(report, words)
        yield from pictures.kernel_ratios(report, words)
        yield from roofline(report, words)

    return _in_every_language(document)


def kernels_verdict(report: kernelpairs.KernelReport) -> str:
    """`worse`, `fine`, or `apart` where base and head ran on different devices."""
    if any(judged.comparison.apart for judged in report.judged):
        return "apart"
    return "worse" if report.worse else "fine"


def logprobs_tab(found: Mapping[str, ComparisonOutcome]) -> Bodies:
    """The tab `logprobs`: verdicts of `specbot logprobs diff` by what head was compared with, a key
    of `comments`."""

    def document(words: Catalog) -> Iterator[Block]:
        for key, outcome in found.items():
            yield Heading(2, words(f"comments.{key}"))
            yield from logprobs.blocks(outcome, words)
            yield from logprobs_pictures.pictures(outcome, words)

    return _in_every_language(document)


def _in_every_language(document: Callable[[Catalog], Iterable[Block]]) -> Bodies:
    return {language: html.body(document(html.words_for(language))) for language in LANGUAGES}
