"""A copy of what the service knows, its return, and its end."""

from __future__ import annotations

import io
import os
import sqlite3
import tarfile
import time
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.cli.main import main
from bot.db.commands import Records
from bot.db.deliveries import PullKey, open_store
from bot.settings import load
from bot.web.page_store import PageReport, PageStore
from tests.fake_github import FakeGitHub, people
from tests.workflows.conftest import ended, until
from tests.workflows.databases import missing, postgres

DAY = 24 * 3600.0


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake = FakeGitHub(tmp_path / "github")
    for name, value in {
        "SPECBOT_APP_ID": "1",
        "SPECBOT_PRIVATE_KEY": fake.private_key,
        "SPECBOT_WEBHOOK_SECRETS": "long-enough-a-secret",
        "SPECBOT_DATA_DIR": str(tmp_path / "data"),
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "data").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def server():
    if missing():
        yield ""
        return
    with postgres() as url:
        yield url


def page(number: int, at: float) -> PageReport:
    return PageReport("octo/engine", number, "review", "a" * 40, at, {"zh": "<p>", "en": "<p>"})


def fill() -> None:
    store = open_store(load(None))
    Records(store.engine).skip(PullKey(1, 2), "kernel.barrier", "ada", "known")
    PageStore(store.engine).keep_report(page(2, time.time()))
    PageStore(store.engine).keep_report(page(3, time.time() - 400 * DAY))
    store.close()


def held() -> tuple[list, int]:
    store = open_store(load(None))
    skips = Records(store.engine).skips(PullKey(1, 2))
    with store.engine.connect() as connection:
        count = connection.execute(sa.text("SELECT COUNT(*) FROM specbot_page_reports"))
        reports = int(count.scalar_one())
    store.close()
    return skips, reports


def test_a_backup_has_what_is_in_no_file_yet(configured, capfd):
    """It is made while another connection holds what was written last in the log beside it."""
    fill()
    database = configured / "data" / "specbot.sqlite"
    with closing(sqlite3.connect(database)) as other:
        other.execute("PRAGMA journal_mode=WAL")
        other.execute("UPDATE specbot_skips SET reason = 'the last word'")
        other.commit()
        assert main(["data", "backup", "-o", str(configured / "b.tar.gz"), "--lang", "en"]) == 0
    assert main(["data", "backup", "-o", str(configured / "b.tar.gz"), "--lang", "en"]) == 2
    assert main(["data", "restore", str(configured / "b.tar.gz"), "--lang", "en"]) == 2
    assert "not empty" in capfd.readouterr().err
    for file in (configured / "data").iterdir():
        file.unlink()
    assert main(["data", "restore", str(configured / "b.tar.gz"), "--lang", "en"]) == 0
    skips, reports = held()
    assert [skip["reason"] for skip in skips] == ["the last word"] and reports == 2
    assert (configured / "b.tar.gz").stat().st_mode & 0o077 == 0


def test_the_same_of_postgresql(server, configured, monkeypatch, capfd):
    if not server:
        pytest.skip(missing())
    monkeypatch.setenv("SPECBOT_DATABASE_URL", server)
    fill()
    archive = str(configured / "b.tar.gz")
    assert main(["data", "backup", "-o", archive]) == 0, capfd.readouterr().err
    assert main(["data", "restore", archive, "--lang", "en"]) == 2
    engine = sa.create_engine(server.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        for statement in (
            "DROP SCHEMA public CASCADE",
            "DROP SCHEMA dbos CASCADE",
            "CREATE SCHEMA public",
        ):
            connection.execute(sa.text(statement))
    engine.dispose()
    assert main(["data", "restore", archive]) == 0, capfd.readouterr().err
    skips, reports = held()
    assert [skip["reason"] for skip in skips] == ["known"] and reports == 2


def test_what_is_old_goes_and_one_repository_goes_whole(configured, capfd):
    fill()
    assert main(["data", "purge", "--lang", "en"]) == 0
    assert "Deleted 1 report" in capfd.readouterr().out
    assert held()[1] == 1
    assert main(["data", "purge", "--repository", "octo/engine", "--lang", "en"]) == 0
    assert held()[1] == 0


@pytest.mark.hostile("archives")
@pytest.mark.parametrize("data", [b"", b"no archive", b"\x1f\x8b\x08\x00"])
def test_what_is_no_backup_is_said_in_a_sentence(configured, capfd, data):
    (configured / "x").write_bytes(data)
    assert main(["data", "restore", str(configured / "x"), "--lang", "en"]) == 2
    assert "no whole backup" in capfd.readouterr().err


def _archive(name: str, kind: bytes, linked: str) -> bytes:
    """An archive of one member."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, linked, 4 if kind == tarfile.REGTYPE else 0
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        archive.addfile(member, io.BytesIO(b"data"))
    return made.getvalue()


@pytest.mark.hostile("archives")
@pytest.mark.parametrize(
    ("name", "kind", "linked"),
    [
        ("../outside", tarfile.REGTYPE, ""),
        ("/tmp/../outside", tarfile.REGTYPE, ""),
        ("inside", tarfile.SYMTYPE, "/etc/passwd"),
        ("inside", tarfile.LNKTYPE, "../outside"),
        ("inside", tarfile.FIFOTYPE, ""),
    ],
)
def test_a_backup_that_reaches_out_is_refused(configured, capfd, name, kind, linked):
    (configured / "x").write_bytes(_archive(name, kind, linked))
    assert main(["data", "restore", str(configured / "x"), "--lang", "en"]) == 2
    assert "no whole backup" in capfd.readouterr().err


def test_a_worker_removes_clones_that_nobody_used(fake, bot, repo):
    bot.start()
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: ended(repo, pull.head_sha))
    bot.kill()
    clone = bot.clone(repo)
    long_ago = time.time() - 40 * DAY
    os.utime(clone / "specbot.lock", (long_ago, long_ago))
    bot.start(SPECBOT_KEEP_CLONES_DAYS="30")
    until(lambda: not clone.exists())
