"""Every `<rule id>.md` beside this file is a test of that rule; README.md says how one is
written.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.registry import RULES
from tests.rules.harness import find_rule, problems
from tests.rules.markdown import Case, read_rule_file
from tests.rules.notes import RuleFileError

FOLDER = Path(__file__).parent
FILES = sorted(p for p in FOLDER.glob("*.md") if p.name != "README.md")


def _cases() -> list[object]:
    cases: list[object] = []
    for path in FILES:
        rule_id = path.name.removesuffix(".md")
        try:
            read = read_rule_file(path.read_text("utf-8"))
        except RuleFileError as error:
            cases.append(pytest.param(rule_id, error, id=f"{rule_id}::unreadable"))
            continue
        cases += [pytest.param(rule_id, case, id=f"{rule_id}::{case.name}") for case in read]
    return cases


@pytest.mark.parametrize(("rule_id", "case"), _cases())
def test_rule(rule_id: str, case: Case | RuleFileError) -> None:
    if isinstance(case, RuleFileError):
        pytest.fail(f"tests/rules/{rule_id}.md: {case}", pytrace=False)
    found = problems(case, find_rule(rule_id))
    if found:
        text = "\n".join(f"  {p}" for p in found)
        pytest.fail(f"tests/rules/{rule_id}.md:{case.line}: {case.name}\n{text}", pytrace=False)


def test_every_rule_has_its_test() -> None:
    assert sorted({r.ID for r in RULES} - {p.name.removesuffix(".md") for p in FILES}) == []
