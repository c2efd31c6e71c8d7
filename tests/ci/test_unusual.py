"""A failure that no rule knows: its most unusual lines, as a guess."""

from checks.ci.analyse import analyse
from checks.ci.message_keys import Advice
from tests.ci.runs import Files, job, run

USUAL = [f"step {n} of the build copied {n * 3} files" for n in range(300)]
ODD = "the widget table has no column for colour"
END = "##[error]Process completed with exit code 1."


def advised(**files):
    names = {"passed_log": "passed"} if "passed" in files else {}
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
    assert message.args == {"lines": [ODD], "compared": True}


def test_a_log_of_nothing_says_read_the_log():
    report = analyse(run(job()), Files(log="ok\n"))
    assert [s.message.key for s in report.failed[0].main.suggestions] == [Advice.READ_LOG]
