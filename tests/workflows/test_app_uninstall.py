"""`specbot app uninstall` and `digest`: the way out, and what is read on the way in."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bot.cli.main import main
from bot.db.engine import engine_for
from bot.web.page_store import PageReport, PageStore, PullRow
from tests.fake_github import FakeGitHub
from tests.workflows.conftest import small


@pytest.fixture
def settings(fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of settings, with a data folder that exists."""
    small(fake)
    monkeypatch.setenv("GITHUB_API_URL", fake.url)
    monkeypatch.setenv("GITHUB_SERVER_URL", fake.url)
    key = tmp_path / "key.pem"
    key.write_text(fake.private_key)
    (tmp_path / "data").mkdir()
    path = tmp_path / "specbot.toml"
    path.write_text(
        f"app_id = {fake.app_id}\nprivate_key_file = '{key}'\nwebhook_secrets = ['0123456789abcdef']\n"
        f"data_dir = '{tmp_path / 'data'}'\n"
    )
    return path


def run(settings: Path, *arguments: str) -> int:
    return main(["app", *arguments, "--config", str(settings), "--lang", "en"])


def test_nothing_is_uninstalled_without_yes(fake, settings, capsys) -> None:
    count = len(fake.installations)
    assert count
    assert run(settings, "uninstall") == 1
    assert len(fake.installations) == count
    assert "Would be taken off `octo`" in capsys.readouterr().out


def test_uninstall_is_one_command_and_says_what_remains(fake, settings, capsys) -> None:
    assert run(settings, "uninstall", "--yes") == 0
    assert fake.installations == []
    said = capsys.readouterr().out
    assert "Taken off `octo`" in said
    assert str(settings.parent / "data") in said
    assert str(settings) in said
    assert "specbot.sqlite" in said
    assert run(settings, "uninstall") == 0


def test_digest_counts_what_was_reviewed_in_those_days(settings, capsys) -> None:
    store = PageStore(engine_for(f"sqlite:///{settings.parent / 'data/specbot.sqlite'}"))
    now = time.time()
    for number, age in ((1, 1), (2, 3), (3, 30)):
        at = now - age * 24 * 3600.0
        row = PullRow("octo/engine", number, f"change {number}", "ada", False, "open", "c0ffee",
                      at, at, verdict="block", bugs=number)  # fmt: skip
        store.keep_pull(row)
        store.keep_report(
            PageReport("octo/engine", number, "review", "c0ffee", at, {"zh": "", "en": ""})
        )
    assert run(settings, "digest", "--format", "markdown") == 0
    said = capsys.readouterr().out
    assert "2 pull requests were reviewed" in said
    assert said.index("change 2") < said.index("change 1")
    assert "change 3" not in said
