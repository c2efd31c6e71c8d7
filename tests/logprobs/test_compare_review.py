"""`specbot review --records`: what records say about the baseline that a change reaches."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from bot.cli.main import main
from checks.logprobs.jsonl import write
from tests.example.build import build
from tests.logprobs.simulated import Logits, records, swap

RULE = "logprobs.baseline-affected"
SCHEMA = Path(__file__).resolve().parents[2] / "bot/reports/schema/review-1.json"


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example") / "repo"
    build(folder)
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Base at five columns, head at three, and head with ranks that are off by one."""
    folder = tmp_path_factory.mktemp("records")
    logits = Logits.random(np.random.default_rng(1), 8, 10, 30)
    narrow = records(logits, k=3)
    for name, made in (
        ("base", records(logits)),
        ("head", narrow),
        ("broken", [swap(r, ranks=r.ranks + 1) for r in narrow]),
    ):
        (folder / name).write_bytes(b"".join(write(r) for r in made))
    return folder


def review(repo, out, *options):
    code = main(
        [
            "review",
            "--repo",
            str(repo),
            "--base",
            "base",
            "--fail-on",
            "never",
            "-o",
            str(out),
            *options,
        ]
    )
    assert code == 0
    return out.read_text()


def findings(repo, tmp_path, base, head):
    text = review(
        repo,
        tmp_path / "o",
        "--head",
        "head",
        "--records",
        str(base),
        str(head),
        "--format",
        "json",
    )
    jsonschema.validate(json.loads(text), json.loads(SCHEMA.read_text()))
    return [f for f in json.loads(text)["findings"] if f["rule"] == RULE]


def test_a_safe_verdict_answers_the_finding(repo, files, tmp_path):
    (found,) = findings(repo, tmp_path, files / "base", files / "head")
    assert found["answered"]
    diff = found["evidence"][-1]
    assert (diff["type"], diff["verdict"], diff["safe"]) == ("RecordDiff", "columns-only", True)
    assert all(m["zh"] and m["en"] for m in diff["said"])


def test_wrong_values_make_it_a_bug(repo, files, tmp_path):
    (found,) = findings(repo, tmp_path, files / "base", files / "broken")
    assert (found["severity"], found["answered"]) == ("bug", False)
    assert "cause-rank-offset" in {m["key"] for m in found["evidence"][-1]["said"]}


@pytest.mark.parametrize(
    ("language", "said"), [("zh", "只有列数不同"), ("en", "Only the number of columns differs")]
)
def test_the_report_says_so(repo, files, tmp_path, language, said):
    asked = (
        "--records",
        str(files / "base"),
        str(files / "head"),
        "--lang",
        language,
        "--format",
        "markdown",
    )
    assert said in review(repo, tmp_path / "o", "--head", "head", *asked)


def test_records_that_no_finding_is_about_are_noted(repo, files, tmp_path):
    asked = ("--records", str(files / "base"), str(files / "head"), "--lang", "en")
    text = review(repo, tmp_path / "o", "--head", "base", *asked)
    assert "compare as `columns-only`" in " ".join(text.split())
