"""What the child that writes a pull request's pages does: a job in, HTML by kind and language
out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from bot.analysis import run_analysis
from bot.git import Git, Range
from bot.i18n.catalog import LANGUAGES, Catalog
from bot.pipeline import open_change, run_review
from bot.reports import analysis, document, html
from bot.reports.analysis import AnalysisReport
from bot.reports.code_links import links_of
from bot.reports.pictures import Push, findings_over_pushes
from checks.core.change import PullRequest
from checks.core.finding import Severity
from checks.review import Review
from checks.summary.discussion import ReviewComment, Thread

Json = dict[str, Any]
Bodies = dict[str, dict[str, str]]


def pages(job: Json) -> Bodies:
    """`analysis`, `review` and `history`, each as the body of a page in every language. The job may
    have `threads`, what people said, and `pushes`, what the reviews before this one found."""

    def bodies(view: AnalysisReport, words: Catalog) -> dict[str, str]:
        pushes = [
            *(Push(**p) for p in job.get("pushes", ())),
            _push(view.report.review, job["head"]),
        ]
        links = links_of(view.report, job.get("web", ""))
        return {
            "analysis": links.in_html(html.body(analysis.document(view, words, pictures=True))),
            "review": links.in_html(html.body(document.document(view.report, words))),
            "history": html.body(findings_over_pushes(pushes, words)),
        }

    return _made(job, bodies)


def analysis_page(job: Json) -> Bodies:
    """`analysis` alone: the page on which there is what people say."""

    def body(view: AnalysisReport, words: Catalog) -> dict[str, str]:
        links = links_of(view.report, job.get("web", ""))
        return {"analysis": links.in_html(html.body(analysis.document(view, words, pictures=True)))}

    return _made(job, body)


def _made(job: Json, bodies: Callable[[AnalysisReport, Catalog], dict[str, str]]) -> Bodies:
    """The bodies of the change that a job names, by kind and language."""
    pull = PullRequest(job["title"], job["body"], target_branch=job["target"], known=True)
    compared, git = Range(job["base"], job["head"]), Git(Path(job["clone"]))
    with open_change(git, compared, pull) as change:
        threads = [_thread(t) for t in job["threads"]] if job.get("threads") is not None else None
        review = partial(run_review, change, skips=job.get("skips", ()))
        view = run_analysis(git, compared, change, review, threads)
        made = [bodies(view, html.words_for(language)) for language in LANGUAGES]
    return {
        kind: {name: m[kind] for name, m in zip(LANGUAGES, made, strict=True)} for kind in made[0]
    }


def _thread(data: Json) -> Thread:
    return Thread(**data | {"comments": tuple(ReviewComment(**c) for c in data["comments"])})


def _push(review: Review, head: str) -> Push:
    counts = Counter(f.severity for f in review.findings if not f.answered)
    return Push(head, counts[Severity.BUG], counts[Severity.SUGGESTION], counts[Severity.QUESTION])
