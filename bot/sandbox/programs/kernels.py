"""Kernels run on this machine: what the child does, and how its results come back as the artifact that a workflow would
have left."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from bot.chat.artifact_archive import LARGEST
from bot.db.commands import GpuRun
from bot.errors import UserError
from bot.git import Git, Range
from bot.kernels import actions, confine, runs
from bot.kernels.package import Package
from bot.sandbox.client import run_job
from bot.settings import Settings

Json = dict[str, Any]
# Seconds for one case, as `specbot kernels compare` has it.
_LIMIT = 60.0


class Refused(Exception):
    """The code is not ours, and nothing here would keep it from our files."""


def archive(
    clone: Path, run: GpuRun, ops: list[str], settings: Settings, *, trusted: bool
) -> bytes:
    """The results of both commits of `run` as a zip file; empty, which is no zip file, where they are more than an
    artifact may have.

    Raises `Refused`, `UserError` for what cannot be run, and `bot.sandbox.client.Failed`, also where it takes more
    than the minutes of the run.
    """
    with tempfile.TemporaryDirectory(prefix="specbot-gpu-") as name:
        job: Json = {
            "clone": str(clone),
            "base": run.base,
            "head": run.head,
            "ops": ops,
            "folder": name,
        }
        job |= {"device": settings.local_kernels, "language": settings.language, "trusted": trusted}
        job |= {"hidden": [str(path) for path in settings.hidden]}
        made = run_job("kernels", job, longest=60.0 * run.minutes)
        if "refused" in made:
            raise Refused
        if "error" in made:
            raise UserError(made["error"]["key"], **made["error"]["args"])
        return _packed(Path(name))


def _packed(folder: Path) -> bytes:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if sum(path.stat().st_size for path in files) > LARGEST:
        return b""
    made = BytesIO()
    with ZipFile(made, "w") as file:
        for path in files:
            file.write(path, path.relative_to(folder).as_posix())
    return made.getvalue()


def result(job: Json) -> Json:
    """What the child does: the results are files in `folder`. Gives nothing, or `refused`, or `error`."""
    confine.hide(Path(path) for path in job["hidden"])
    if not job["trusted"] and not confine.confinement(job["device"]).files:
        return {"refused": True}

    def planned(base: Package) -> runs.Plan:
        return runs.Plan(runs.chosen(base, job["ops"]), job["device"], _LIMIT)

    try:
        if find_spec("torch") is None or find_spec("triton") is None:
            raise UserError("kernels-missing")
        git, compared = Git(Path(job["clone"])), Range(job["base"], job["head"])
        report = actions.pairs(git, compared, planned, lambda *_: None)
        actions.save(report, Path(job["folder"]), job["language"])
    except UserError as error:
        return {"error": error.as_data()}
    return {}
