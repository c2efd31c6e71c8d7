"""A report says a thing once, at the place where it is true, and in words that fit it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.git import Git, Range
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from bot.pipeline import open_change, run_review
from bot.reports import format_named, html
from bot.reports.blocks import Table, Text
from bot.reports.evidence import evidence_blocks
from checks.core.change import PullRequest
from checks.core.finding import Confidence, Finding, Location, Message, PredictedFailure, Severity

FLAGGED = """def {name}(rows, is_sorted):
    if is_sorted:
        return rows
    return sorted(rows)
"""
UNFLAGGED = """def {name}(rows, is_sorted):
    return sorted(rows)
"""
CALLER = """from engine.rows import drop, take


def main(rows):
    return take(rows, True), drop(rows, True)
"""
TEMPLATE = """## Motivation

> :bulb: A pick starts with [Cherry-Pick], for example [Cherry-Pick][CI] Pin the image(#51)

## Modifications
"""


@pytest.fixture
def dropped(repo):
    """A change after which two functions no longer use a parameter, and a third is gone."""
    gone = "\n\ndef clear(rows):\n    rows.clear()\n"
    both = [FLAGGED.format(name=name) for name in ("take", "drop")]
    files = {"engine/rows.py": "\n\n".join(both) + gone, "engine/main.py": CALLER}
    repo.commit(files | {".github/pull_request_template.md": TEMPLATE})
    both = [UNFLAGGED.format(name=name) for name in ("take", "drop")]
    repo.commit({"engine/rows.py": "\n\n".join(both)}, "Sort always")
    return repo


def test_what_to_do_about_two_findings_of_one_kind_is_said_once(specbot, dropped):
    args = ("--base", "HEAD~", "--format", "markdown", "--lang", "en", "--fail-on", "never")
    text = specbot("review", "--repo", dropped.path, *args).out
    details = text.partition("The evidence for each finding")[2]
    assert details.count("Rule `kernel.unused-parameter`") == 2
    assert details.count("What to do: Remove the parameter") == 1


def test_a_file_without_a_function_that_changed_is_in_the_list(specbot, dropped):
    dropped.commit({"engine/main.py": CALLER + "\n# The end.\n"}, "Say where it ends")
    args = ("--base", "HEAD~", "--format", "markdown", "--lang", "en")
    assert "- `engine/main.py` (+2 −0)\n" in specbot("review", "--repo", dropped.path, *args).out


def analysed(specbot, repo, *more):
    args = ("--base", "HEAD~", "--format", "markdown", "--lang", "en", *more)
    return specbot("analyze", "--repo", repo.path, *args).out


def test_what_is_gone_stood_at_a_line_of_before(specbot, dropped):
    text = analysed(specbot, dropped)
    (line,) = [line for line in text.splitlines() if line.startswith("- The function `clear`")]
    assert line.endswith("(before the change: `engine/rows.py:13`)")


def test_the_template_is_not_the_author_s_word(specbot, dropped, tmp_path):
    own = "\n> The rows were taken as they came.\n"
    body = tmp_path / "body.md"
    body.write_text(TEMPLATE + own)
    text = analysed(specbot, dropped, "--title", "Sort always", "--body-file", str(body))
    quoted = text.partition("in the author's words")[2].partition("## The change")[0]
    assert quoted.strip() == "- The rows were taken as they came."


def test_a_call_that_raises_has_no_older_form():
    place = Location("tests/helper.py", 7)
    failure = PredictedFailure(
        "tests/helper.py::run", place, "gather", "3 != 2", "TypeError", place
    )
    finding = Finding(
        "protocol.op-arguments",
        Severity.BUG,
        Confidence.HIGH,
        place,
        Message("arguments", {}),
        evidence=(failure,),
    )
    said = list(evidence_blocks(finding, Catalog("en", Markdown())))
    call = "the call of `gather` at `tests/helper.py:7` raises `TypeError` (`3 != 2`)"
    assert said == [Text(call)]


def test_cards_have_the_names_of_their_columns():
    table = html.write(Table(("Level", "Seen &amp; said"), (("bug", "x < y"),), cards=True))
    assert 'class="cards" role="table"' in table
    assert '<td role="cell" data-label="Seen &amp; said">' in table


def test_a_report_with_a_page_leads_to_it(dropped):
    with open_change(Git(dropped.path), Range("HEAD~", "HEAD"), PullRequest()) as change:
        report = replace(run_review(change), page="https://bot.example/pr/octo/engine/7")
        text = format_named("markdown").render(report, "en")
    assert "[View the full report](https://bot.example/pr/octo/engine/7)" in text
