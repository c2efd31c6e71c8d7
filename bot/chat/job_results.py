"""Results of a job of the repository's own: its tests, and its logprobs against the base's and the baseline's."""

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
from checks.logprobs.compare import Outcome as Comparison

_MOST = 20


def judge_tests(data: bytes, words: Catalog) -> RunOutcome:
    """What a JUnit file says. One that cannot be read to its end is no success."""
    found = read(BytesIO(data))
    counts = {
        "failed": len(found.failed),
        "passed": len(found.passed),
        "skipped": len(found.skipped),
    }
    lines = [words("comments.run-tests", **counts)]
    lines += [
        words("comments.run-test", test=case.test, message=case.message)
        for case in found.failed[:_MOST]
    ]
    if len(found.failed) > _MOST:
        lines.append(words("comments.run-tests-more", left=len(found.failed) - _MOST))
    text = lines[0] + "\n\n" + "\n".join(f"- {line}" for line in lines[1:])
    if found.failed:
        return RunOutcome("failure", "run-tests-failed", text)
    good = bool(found.passed) and found.problem is None
    return (
        RunOutcome("success", "run-fine", text)
        if good
        else RunOutcome("failure", "run-tests-unreadable", text)
    )


def judge_logprobs(head: Path, base: Path | None, store: Path, words: Catalog) -> RunOutcome:
    """Head's records against base's, and against the baseline with the same key, where there are any.

    Raises `UserError` for records that cannot be read.
    """
    found = compare_logprobs(head, base, store)
    if not found:
        return RunOutcome("neutral", "run-no-baseline", words("comments.run-no-baseline"))
    worst = min(found.values(), key=lambda one: one.safe)
    tabs = (PageTab("logprobs", str(worst.verdict), tab_html.logprobs_tab(found)),)
    parts = [
        (words(f"comments.{key}"), logprob_report.render(one, "markdown", words.language))
        for key, one in found.items()
    ]
    text = "\n\n".join(f"## {title}\n\n{said.strip()}" for title, said in parts)
    key = "run-fine" if worst.safe else "run-logprobs"
    return RunOutcome("success" if worst.safe else "failure", key, text, tabs)


def compare_logprobs(head: Path, base: Path | None, store: Path) -> dict[str, Comparison]:
    """The comparisons there can be: `run-against-base` and `run-against-baseline`."""
    sides = {"run-against-base": base, "run-against-baseline": _baseline(head, store)}
    return {
        key: compare(str(side), str(head), jobs=1)
        for key, side in sides.items()
        if side is not None
    }


def _baseline(head: Path, store: Path) -> Path | None:
    first = next(read_records(str(head)), None)
    if first is None:
        raise UserError("accept-none", path=head.name)
    there = FolderStore(store)
    try:
        return there.root / find(there, first.origin.key).file
    except UserError as error:
        if error.key != "baseline-none":
            raise
        return None
