"""Kernels run on this machine: their results come back as the artifact that a workflow would have
left."""

from __future__ import annotations

import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from bot.chat.artifact_archive import LARGEST
from bot.db.commands import GpuRun
from bot.errors import UserError
from bot.sandbox.client import run_job
from bot.settings import Settings

Json = dict[str, Any]


class Unconfined(Exception):
    """The code is not ours, and nothing here would keep it from our files."""


def run_and_archive(
    clone: Path, run: GpuRun, ops: list[str], settings: Settings, *, trusted: bool
) -> bytes:
    """The results of both commits of `run` as a zip file; empty, which is no zip file, where they
    are more than an artifact may have.

    Raises `Unconfined`, `UserError` for what cannot be run, and `bot.sandbox.client.JobFailed`,
    also where it takes more than the minutes of the run.
    """
    with tempfile.TemporaryDirectory(prefix="specbot-gpu-") as name:
        job: Json = {
            "clone": str(clone),
            "base": run.base,
            "head": run.head,
            "ops": ops,
            "folder": name,
            "device": settings.local_kernels,
            "language": settings.language,
            "trusted": trusted,
            "hidden": [str(path) for path in settings.hidden],
        }
        result = run_job("kernels", job, longest=60.0 * run.minutes)
        if "refused" in result:
            raise Unconfined
        if "error" in result:
            raise UserError(result["error"]["key"], **result["error"]["args"])
        return pack(Path(name))


def pack(folder: Path) -> bytes:
    """The files of `folder` as a zip file; empty where they are larger than an artifact may be."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    if sum(path.stat().st_size for path in files) > LARGEST:
        return b""
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        for path in files:
            archive.write(path, path.relative_to(folder).as_posix())
    return packed.getvalue()
