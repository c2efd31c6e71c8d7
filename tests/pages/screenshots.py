"""Pictures of the board and of a pull request's page, for the README: `python -m tests.pages.screenshots`."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from bot.pages.access import Access
from bot.pages.archive import Report
from bot.pages.making import pages
from tests.example.build import VARIANTS, build
from tests.pages.conftest import archive_at, pull, serve

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
            bad = "stale-fixture" in bodies["review"]["en"]
            verdict = "block" if bad else "discuss"
            shown = pull(
                number, repository="lantern/engine", title=made.title, verdict=verdict, ci="failed" if bad else "passed"
            )
            times = {"opened_at": now - 9000.0 * (number - 407), "updated_at": now - number}
            archive.keep_pull(type(shown)(**{**{f: getattr(shown, f) for f in shown.__slots__}, **times}))
            for kind, texts in bodies.items():
                archive.keep_report(Report("lantern/engine", number, kind, shown.head, now, texts, 2.0, verdict))
        first = 408 + sorted(VARIANTS).index("first-push")
        for url in serve(archive, Access(None)):
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
                page = browser.new_page(viewport={"width": 1100, "height": 760}, locale="en-US")
                for path, file in (("/", "board.png"), (f"/pr/lantern/engine/{first}", "pull.png")):
                    page.goto(url + path)
                    page.screenshot(path=FOLDER / file)
                browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
