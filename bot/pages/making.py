"""What the child that writes a pull request's pages does: a job in, HTML by kind and language out."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

# Half a second, which every page would take anew if the process that its child is forked from had not read them.
import matplotlib.backends.backend_svg
import matplotlib.figure  # noqa: F401

from bot.analysing import analysed
from bot.git import Git, Range
from bot.pages.bodies import of_pushes
from bot.reports import analysis, document, html
from bot.reports.charts import stacked_bars
from bot.reports.pictures import Push
from bot.reviewing import opened, reviewed
from bot.words import LANGUAGES
from checks.analysis.discussion import Comment, Thread
from checks.change import PullRequest
from checks.finding import Severity
from checks.review import Review


def pages(job: dict[str, Any]) -> dict[str, dict[str, str]]:
    """`analysis`, `review` and `history`, each as the body of a page in every language. The job may have `threads`,
    what people said, and `pushes`, what the reviews before this one found."""
    pull = PullRequest(job["title"], job["body"], target_branch=job["target"], known=True)
    compared, git = Range(job["base"], job["head"]), Git(Path(job["clone"]))
    with opened(git, compared, pull) as change:
        threads = [_thread(t) for t in job["threads"]] if job.get("threads") is not None else None
        review = partial(reviewed, change, skips=job.get("skips", ()))
        view = analysed(git, compared, change, review, threads)
        report = view.report
        made: dict[str, dict[str, str]] = {"analysis": {}, "review": {}}
        for language in LANGUAGES:
            words = html.words_for(language)
            made["analysis"][language] = html.body(analysis.document(view, words, stacked_bars))
            made["review"][language] = html.body(document.document(report, words))
    pushes = [Push(**p) for p in job.get("pushes", ())]
    return made | {"history": of_pushes([*pushes, _push(report.review, job["head"])])}


def _thread(data: dict[str, Any]) -> Thread:
    return Thread(**data | {"comments": tuple(Comment(**c) for c in data["comments"])})


def _push(review: Review, head: str) -> Push:
    counts = Counter(f.severity for f in review.findings if not f.answered)
    return Push(head, counts[Severity.BUG], counts[Severity.SUGGESTION], counts[Severity.QUESTION])
