"""Pictures of the board and of a pull request's page, for the README: `python -m
tests.web.screenshots`."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from bot.db.repositories import Repositories
from bot.db.sessions import Sessions
from bot.git import Git, Range
from bot.pipeline import open_change, run_review
from bot.reports import format_named
from bot.reports.ci import CIView
from bot.sandbox.programs.pages import pages
from bot.web.access import Access
from bot.web.page_store import PageReport
from bot.web.tab_html import ci_tab
from checks.core.change import PullRequest
from tests.example.build import VARIANTS, Example, build
from tests.web import reports
from tests.web.conftest import archive_at, pull, serve

FOLDER = Path(__file__).parent / "screenshots"


def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        print("no Chromium on this machine", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive, _ = archive_at(folder / "pages.sqlite")
        now = time.time()
        bodies_of_ci = ci_tab(CIView(reports.ci("packed 3 instead of 5123")))
        for number, variant in enumerate(sorted(VARIANTS), 408):
            made = build(folder / variant, variant)
            bodies = pages(
                {
                    "clone": str(made.repo),
                    "base": "base",
                    "head": "head",
                    "target": made.target_branch,
                    "title": made.title,
                    "body": made.body,
                }
            )
            findings = _open_findings(made)
            counts = Counter(f["severity"] for f in findings)
            verdict = "block" if counts["bug"] else "discuss" if findings else "pass"
            shown = pull(
                number,
                repository="lantern/engine",
                title=made.title,
                verdict=verdict,
                bugs=counts["bug"],
                suggestions=counts["suggestion"],
                questions=counts["question"],
                opened_at=now - 9000.0 * (number - 407),
                updated_at=now - number,
            )
            archive.keep_pull(shown)
            where, how = (
                ("lantern/engine", number),
                (verdict, shown.bugs, shown.suggestions, shown.questions),
            )
            for kind, texts in bodies.items():
                archive.keep_report(PageReport(*where, kind, shown.head, now, texts, *how))
            stands = "failed" if counts["bug"] else "passed"
            archive.keep_report(PageReport(*where, "ci", shown.head, now, bodies_of_ci, stands))
        first = 408 + sorted(VARIANTS).index("first-push")
        for url in serve(
            archive, Access(None, Sessions(archive.engine), Repositories(archive.engine))
        ):
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
                )
                page = browser.new_page(viewport={"width": 1100, "height": 760}, locale="en-US")
                for path, file in (("/", "board.png"), (f"/pr/lantern/engine/{first}", "pull.png")):
                    page.goto(url + path)
                    page.screenshot(path=FOLDER / file)
                browser.close()
    return 0


def _open_findings(made: Example) -> list[dict[str, Any]]:
    """What the review of a variant says about its code."""
    with open_change(Git(made.repo), Range("base", "head"), PullRequest()) as change:
        text = format_named("json").render(run_review(change), "en")
    return [
        f
        for f in json.loads(text)["findings"]
        if not f["answered"] and f["severity"] != "convention"
    ]


if __name__ == "__main__":
    sys.exit(main())
