"""A report says a thing once, at the place where it is true, and in words that fit it."""

from __future__ import annotations

import re
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
UNREACHED = """def {name}(rows, is_sorted):
    return sorted(rows, is_sorted)
    rows.clear()
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
    text = specbot("review", "--repo", dropped.path, *args, "--persona", "pedantic").out
    details = text.partition("The evidence for each finding")[2]
    assert details.count("Rule `kernel.unused-parameter`") == 2
    assert details.count("What to do: Remove the parameter") == 1


SENDER = """struct TokenMsg {{ long mtype; int meta[4]; }};
void SaveTokens(const paddle::Tensor& tokens, int64_t rank_id, bool save_each_rank) {{
  if ({gate}) {{
    return;
  }}
  static TokenMsg msg;
  msg.meta[0] = 1;
  msgsnd(1, &msg, sizeof(msg), 0);
}}
PD_BUILD_STATIC_OP(save_tokens)
    .Inputs({{"tokens"}})
    .Attrs({{"rank_id: int64_t", "save_each_rank: bool"}})
    .SetKernelFn(PD_KERNEL(SaveTokens));
"""
SENDING = """from engine.ops.gpu import save_tokens


def post(output, rank, save_each_rank):
    save_tokens(output.tokens, rank, save_each_rank)
"""


@pytest.mark.parametrize(
    ("language", "told"),
    [("en", "no longer reads `save_each_rank`"), ("zh", "不再读取 `save_each_rank`")],
)
def test_a_lost_flag_is_one_row(specbot, repo, language, told):
    old = SENDER.format(gate="!save_each_rank && rank_id > 0")
    repo.commit({"custom_ops/gpu_ops/save.cc": old, "engine/post.py": SENDING})
    repo.commit({"custom_ops/gpu_ops/save.cc": SENDER.format(gate="rank_id > 0")}, "Gate ranks")
    args = ("--base", "HEAD~", "--format", "markdown", "--fail-on", "never")
    text = specbot("review", "--repo", repo.path, "--lang", language, *args).out
    rows = text.partition("<details>")[0].splitlines()
    (row,) = [row for row in rows if row.startswith("|") and told in row]
    assert "`:2`" in row
    assert row.endswith("`semantics.rank-gate` `kernel.unused-parameter` |")
    assert not [row for row in rows if row.endswith("| `kernel.unused-parameter` |")]


def open_part(text):
    """What stands outside of `<details>`, however deep they are nested."""
    while "<details>" in text:
        text = re.sub(r"<details>(?:(?!<details>).)*?</details>", "", text, flags=re.DOTALL)
    return text


def test_the_worst_risks_stand_open_and_a_file_is_named_once(specbot, repo):
    for form in (FLAGGED, UNREACHED):
        files = {}
        for number in range(6):
            name, flag = f"take{number}", f"is_sorted_{number}"
            files[f"engine/{name}.py"] = form.format(name=name).replace("is_sorted", flag)
            call = f"from engine.{name} import {name}\n\n\ndef main():\n    {name}([], True)\n"
            files[f"engine/main{number}.py"] = call
        repo.commit(files)
    text = analysed(specbot, repo)
    risks = open_part(text).partition("## Risks")[2]
    whole = text.partition("## Risks")[2]
    assert (risks.count("kernel.dead-code"), whole.count("kernel.dead-code")) == (
        4,
        6,
    )
    assert "<summary>2 more</summary>" in whole
    steps = open_part(text).partition("## The change")[2].partition("## Risks")[0]
    assert steps.count("engine/take0.py") == 1


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
