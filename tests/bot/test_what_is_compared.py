"""What a command looks at: ranges, what is not committed, names that were mistyped."""

from __future__ import annotations

import json

import pytest


def report(specbot, repo, *args: str) -> dict:
    done = specbot("review", "--repo", repo.path, "--format", "json", "--fail-on", "never", *args)
    assert done.code == 0, done.err
    return json.loads(done.out)


def changed(data: dict) -> list[str]:
    return [file["path"] for file in data["facts"]["files"]]


@pytest.fixture
def branches(repo):
    """`main` and `topic` have each gone on from the same commit."""
    repo.commit({"a.py": "x = 1\n"})
    repo.git("checkout", "-qb", "topic")
    repo.commit({"topic.py": "x = 1\n"})
    repo.git("checkout", "-q", "main")
    repo.commit({"main.py": "def other(rows):\n    return len(rows)\n"})
    return repo


@pytest.mark.parametrize(
    ("given", "files"),
    [
        ("main..topic", ["main.py", "topic.py"]),
        ("main...topic", ["topic.py"]),
        ("main~..", ["main.py"]),
        ("...topic", ["topic.py"]),
    ],
)
def test_two_dots_and_three(specbot, branches, given, files):
    assert changed(report(specbot, branches, given)) == files


def test_staged_and_worktree(specbot, repo):
    repo.commit({"a.py": "x = 1\n", "b.py": "y = 1\n", ".gitignore": "*.log\n"})
    (repo.path / "a.py").write_text("x = 2\n")
    repo.git("add", "a.py")
    (repo.path / "b.py").write_text("y = 2\n")
    (repo.path / "new.py").write_text("z = 1\n")
    (repo.path / "out.log").write_text("noise\n")
    before = repo.git("status", "--porcelain"), repo.git("count-objects")
    assert changed(report(specbot, repo, "--staged")) == ["a.py"]
    first = report(specbot, repo, "--worktree")
    assert changed(first) == ["a.py", "b.py", "new.py"]
    assert first == report(specbot, repo, "--worktree")
    assert (repo.git("status", "--porcelain"), repo.git("count-objects")) == before


def test_nothing_to_compare_beside_uncommitted_changes(specbot, repo):
    repo.commit({"a.py": "x = 1\n"})
    clean = specbot("review", "--repo", repo.path).out
    assert "no difference between" in clean and "✅" not in clean and "--staged" not in clean
    (repo.path / "a.py").write_text("x = 2\n")
    dirty = specbot("review", "--repo", repo.path).out
    assert "`--staged`" in dirty and "`--worktree`" in dirty and "✅" not in dirty


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("revew",), "the nearest is `review`"),
        (("review", "--formt", "json"), "no option `--formt`; the nearest is `--format`"),
        (("review", "--format", "markdwn"), "the nearest is `markdown`"),
        (("review", "--format", "html"), "there are `terminal`, `markdown`, `json`, `sarif`"),
        (("try", "--last", "0"), "`--last` cannot be `0` (see specbot try --help)"),
        (("try", "-j", "many"), "`--jobs` cannot be `many`"),
        (("logprobs", "dif"), "the nearest is `diff`"),
        (("logprobs", "xyzzy"), "There is no `xyzzy`; there are `convert`"),
        (("completion", "tcsh"), "There is no `tcsh`; there are `bash`, `zsh`, `fish`.\n"),
        (("try", "--repo", "."), "`specbot try` has no option `--repo`.\n"),
        (("rules", "no.such-rule"), "There is no rule `no.such-rule`.\n"),
        (("rules", "unmasked"), "the nearest is `protocol.unmasked-pack`"),
        (("review", "a..b", "--staged"), "in one way only"),
    ],
)
def test_a_mistyped_name_is_told_the_nearest(specbot, args, said):
    done = specbot(*args)
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1


def test_a_branch_that_was_never_fetched(specbot, repo):
    repo.commit({"a.py": "x = 1\n"})
    repo.git("remote", "add", "origin", "https://example.invalid/a.git")
    done = specbot("review", "--repo", repo.path, "--base", "origin/main")
    assert done.code == 2 and "run `git fetch origin main` first" in done.err


def test_columns_and_forced_colour(specbot, branches, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = specbot("review", "--repo", branches.path, "main..topic").out
    assert "\x1b[1m" in shown
    monkeypatch.delenv("FORCE_COLOR")
    plain = specbot("review", "--repo", branches.path, "main..topic").out
    assert max(len(line) for line in plain.splitlines() if "`" not in line) <= 50


def test_completion(specbot):
    assert specbot("completion", "words", "review", "--format").out.split()[0] == "terminal"
    assert "--staged" in specbot("completion", "words", "review").out.split()
    assert "review" in specbot("completion", "words").out.split()
    for shell in ("bash", "zsh", "fish"):
        assert "specbot completion words" in specbot("completion", shell).out
    assert "{bash,zsh,fish}" in specbot("completion", "--help").out


def test_a_negative_number_in_the_configuration(specbot, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text("[title]\nmost_tags = -1\n")
    done = specbot("config", "check", str(file))
    assert done.code == 2 and "must not be negative" in done.err
