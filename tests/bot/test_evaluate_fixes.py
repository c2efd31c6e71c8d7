"""`specbot eval --fixes` and `--sample` on a history that git wrote: who is blamed, and what is
said."""

import json
import subprocess

import pytest

from bot.cli.main import main

FIRST = "def scale(rows, width):\n    return rows * width\n"
BROKEN = FIRST + "\n\ndef pick(rows, width):\n    return rows[: width + 1]\n"
COMMENTED = "# how rows are picked\n" + BROKEN.replace("rows[", "rows[  ")
FIXED = COMMENTED.replace("width + 1", "width")
GUARDED = FIXED.replace("    return rows[", "    if not rows:\n        return []\n    return rows[")
USE = "from engine import scale\n\n\ndef use(rows):\n    return scale(rows, 3)\n"


@pytest.fixture
def engine(tmp_path):
    """A repository: pick() is written wrong, its line is formatted anew, then mended."""
    repo = tmp_path / "engine"
    repo.mkdir()

    def commit(title, day, **files):
        for name, text in files.items():
            (repo / f"{name}.py").write_text(text, encoding="utf-8")
        run("add", "-A")
        when = f"{day}T12:00:00Z"
        run("commit", "-q", "-m", title, date=when)
        return run("rev-parse", "HEAD").strip()

    def run(*args, date="2026-01-01T00:00:00Z"):
        settings = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        environment = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "PATH": "/usr/bin:/bin"}
        return subprocess.run(
            ["git", *settings, *args], cwd=repo, env=environment, check=True, capture_output=True,
            text=True,
        ).stdout  # fmt: skip

    run("init", "-q")
    commits = {
        "first": commit("engine", "2026-01-01", engine=FIRST),
        "broken": commit("add pick", "2026-01-02", engine=BROKEN, use=USE),
        "formatted": commit("format", "2026-01-03", engine=COMMENTED),
        "fixed": commit("[BugFix] pick one too many", "2026-01-04", engine=FIXED),
        "guarded": commit("fix pick without rows", "2026-02-02", engine=GUARDED),
    }
    return repo, commits


def evaluate(repo, tmp_path, *more):
    out, pairs = tmp_path / "out.json", tmp_path / "pairs.jsonl"
    arguments = ["--pairs", str(pairs), "-o", str(out), "-j", "1", "--lang", "en", *more]
    code = main(["eval", "--repo", str(repo), *arguments])
    assert code == 0
    lines = pairs.read_text("utf-8").splitlines() if pairs.exists() else []
    return json.loads(out.read_text("utf-8")), [json.loads(line) for line in lines]


def test_a_fix_leads_to_the_commit_that_wrote_the_line(engine, tmp_path, capsys):
    repo, commits = engine
    data, (pair,) = evaluate(repo, tmp_path, "--fixes", "9", "--until", "2026-02-01")
    assert (pair["fix"], pair["head"], pair["base"]) == (
        commits["fixed"], commits["broken"], commits["first"],
    )  # fmt: skip
    # The line as it stood then: neither the comment above nor the blanks moved the blame.
    assert pair["places"] == [
        {"path": "engine.py", "line": 6, "function": "pick", "first": 5, "last": 6}
    ]
    assert data["fixes"]["all"]["pairs"] == 1
    assert data["fixes"]["changes"] == 1
    assert "0 = 0.0% (0.0%-79.3%)" in capsys.readouterr().out


def test_a_fix_that_only_adds_leads_to_the_code_beside(engine, tmp_path):
    repo, commits = engine
    _, (pair,) = evaluate(repo, tmp_path, "--fixes", "9", "--since", "2026-02-01")
    assert (pair["head"], pair["replaced"]) == (commits["broken"], False)
    assert [place["line"] for place in pair["places"]] == [5]


def test_the_first_commit_of_a_history_has_nothing_to_be_compared_with(engine, tmp_path):
    repo, _ = engine
    options = ("--fixes", "9", "--path", "use.py")
    assert main(["eval", "--repo", str(repo), "--lang", "en", *options]) == 2


def test_written_pairs_are_judged_again_without_mining(engine, tmp_path):
    repo, _ = engine
    data, pairs = evaluate(repo, tmp_path, "--fixes", "9")
    again, same = evaluate(repo, tmp_path, str(tmp_path / "pairs.jsonl"))
    assert same == pairs
    assert again["fixes"]["all"] == data["fixes"]["all"]


def test_pairs_of_a_repository_without_a_clone_are_left_out(engine, tmp_path, capsys):
    repo, _ = engine
    evaluate(repo, tmp_path, "--fixes", "9")
    pairs = str(tmp_path / "pairs.jsonl")
    assert main(["eval", pairs, "--repo", f"other={repo}", "--lang", "en"]) == 2
    assert "--fixes" in capsys.readouterr().err


def test_a_sample_is_always_the_same(engine, tmp_path):
    repo, commits = engine
    notes = tmp_path / "notes.jsonl"
    more = ("--sample", "2", "--since", "2026-01-02", "--resume", str(notes))
    first, _ = evaluate(repo, tmp_path, *more)
    second, _ = evaluate(repo, tmp_path, *more)
    assert first == second
    heads = [json.loads(line)["head"] for line in notes.read_text("utf-8").splitlines()]
    assert len(heads) == 2, "the second run found both noted"
    assert set(heads) <= set(commits.values()) - {commits["first"]}


def test_a_day_that_is_none(engine, capsys):
    repo, _ = engine
    assert (
        main(["eval", "--repo", str(repo), "--fixes", "1", "--since", "May", "--lang", "en"]) == 2
    )
    assert "2026-02-01" in capsys.readouterr().err
