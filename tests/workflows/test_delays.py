"""Work that is delayed, where the clock of the service is not that of PostgreSQL."""

from __future__ import annotations

import time

import pytest

from tests.bot.test_ci_collect import LOG, job, run_of
from tests.workflows.conftest import until
from tests.workflows.crashes import Zygote
from tests.workflows.databases import missing, postgres
from tests.workflows.test_ci import job_ended, opened, said


@pytest.mark.parametrize("wrong_by", [-3600.0, 3600.0])
def test_what_is_gathered_is_gathered_by_the_clock_of_the_database(fake, bot, repo, wrong_by):
    """A service an hour behind would report an hour late, and one ahead at once, without the jobs
    that end in the next seconds."""
    if why := missing():
        pytest.skip(why)
    with postgres() as url:
        bot.settings |= {"SPECBOT_DATABASE_URL": url, "SPECBOT_CI_GATHER": "20"}
        zygote = Zygote(bot)
        try:
            zygote.start("one")
            until(bot.ready)
            zygote.set_clock(wrong_by)
            pull = opened(fake, repo)
            run = run_of(repo, job("unit", "failure", log=LOG))
            # Both within one period of twenty seconds.
            time.sleep(20.5 - time.time() % 20)
            job_ended(fake, repo, run, run.jobs[0])
            time.sleep(4.0)
            second = job("lint", "failure", log=LOG)
            run.jobs.append(second)
            job_ended(fake, repo, run, second)
            until(lambda: "lint" in said(pull), 60)
            assert "unit" in said(pull)
        finally:
            zygote.close()
