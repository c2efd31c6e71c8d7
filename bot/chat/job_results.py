"""Results of a job of the repository's own: its tests, and its logprobs against the base's and the
baseline's."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from bot.chat.page_tab import PageTab, RunOutcome
from bot.errors import UserError
from bot.i18n.catalog import Catalog
from bot.logprobs.diff import compare
from bot.logprobs.files import read_records
from bot.logprobs.store import FolderStore, find
from bot.reports import logprobs as logprob_report
from bot.web import tab_html
from checks.ci.junit import read
from checks.logprobs.compare import ComparisonOutcome

_MOST_LISTED = 20


def judge_tests(data: bytes, words: Catalog) -> RunOutcome:
    """What a JUnit file says. One that cannot be read to its end is no success."""
    results = read(BytesIO(data))
    summary = words(
        "comments.run-tests",
        failed=len(results.failed),
        passed=len(results.passed),
        skipped=len(results.skipped),
    )
    items = []
    for case in results.failed[:_MOST_LISTED]:
        sentence = words("comments.run-test", test=case.test, message=case.message)
        items.append(f"- {sentence}")
    left = len(results.failed) - _MOST_LISTED
    if left > 0:
        items.append(f"- {words('comments.run-tests-more', left=left)}")
    text = summary + "\n\n" + "\n".join(items)
    if results.failed:
        return RunOutcome("failure", "run-tests-failed", text)
    if not results.passed or results.problem is not None:
        return RunOutcome("failure", "run-tests-unreadable", text)
    return RunOutcome("success", "run-fine", text)


def judge_logprobs(head: Path, base: Path | None, store: Path, words: Catalog) -> RunOutcome:
    """Head's records against base's, and against the baseline with the same key, where there are
    any.

    Raises `UserError` for records that cannot be read.
    """
    comparisons = compare_logprobs(head, base, store)
    if not comparisons:
        return RunOutcome("neutral", "run-no-baseline", words("comments.run-no-baseline"))
    worst = min(comparisons.values(), key=lambda comparison: comparison.safe)
    tab = PageTab("logprobs", str(worst.verdict), tab_html.logprobs_tab(comparisons))
    parts = []
    for key, comparison in comparisons.items():
        report = logprob_report.render(comparison, "markdown", words.language)
        parts.append(f"## {words(f'comments.{key}')}\n\n{report.strip()}")
    text = "\n\n".join(parts)
    if worst.safe:
        return RunOutcome("success", "run-fine", text, (tab,))
    return RunOutcome("failure", "run-logprobs", text, (tab,))


def compare_logprobs(head: Path, base: Path | None, store: Path) -> dict[str, ComparisonOutcome]:
    """The comparisons there can be: `run-against-base` and `run-against-baseline`."""
    sides = {"run-against-base": base, "run-against-baseline": _baseline(head, store)}
    comparisons = {}
    for key, side in sides.items():
        if side is not None:
            comparisons[key] = compare(str(side), str(head))
    return comparisons


def _baseline(head: Path, store: Path) -> Path | None:
    """The baseline for what `head` records, None where there is none yet."""
    first = next(read_records(str(head)), None)
    if first is None:
        raise UserError("accept-none", path=head.name)
    folder = FolderStore(store)
    try:
        return folder.root / find(folder, first.origin.key).file
    except UserError as error:
        if error.key != "baseline-none":
            raise
        return None
