"""`specbot try` over a history: the example's pull request, and a later fix of what it brought."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bot.cli.main import main
from checks.evaluation.outcome import ReportedFinding
from checks.evaluation.trial import JudgedCount, false_alarms
from tests import judged
from tests.example.build import build

SENDER = "custom_ops/gpu_ops/speculate_decoding/speculate_save_output_with_topk.cc"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trial") / "lantern"
    build(folder)
    path = folder / SENDER
    text = path.read_text("utf-8")
    unmasked = "message_flag | (max_num_logprobs << 8)"
    assert unmasked in text
    path.write_text(text.replace(unmasked, "(message_flag & 0xFF) | (max_num_logprobs << 8)"))
    _commit(folder, "[BugFix] mask the flag of the header word (#420)")
    return folder


def _commit(folder: Path, title: str) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *who, "commit", "--quiet", "--all", "-m", title]
    subprocess.run(command, cwd=folder, check=True)


def tried(repository: Path, *options: str) -> dict:
    page = repository.parent / "page"
    code = main(["try", str(repository), "--jobs", "1", "-o", str(page), *options])
    assert code == 0
    return json.loads(page.read_text("utf-8"))


def test_a_later_fix_is_found_with_what_was_said_of_its_line(repository: Path) -> None:
    data = tried(repository, "--last", "2", "--format", "json")
    mended, brought = data["changes"]
    assert mended["fixes"] == []
    assert {"protocol.unmasked-pack", "protocol.stale-fixture"} <= {
        finding["rule"] for finding in brought["findings"]
    }
    (fix,) = brought["fixes"]
    assert fix["title"] == "[BugFix] mask the flag of the header word (#420)"
    assert fix["places"][0]["path"] == SENDER
    assert "protocol.unmasked-pack" in fix["near"]
    assert data["later_fixes"] == data["near_fixes"] == 1


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("form", ["html", "markdown", "terminal"])
def test_the_page_has_the_fix_and_the_finding(repository: Path, language: str, form: str) -> None:
    page = repository.parent / f"page.{form}"
    options = ["--last", "2", "--format", form, "--lang", language, "--jobs", "1"]
    assert main(["try", str(repository), *options, "-o", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "protocol.unmasked-pack" in text
    assert "mask the flag of the header word" in text


def test_a_day_before_the_history_has_nothing(repository: Path, capsys) -> None:
    assert main(["try", str(repository), "--until", "1990-01-01", "--lang", "en"]) == 2
    assert "no merged change" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["no-folder", "a/b/c", "--upload-pack=x"])
def test_a_wrong_target_is_one_sentence(target: str, capsys) -> None:
    assert main(["try", "--lang", "en", "--", target]) == 2
    assert "neither a folder nor OWNER/REPO" in capsys.readouterr().err


def test_a_clone_that_git_refuses_is_one_sentence(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("GITHUB_SERVER_URL", tmp_path.as_uri())
    assert main(["try", "owner/name", "--lang", "en"]) == 2
    assert "cannot be cloned" in capsys.readouterr().err


def test_owner_and_name_are_cloned(repository: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "owner").mkdir()
    (tmp_path / "owner/name").symlink_to(repository)
    monkeypatch.setenv("GITHUB_SERVER_URL", tmp_path.as_uri())
    page = tmp_path / "page.json"
    arguments = ["try", "owner/name", "--last", "1", "--format", "json", "-o", str(page)]
    assert main([*arguments, "--jobs", "1"]) == 0
    assert json.loads(page.read_text("utf-8"))["repository"] == "owner/name"


def test_false_alarms_are_added_up_by_rule() -> None:
    counts = {"sync.key": JudgedCount(true=3, false=1)}
    findings = [_finding("sync.lost-writer"), _finding("kernel.barrier")]
    alarms = false_alarms(findings, counts)
    assert alarms.expected == pytest.approx(0.5)
    assert 0.5 < alarms.at_most < 2
    assert alarms.unread == 1


def _finding(rule: str) -> ReportedFinding:
    return ReportedFinding(rule, "bug", "a.py", 1, 1, "")


def test_the_counts_are_those_of_the_judged_findings() -> None:
    assert judged.COUNTS.read_text("utf-8") == judged.counted(), "run `python -m tests.judged`"


def test_a_file_is_refused_before_anything_is_cloned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The path has the form of OWNER/REPO.
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "cases.jsonl").write_text("", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["try", "bench/cases.jsonl", "--lang", "en"]) == 2
    assert "neither a folder nor OWNER/REPO" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["try"], ["eval", "--sample", "2", "--repo"]])
def test_a_repository_without_commits_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert main([*command, str(tmp_path), "--lang", "en"]) == 2
    assert "no commits yet" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--sample", "--history", "--fixes", "--jobs"])
def test_a_negative_number_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["eval", option, "-3", "--lang", "en"])
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    assert option in capsys.readouterr().err
