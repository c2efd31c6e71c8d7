"""What the child that runs kernels on this machine does: a job in, files with the results out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from bot.errors import UserError
from bot.git import Git, Range
from bot.kernels import actions, confine, runs
from bot.kernels.package import Package
from bot.packaging import require_extra

Json = dict[str, Any]
# Seconds for one case, as `specbot kernels compare` has it.
_CASE_LIMIT = 60.0


def result(job: Json) -> Json:
    """Run the kernels of both commits; the results are files in the job's `folder`.

    Gives nothing, `refused` where the code is a stranger's and cannot be confined, or `error` where
    it is a person's to put right.
    """
    confine.hide(Path(path) for path in job["hidden"])
    if not job["trusted"] and not confine.confinement(job["device"]).files:
        return {"refused": True}
    try:
        _compare(job)
    except UserError as error:
        return {"error": error.as_data()}
    return {}


def _compare(job: Json) -> None:
    require_extra("kernels")
    git, compared = Git(Path(job["clone"])), Range(job["base"], job["head"])
    report = actions.pairs(git, compared, partial(_plan, job), lambda *_: None)
    actions.save(report, Path(job["folder"]), job["language"])


def _plan(job: Json, base: Package) -> runs.Plan:
    """The cases of the ops that the job names, of the kernels as the base has them."""
    return runs.Plan(runs.chosen(base, job["ops"]), job["device"], _CASE_LIMIT)
