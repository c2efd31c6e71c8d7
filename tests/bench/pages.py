"""Prints how fast pages are: from the archive, the board over a thousand pull requests, and one
built fresh.

python -m tests.bench.pages [--repo DIR --base REV --head REV] [-n TIMES]

The service builds it in a clone of its own, which is made and indexed here as after the review of a
pull request.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

import httpx

from bot.db.repositories import Repositories
from bot.db.sessions import Sessions
from bot.git import Git, Range, resolve
from bot.github.app import ANALYSE, App, Endpoint
from bot.github.checkout import Checkouts
from bot.sandbox.client import render_analysis_page
from bot.web.access import Access
from bot.web.page_store import PageReport
from tests.bench.scratch import Scratch
from tests.example.build import build
from tests.fake_github import FakeGitHub, serving
from tests.web import reports
from tests.web.conftest import NOW, archive_at, pull, serve

ROOT = Path(__file__).resolve().parents[2]
PULLS = 1000
_CI = ("passed", "failed", "running")
# A page of a change with forty files is as large.
_LARGE = 300_000
# What the same server answers without looking anything up.
_FLOOR = "/style.css"
_PAGES = (
    "/pr/octo/engine/1",
    "/pr/octo/engine/1?tab=ci",
    "/pr/octo/engine/1?tab=history",
    "/",
    "/?q=word+7&state=all&waiting=author&ci=failed",
    "/?state=all&page=20",
)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.pages", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--repo", type=Path, help="a checkout; without it the bundled example")
    parser.add_argument("--base", default="base")
    parser.add_argument("--head", default="head")
    parser.add_argument(
        "-n", "--times", type=int, default=50, help="requests for each number (default 50)"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repo = args.repo or build(folder / "example", "first-push").repo
        _served(folder, args.times)
        for what, build_page in (
            (
                "built fresh by the service, zh and en",
                _by_the_service(repo, args.base, args.head, folder),
            ),
            (
                "built fresh, a process from its start",
                lambda: _fresh(repo, args.base, args.head, folder),
            ),
        ):
            _show(what, *_timed(build_page, 5))


def _served(folder: Path, times: int) -> None:
    """Pages over HTTP, from a database of a thousand pull requests with a report each."""
    archive, _ = archive_at(folder / "pages.sqlite")
    bodies = {language: "<p>word</p>" * (_LARGE // 11) for language in ("zh", "en")}
    for number in range(1, PULLS + 1):
        one = pull(number, verdict=("pass", "discuss", "block")[number % 3])
        archive.keep_pull(one)
        small = {"zh": "", "en": ""}
        archive.keep_report(
            PageReport("octo/engine", number, "ci", one.head, NOW, small, _CI[number % 3])
        )
    archive.keep_report(PageReport("octo/engine", 1, "analysis", f"{1:040x}", NOW, bodies, "block"))
    for kind, (made, verdict) in reports.made("a word").items():
        archive.keep_report(PageReport("octo/engine", 1, kind, f"{1:040x}", NOW, made, verdict))
    for url in serve(archive, Access(None, Sessions(archive.engine), Repositories(archive.engine))):
        with httpx.Client(base_url=url) as client:

            def ask(path: str) -> None:
                client.get(path).raise_for_status()

            print(
                f"Over HTTP, {PULLS} pull requests, {times} requests each; {os.cpu_count()} cores"
            )
            print(f"{'':44}{'median ms':>10}{'95 % ms':>10}{'x floor':>9}")
            floor = 0.0
            for path in (_FLOOR, *_PAGES):
                ask(path)
                middle, most = _timed(lambda path=path: ask(path), times)  # type: ignore[misc]
                floor = floor or middle
                _show(path, middle, most, floor)


def _by_the_service(repo: Path, base: str, head: str, folder: Path) -> Callable[[], object]:
    """What builds the page as after a comment; the process that children are forked from runs by
    then."""
    clone, compared = _cloned(repo, resolve(Git(repo), base, head, merge_base=True), folder)
    facts = {"title": "", "body": "", "target": "", "skips": (), "threads": ()}

    def built() -> dict[str, str]:
        return render_analysis_page(clone, compared, facts)

    built()
    return built


def _cloned(repo: Path, compared: Range, folder: Path) -> tuple[Path, Range]:
    """The service's clone, which has of the files what a page needs, from a GitHub that has all
    that `repo` has."""
    with serving(FakeGitHub(folder / "github")) as fake:
        served = fake.repository("octo/engine")
        objects = Scratch(folder / "source", repo).path / "objects"
        (served.git.directory / "objects" / "info" / "alternates").write_text(f"{objects}\n")
        served.git.set_ref("refs/heads/main", compared.base)
        served.git.set_ref("refs/heads/feature", compared.head)
        app = App(Endpoint(fake.url, fake.url, 0.0), fake.app_id, fake.private_key)
        token = app.token(fake.installations[0].id, served.id, ANALYSE)
        checkouts = Checkouts(folder / "clones", fake.url)
        made = checkouts.fetch("octo/engine", token, "main", compared.head, with_past=True)
        checkouts.index(made[0])
        return made


def _fresh(repo: Path, base: str, head: str, folder: Path) -> None:
    args = [
        "--repo",
        str(repo),
        "--base",
        base,
        "--head",
        head,
        "--format",
        "html",
        "-o",
        str(folder / "page.html"),
    ]
    subprocess.run([sys.executable, "-m", "bot", "analyze", *args], cwd=ROOT, check=True)


def _timed(act: Callable[[], None], times: int) -> tuple[float, float]:
    """(median, 95 of 100) in seconds."""
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        act()
        spent.append(time.perf_counter() - started)
    return median(spent), quantiles(spent, n=20, method="inclusive")[-1]


def _show(name: str, middle: float, most: float, floor: float | None = None) -> None:
    ratio = "" if floor is None else f"{middle / floor:9.1f}"
    print(f"{name:44}{1000 * middle:10.1f}{1000 * most:10.1f}{ratio}")


if __name__ == "__main__":
    main()
