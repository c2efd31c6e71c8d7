"""The pages served by a real server on 127.0.0.1, filled with pull requests and with real analyses
of the example."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
import uvicorn
from starlette.applications import Starlette

from bot.cli.serve import open_listener
from bot.db.repositories import Repositories
from bot.db.sessions import Sessions
from bot.sandbox.programs.pages import pages
from bot.web.access import Access
from bot.web.ci_grid import CommitJobs
from bot.web.page_store import PageReport, PageStore, PullRow
from bot.web.routes import routes
from checks.summary.discussion import ReviewComment, Thread
from tests.example.build import build
from tests.web import reports

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)> \"'`{{ 7*7 }}"
NOW = 1_790_000_000.0


@dataclass(frozen=True)
class Site:
    url: str
    archive: PageStore
    engine: sa.Engine


def serve(archive: PageStore, access: Access) -> Iterator[str]:
    listener = open_listener("127.0.0.1", 0)
    config = uvicorn.Config(
        Starlette(routes=routes(archive, access, "https://github.example")),
        log_config=None,
        lifespan="off",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(10)
    listener.close()


def archive_at(path: Path) -> tuple[PageStore, sa.Engine]:
    engine = sa.create_engine(f"sqlite:///{path}")
    return PageStore(engine), engine


def pull(number: int, **more: object) -> PullRow:
    values: dict[str, object] = {
        "repository": "octo/engine",
        "number": number,
        "title": f"Pack word {number}",
        "author": "ann",
        "private": False,
        "state": "open",
        "head": f"{number:040x}",
        "opened_at": NOW - 86400.0 * number,
        "updated_at": NOW - number,
    }
    return PullRow(**(values | more))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("pages")
    archive, engine = archive_at(folder / "pages.sqlite")
    repo = build(folder / "example", "first-push").repo
    job = {"clone": str(repo), "base": "base", "head": "head", "target": "release/1.4"}
    said = ReviewComment("mallory", f"This is wrong: {HOSTILE}")
    threads = [
        asdict(Thread((said,), "lantern/output/token_processor.py", 85, url="javascript:alert(1)"))
    ]
    made = pages(
        {**job, "title": HOSTILE, "body": f"## Motivation\n{HOSTILE}\n", "threads": threads}
    )
    archive.keep_pull(pull(1, title=HOSTILE, verdict="block", bugs=4, suggestions=3))
    for kind, bodies in made.items():
        archive.keep_report(
            PageReport("octo/engine", 1, kind, f"{1:040x}", NOW, bodies, "block", 4, 3)
        )
    for kind, (bodies, verdict) in reports.made(HOSTILE).items():
        archive.keep_report(PageReport("octo/engine", 1, kind, f"{1:040x}", NOW, bodies, verdict))
    for run in reports.commits(HOSTILE, "octo/engine", 1, f"{1:040x}"):
        CommitJobs(engine).keep(run)
    for number in range(2, 121):
        state = "merged" if number % 3 == 0 else "open"
        archive.keep_pull(pull(number, state=state, verdict="pass" if number % 2 else "discuss"))
    archive.keep_pull(pull(500, repository="octo/secret", title="Hidden work", private=True))
    archive.keep_report(
        PageReport(
            "octo/secret", 500, "review", "a" * 40, NOW, {"zh": "<p>x</p>", "en": "<p>secret</p>"}
        )
    )
    for url in serve(archive, Access(None, Sessions(archive.engine), Repositories(archive.engine))):
        yield Site(url, archive, engine)


@pytest.fixture(scope="session")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no Chromium on this machine")
    return found
