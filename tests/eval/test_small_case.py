"""A finding made small and anonymous: it is still there, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.cli.main import main
from checks.core.config import load
from checks.evaluation.reduction import needed_parts
from checks.evaluation.small_case import CaseLine, as_markdown, change_of, small_case
from checks.registry import rule as rule_named
from checks.review import review
from tests.example.build import build
from tests.rules.harness import problems
from tests.rules.markdown import read_rule_file

NOISE = [f"  int secret_local_{i} = {i};" for i in range(30)]
SENDER = [
    ("both", "void secret_sender(int secret_flag, int secret_width) {"),
    *(("both", line) for line in NOISE),
    ("-", "  secret_word[1] = secret_flag;"),
    ("+", "  secret_word[1] = secret_flag | (secret_width << 8);"),
    ("both", "  secret_send(secret_word);"),
    ("both", "}"),
]


@given(st.lists(st.integers(0, 1000), unique=True), st.data())
def test_what_is_needed_stays_and_nothing_else(parts: list[int], data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.sampled_from(parts)) if parts else st.just(set()))
    kept = needed_parts(parts, lambda some: needed <= set(some))
    assert kept == [part for part in parts if part in needed]


def lines() -> list[CaseLine]:
    sides = {"both": " ", "-": "-", "+": "+"}
    sender = [CaseLine("secret/secret_sender.cc", sides[side], text) for side, text in SENDER]
    other = [CaseLine("secret/secret_other.cc", "+", f"int secret_{i};") for i in range(20)]
    return [*sender, *other]


def test_a_case_is_small_has_no_name_and_still_the_finding() -> None:
    change, config = change_of(lines()), load(None)
    rule = rule_named("protocol.unmasked-pack")
    assert rule is not None
    (finding,) = review(change, config, (rule,), pedantic=True).findings
    case = small_case(change, config, rule, finding)
    assert case is not None
    assert case.finding.message.key == finding.message.key
    assert len(case.lines) <= 6
    text = as_markdown(case, finding.rule, lambda one: one.message.key)
    assert "secret" not in text
    assert "todo-ok: [protocol.unmasked-pack]" in text


def test_the_case_is_a_test_of_the_rule() -> None:
    """Pasted into the rule's file, it holds as a known false positive."""
    change, config = change_of(lines()), load(None)
    rule = rule_named("protocol.unmasked-pack")
    (finding,) = review(change, config, (rule,), pedantic=True).findings
    case = small_case(change, config, rule, finding)
    text = as_markdown(case, finding.rule, lambda one: "It is said that:")
    file = f"# {rule.ID}\n\n## Known misses\n\nNone.\n\n## Known false positives\n\n{text}"
    cases = [one for one in read_rule_file(file) if one.files.head]
    assert cases
    assert [problems(one, rule) for one in cases] == [[]]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "repository"
    build(folder)
    return folder


def run(example: Path, *arguments: str) -> int:
    revisions = ["--repo", str(example), "--base", "base", "--head", "head"]
    return main([*arguments, *revisions, "--lang", "en"])


def test_the_command_makes_the_case_of_a_fingerprint(example: Path, tmp_path: Path, capsys) -> None:
    report = tmp_path / "report.json"
    run(example, "review", "--format", "json", "-o", str(report))
    findings = json.loads(report.read_text("utf-8"))["findings"]
    (named,) = [f for f in findings if f["rule"] == "kernel.unused-parameter"]
    assert run(example, "report-false-positive", named["fingerprint"][:8]) == 0
    said = capsys.readouterr().out
    assert "SpecRecvTopK" not in said
    assert "todo-ok: [kernel.unused-parameter]" in said


@pytest.mark.parametrize(("name", "sentence"), [("abc", "too short"), ("f" * 12, "no finding")])
def test_a_wrong_fingerprint_is_one_sentence(example: Path, name: str, sentence: str, capsys):
    assert run(example, "report-false-positive", name) == 2
    assert sentence in capsys.readouterr().err
