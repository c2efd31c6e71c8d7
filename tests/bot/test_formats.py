"""Every format of one review: valid, complete, and the same bytes each time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

import bot.reports
from bot.reports import FORMATS

SCHEMAS = Path(__file__).parent / "schemas"
OURS = Path(bot.reports.__file__).parent / "schema" / "review-1.json"
BODY = "Made faster.\n"


@pytest.fixture
def change(repo):
    """A pull request with a bug that has a fix, a question in context lines, one far away, and a
    rename."""
    filler = "".join(f"line{n} = {n}\n" for n in range(40))
    repo.commit(
        {
            "src/a.py": filler,
            "src/old.py": filler + "x\n",
            "far.py": "QUERY = 1\n" + filler,
            "gone.cu": "int x;\n",
        }
    )
    (repo.path / "src/old.py").rename(repo.path / "src/new.py")
    repo.commit(
        {
            "src/a.py": filler.replace("line20 = 20", "word = UNMASKED | (count << 8)").replace(
                "line22 = 22", "QUERY"
            ),
            "src/new.py": filler + "y\nz\n",
            "far.py": "QUERY = 1\n" + filler + "more = 1\n",
            "gone.cu": None,
        }
    )
    return ("review", "--repo", repo.path, "--base", "HEAD~1", "--head", "HEAD")


@pytest.fixture
def written(change, marker, specbot, tmp_path):
    body = tmp_path / "body.md"
    body.write_text(BODY)

    def run(form: str, *more: str) -> str:
        result = specbot(
            *change, "--title", "[Tag] NOTE", "--body-file", body, "--format", form, *more
        )
        assert result.code == 1 and result.err == "", result
        return result.out

    return run


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_two_runs_are_the_same_bytes(written, form, language):
    first = written(form, "--lang", language)
    assert first == written(form, "--lang", language)
    assert first.endswith("\n")


def valid(document: str, schema: Path) -> dict:
    data = json.loads(document)
    found = json.loads(schema.read_text())
    kind = jsonschema.validators.validator_for(found)
    kind.check_schema(found)
    kind(found, format_checker=kind.FORMAT_CHECKER).validate(data)
    return data


@pytest.mark.parametrize("language", ["zh", "en"])
def test_sarif(written, language):
    run = valid(written("sarif", "--lang", language), SCHEMAS / "sarif-2.1.0.json")["runs"][0]
    assert [r["level"] for r in run["results"]] == ["error", "note", "note"]
    (notice,) = run["invocations"][0]["toolExecutionNotifications"]
    assert notice["associatedRule"] == {"id": "marker.line"}
    (fix,) = run["results"][0]["fixes"]
    (edit,) = fix["artifactChanges"][0]["replacements"]
    assert edit["insertedContent"]["text"] == "word = MASKED | (count << 8)\n"
    assert edit["deletedRegion"] == {
        "startLine": 21,
        "startColumn": 1,
        "endLine": 22,
        "endColumn": 1,
    }


def test_rdjson(written):
    data = valid(written("rdjson"), SCHEMAS / "rdjson.json")
    assert [d["severity"] for d in data["diagnostics"]] == ["ERROR", "INFO", "INFO"]
    assert data["diagnostics"][0]["suggestions"][0]["text"] == "word = MASKED | (count << 8)\n"


def test_json(written):
    data = valid(written("json"), OURS)
    assert data["verdict"] == "block"
    first = data["findings"][0]
    assert first["message"]["zh"].startswith("标记 `word") and first["message"]["en"].startswith(
        "Marked `word"
    )
    assert {e["type"] for e in first["evidence"]} == {
        "Counterexample",
        "PredictedFailure",
        "Sibling",
        "Definition",
        "KernelRun",
        "History",
        "Step",
    }
    assert {f["status"] for f in data["facts"]["files"]} == {"M", "R", "D"}


def test_github(written, repo):
    data = json.loads(written("github"))
    assert data["commit_id"] == repo.git("rev-parse", "HEAD") and data["event"] == "COMMENT"
    bug, question = data["comments"]
    assert (bug["path"], bug["line"], bug["side"]) == ("src/a.py", 21, "RIGHT")
    assert "start_line" not in bug
    assert bug["body"].endswith("```suggestion\nword = MASKED | (count << 8)\n```\n")
    assert (question["path"], question["line"]) == ("src/a.py", 23)
    # The one that the diff does not show is told in the body.
    assert "`far.py:1`" in data["body"] and "far.py" not in [c["path"] for c in data["comments"]]


def test_markdown_has_every_part(written):
    text = written("markdown")
    for part in (
        "## Summary",
        "## Findings",
        "## Pull request conventions",
        "🔴 Not ready to merge",
        "<summary>The evidence for each finding, and what to do</summary>",
        "renamed from `src/old.py`",
        "| 🔴 Bug | `src/a.py:21` |",
        "[Tag] better",
        "Made faster.",
        "| `flag` | `256 (0x100)` | `0` | differs |",
        "`0x1500`",
        "`tests/a.py::test`",
        "+word = MASKED | (count << 8)",
    ):
        assert part in text, part
    assert "Not ready to merge" in text


def test_terminal_fits_eighty_columns_or_keeps_a_name_whole(written):
    from bot.reports.terminal import width_of

    for language in ("zh", "en"):
        for line in written("terminal", "--lang", language).split("\n"):
            assert "\x1b" not in line
            assert width_of(line) <= 80 or max(map(len, line.split())) > 30, line


def test_what_was_not_checked_is_not_said_to_be_clean(repo, specbot):
    repo.commit({"a.py": "x\n"})
    repo.git("checkout", "-qb", "feature")
    repo.commit({"a.py": "y\n"})
    common = ("review", "--repo", repo.path, "--base", "main")
    assert "`convention." not in specbot(*common).out
    checked = specbot(*common, "--title", "[Tag] words", "-v").out
    assert "`convention." in checked
    assert "Rules that were checked and found" in checked


def test_exit_codes(change, marker, specbot):
    assert specbot(*change).code == 1
    assert specbot(*change, "--fail-on", "never").code == 0
    assert specbot(*change[:-4], "--base", "HEAD", "--head", "HEAD").code == 0


def test_questions_do_not_fail_a_review(repo, marker, specbot):
    repo.commit({"a.py": "x\n"})
    repo.commit({"a.py": "QUERY\n"})
    for level in ("bug", "suggestion"):
        assert (
            specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--fail-on", level).code == 0
        )


def test_an_answered_question_asks_for_nothing(repo, marker, specbot):
    repo.commit({"a.py": "x\n"})
    repo.commit({"a.py": "ANSWER\n"})
    common = ("review", "--repo", repo.path, "--base", "HEAD~1")
    (found,) = valid(specbot(*common, "--format", "json").out, OURS)["findings"]
    assert (found["severity"], found["answered"]) == ("question", True)
    assert json.loads(specbot(*common, "--format", "json").out)["verdict"] == "pass"
    assert "✅ Settled" in specbot(*common).out and "❓" not in specbot(*common).out
    (result,) = valid(specbot(*common, "--format", "sarif").out, SCHEMAS / "sarif-2.1.0.json")[
        "runs"
    ][0]["results"]
    assert (result["kind"], result["level"]) == ("informational", "none")


def test_an_empty_diff(repo, marker, specbot):
    repo.commit({"a.py": "x\n"})
    for form in FORMATS:
        result = specbot("review", "--repo", repo.path, "--base", "main", "--format", form)
        assert (result.code, result.err) == (0, "")
    assert "no difference" in specbot("review", "--repo", repo.path, "--base", "main").out


def test_a_body_that_is_too_long(repo, marker, specbot, tmp_path):
    queries = "".join(f"QUERY {n} 中文😀\n" for n in range(3000))
    filler = "".join(f"line{n} = {n}\n" for n in range(4000))
    repo.commit({"a.py": queries + filler})
    repo.commit({"a.py": queries + filler + "end\n"})
    body = tmp_path / "body.md"
    body.write_text("```\n" + "中😀" * 30_000 + "\n```\n" + "line\n" * 20_000)
    result = specbot(
        "review",
        "--repo",
        repo.path,
        "--base",
        "HEAD~1",
        "--format",
        "github",
        "--title",
        "NOTE",
        "--body-file",
        body,
    )
    text = json.loads(result.out)["body"]
    assert 50_000 < len(text.encode("utf-16-le")) // 2 < 65_536
    assert "left out" in text
    opened = None
    for line in text.split("\n"):
        mark = line[: len(line) - len(line.lstrip("`"))]
        if opened is None and len(mark) >= 3:
            opened = mark
        elif opened is not None and line == opened:
            opened = None
    assert opened is None


def test_many_comments(repo, marker, specbot):
    repo.commit({"a.py": "x\n"})
    repo.commit({"a.py": "".join(f"QUERY {n}\n" for n in range(200))})
    data = json.loads(
        specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--format", "github").out
    )
    assert len(data["comments"]) == 40 and "`a.py:200`" in data["body"]


def test_a_path_that_json_cannot_name_gets_no_comment(repo, marker, specbot):
    repo.commit({"a.py": "x\n"})
    repo.commit({os.fsdecode(b"caf\xe9.py"): "UNMASKED\n"})
    for form in FORMATS:
        result = specbot("review", "--repo", repo.path, "--base", "HEAD~1", "--format", form)
        assert (result.code, result.err) == (1, "")
        if form == "github":
            data = json.loads(result.out)
            assert data["comments"] == [] and "`caf\\xe9.py:1`" in data["body"]
