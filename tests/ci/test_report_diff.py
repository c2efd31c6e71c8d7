"""What changed since the last report."""

from checks.ci.model import Conclusion
from checks.ci.report_diff import ReportDiff, diff_runs
from tests.ci.runs import job, run


def test_jobs_of_one_name_are_compared_with_their_own_event():
    passed, failed = Conclusion.SUCCESS, Conclusion.FAILURE
    alone = run(job("1", conclusion=passed))
    both = run(
        job("1", event="pull_request", conclusion=passed),
        job("2", event="merge_group", conclusion=failed),
    )
    assert diff_runs(alone, both) == ReportDiff(failed=("unit",))
    assert diff_runs(both, both) == ReportDiff()
