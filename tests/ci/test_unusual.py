"""A failure that no rule knows: its most unusual lines, as a guess."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from bot.ci.line_history import MOST_LOGS, LineHistory
from bot.ci.run_folder import read_run
from bot.reports.ci import CIView, comment
from checks.ci.analyse import analyse
from checks.ci.earlier_logs import count_forms, form_id, load
from checks.ci.message_keys import Advice
from checks.ci.observed_failures import mask_variable_parts
from checks.ci.unusual_lines import form_ids
from tests.ci.runs import Files, job, run

USUAL = [f"step {n} of the build copied {n * 3} files" for n in range(300)]
ODD = "the widget table has no column for colour"
END = "##[error]Process completed with exit code 1."


def advised(**files):
    paths = {"passed_log": "passed", "earlier_logs": "earlier"}
    names = {field: path for field, path in paths.items() if path in files}
    report = analyse(run(job(**names)), Files(**files))
    (suggestion,) = report.failed[0].main.suggestions
    return report.failed[0], suggestion.message


def test_the_rare_lines_before_the_end_are_a_guess():
    failed, message = advised(
        log="\n".join([*USUAL, ODD, *USUAL[:5], END, "clean-up could not start"])
    )
    assert message.key == Advice.UNUSUAL
    assert ODD in message.args["lines"] and message.args["compared"] is False
    assert "clean-up could not start" not in message.args["lines"]
    assert ODD in [line.text for line in failed.lines]


def test_what_the_passing_log_has_too_is_not_unusual():
    often_odd = "the gauge table has no column for weight"
    log = "\n".join([*USUAL, often_odd, ODD, END])
    _, message = advised(log=log, passed="\n".join([*USUAL, often_odd]))
    assert message.args == {"lines": [ODD], "compared": True, "logs": 0, "seen": 0}


def earlier(count, *lines):
    """`count` logs, and the last ones of them with the line, as many as are given."""
    logs = [Files(log="\n".join(USUAL)).open("log") for _ in range(count - len(lines))]
    logs += [Files(log="\n".join([*USUAL, line])).open("log") for line in lines]
    wanted = form_ids(Files(log="\n".join([*USUAL, ODD, OFTEN_ODD])).open("log"))
    return count_forms(wanted, [form_ids(log) for log in logs]).dump()


OFTEN_ODD = "the gauge table has no column for weight"


def test_what_most_failed_logs_of_the_job_had_is_not_unusual():
    log = "\n".join([*USUAL, ODD, OFTEN_ODD, END])
    _, message = advised(log=log, earlier=earlier(5, *[OFTEN_ODD] * 4))
    assert ODD in message.args["lines"] and OFTEN_ODD not in message.args["lines"]
    assert (message.args["logs"], message.args["seen"]) == (5, 0)


def test_what_some_failed_logs_had_is_told_and_ranks_lower():
    trouble = [f"the {word} column is of no table" for word in ("red", "green", "blue", "grey")]
    log = "\n".join([*USUAL, *trouble, END])
    seen = frozenset(form_id(mask_variable_parts(line)) for line in trouble[1:])
    logs = [seen, seen, frozenset[str](), frozenset[str](), frozenset[str]()]
    _, message = advised(log=log, earlier=count_forms(seen, logs).dump())
    # Nearest to the end are the others, but no log had the first.
    assert trouble[0] in message.args["lines"] and message.args["seen"] == 2


def test_two_logs_do_not_tell_what_is_usual():
    log = "\n".join([*USUAL, OFTEN_ODD, END])
    _, message = advised(log=log, earlier=earlier(2, OFTEN_ODD, OFTEN_ODD))
    assert OFTEN_ODD in message.args["lines"] and message.args["logs"] == 0


def test_a_broken_history_is_none():
    _, message = advised(log="\n".join([*USUAL, ODD, END]), earlier="[]")
    assert ODD in message.args["lines"] and message.args["logs"] == 0


def of_pull(number, folder, log):
    """A run of a pull request as it was collected, with its log saved."""
    made = run(job(str(number), log="logs/log"))
    (folder / "logs").mkdir(parents=True)
    (folder / "logs/log").write_text(log)
    return replace(made, pull=replace(made.pull, number=number))


def test_the_history_counts_the_logs_of_other_pull_requests(tmp_path):
    history = LineHistory(sa.create_engine(f"sqlite:///{tmp_path}/lines.sqlite"))
    usual, odd = (mask_variable_parts(line) for line in (OFTEN_ODD, ODD))
    for number in range(1, 6):
        folder = tmp_path / str(number)
        log = "\n".join([*USUAL, OFTEN_ODD, *([ODD] if number == 5 else []), END])
        kept = history.add_earlier_logs(of_pull(number, folder, log), folder)
    assert read_run(folder) == kept
    with (folder / kept.jobs[0].earlier_logs).open("rb") as stream:
        found = load(stream)
    assert (found.logs, found.count(usual), found.count(odd)) == (4, 4, 0)
    # The same execution again is no further log, and no witness of its own.
    again = history.add_earlier_logs(kept, folder)
    with (folder / again.jobs[0].earlier_logs).open("rb") as stream:
        assert load(stream) == found


def test_no_more_logs_are_kept_than_are_needed(tmp_path):
    history = LineHistory(sa.create_engine(f"sqlite:///{tmp_path}/lines.sqlite"))
    for number in range(MOST_LOGS + 4):
        folder = tmp_path / str(number)
        kept = history.add_earlier_logs(of_pull(number, folder, ODD), folder)
    with (folder / kept.jobs[0].earlier_logs).open("rb") as stream:
        assert load(stream).logs == MOST_LOGS


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "of 5 failed logs of the task on other pull requests, none has them (a guess)"),
        ("zh", "在其他 PR 上该任务的 5 份失败日志中都没有（这是猜测）"),
    ],
)
def test_the_report_says_what_it_was_compared_with(language, said):
    files = {"log": "\n".join([*USUAL, ODD, END]), "earlier": earlier(5, *[OFTEN_ODD] * 4)}
    report = analyse(run(job(earlier_logs="earlier")), Files(**files))
    assert said in comment(CIView(report), language).replace("\\", "")


def test_a_log_of_nothing_says_read_the_log():
    report = analyse(run(job()), Files(log="ok\n"))
    assert [s.message.key for s in report.failed[0].main.suggestions] == [Advice.READ_LOG]
