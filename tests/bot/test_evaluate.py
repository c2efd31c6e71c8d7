"""`specbot eval` on the bundled example: labelled cases, history, resuming, and bad input."""

import json
from pathlib import Path

import pytest

from bot.cli.main import main
from tests.example.build import build

STALE = "protocol.stale-fixture"


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    return build(Path(tmp_path_factory.mktemp("eval")) / "repo", "first-push")


def case(example, **fields):
    return {
        "id": "a",
        "kind": "bug",
        "base": example.base,
        "head": example.head,
        "rule": STALE,
        **fields,
    }


def evaluate(example, tmp_path, cases, *more):
    file, out = tmp_path / "cases.jsonl", tmp_path / "out.json"
    file.write_text("".join(json.dumps(c) + "\n" for c in cases), encoding="utf-8")
    code = main(
        [
            "eval",
            str(file),
            "--repo",
            str(example.repo),
            "--rule",
            STALE,
            "-j",
            "1",
            "-o",
            str(out),
            *more,
        ]
    )
    return code, json.loads(out.read_text("utf-8")) if out.exists() else None


def test_hits_misses_and_clean_changes_are_counted(example, tmp_path, capsys):
    cases = [
        case(example, id="hit", path="tests/output/test_token_processor.py", line=63),
        case(example, id="near", path="tests/output/test_token_processor.py", line=84),
        case(
            example,
            id="other",
            path="x.py",
            line=1,
            also=[{"path": "tests/output/test_token_processor.py", "line": 82}],
        ),
        case(example, id="miss", path="tests/output/test_token_processor.py", line=400),
        case(example, id="old", path="lantern/host.py", line=1, pre_existing=True),
    ]
    code, data = evaluate(example, tmp_path, cases, "--lang", "en")
    assert code == 0
    assert data["rules"][STALE] == {
        "labelled": 4, "found": 3, "labelled_high": 4, "found_high": 3, "reported": 5, "bugs_on_clean": 0,
    }  # fmt: skip
    assert [m["id"] for m in data["missed"]] == ["miss"]
    assert data["recall_high_confidence"] == 0.75
    assert "`miss`" in capsys.readouterr().out


def test_bugs_on_a_clean_change_are_false_alarms(example, tmp_path):
    clean = {"id": "c", "kind": "clean", "base": example.base, "head": example.head}
    _, data = evaluate(example, tmp_path, [clean])
    assert data["bugs_per_clean_change"] == 5.0
    assert {a["path"] for a in data["false_alarms"]} == {
        "tests/output/test_process_batch_output.py",
        "tests/output/test_token_processor.py",
    }


def test_a_variant_takes_folders_from_the_base(example, tmp_path):
    variant = "worktree = head + `git checkout base -- lantern/output/`"
    wanted = case(example, path="tests/output/test_token_processor.py", line=63, variant=variant)
    _, data = evaluate(example, tmp_path, [wanted])
    assert [m["id"] for m in data["missed"]] == ["a"], "with the old reader nothing fails"


def test_a_second_run_goes_on_from_the_first(example, tmp_path):
    notes = tmp_path / "notes.jsonl"
    wanted = [case(example, path="tests/output/test_token_processor.py", line=63)]
    _, first = evaluate(example, tmp_path, wanted, "--resume", str(notes))
    line = json.loads(notes.read_text("utf-8"))
    line["findings"] = []
    notes.write_text(json.dumps(line) + '\n{"half', encoding="utf-8")
    _, second = evaluate(example, tmp_path, wanted, "--resume", str(notes))
    assert (len(first["missed"]), len(second["missed"])) == (0, 1), "the noted result was used"


def test_what_other_checks_found_is_not_gone_on_from(example, tmp_path):
    notes = tmp_path / "notes.jsonl"
    clean = [{"id": "c", "kind": "clean", "base": example.base, "head": example.head}]
    evaluate(example, tmp_path, clean, "--resume", str(notes))
    old = json.loads(notes.read_text("utf-8")) | {"code": "of another day", "findings": []}
    notes.write_text(json.dumps(old) + "\n", encoding="utf-8")
    _, data = evaluate(example, tmp_path, clean, "--resume", str(notes))
    assert data["bugs_per_clean_change"] == 5.0


def test_the_largest_process_is_told(example, tmp_path, capsys):
    clean = [{"id": "c", "kind": "clean", "base": example.base, "head": example.head}]
    notes = tmp_path / "notes.jsonl"
    _, data = evaluate(example, tmp_path, clean, "--lang", "en", "--resume", str(notes))
    assert 20 < data["megabytes"] < 2000
    assert f"at most {data['megabytes']:.0f} MB" in capsys.readouterr().out
    _, again = evaluate(example, tmp_path, clean, "--resume", str(notes))
    assert again == data, "a noted outcome says what it took"


def test_history_needs_no_labels(example, tmp_path):
    out = tmp_path / "out.json"
    arguments = [
        "eval",
        "--repo",
        str(example.repo),
        "--history",
        "1",
        "--path",
        "lantern",
        "--rule",
        STALE,
    ]
    assert main([*arguments, "-j", "1", "-o", str(out)]) == 0
    data = json.loads(out.read_text("utf-8"))
    assert data["changes"] == 1
    assert "recall_high_confidence" not in data


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "line 1"),
        ("not json", "line 1"),
        ('{"id": "a", "kind": "bug", "base": "x", "head": "y"}', "line 1"),
    ],
)
def test_a_line_that_is_no_case(example, tmp_path, capsys, text, said):
    file = tmp_path / "cases.jsonl"
    file.write_text(text, encoding="utf-8")
    assert main(["eval", str(file), "--repo", str(example.repo), "--lang", "en"]) == 2
    assert said in capsys.readouterr().err


def test_nothing_to_do_is_the_persons_error(example, capsys):
    assert main(["eval", "--repo", str(example.repo), "--lang", "en"]) == 2
    assert "--history" in capsys.readouterr().err
