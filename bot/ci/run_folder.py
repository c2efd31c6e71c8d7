"""A saved CI run: its folder, and the report on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from bot.ci.gzipped import unpacked
from bot.errors import UserError
from bot.git import Git, resolve
from bot.logprobs.answer import with_record_evidence
from bot.pipeline import open_change, run_review
from checks.ci.analyse import analyse
from checks.ci.folder import RUN, FolderError, load
from checks.ci.model import CIRun
from checks.ci.report import CIReport
from checks.core.change import PullRequest


class Folder:
    """The files of a saved run.

    A path never leaves the folder: `load` refuses such names, links are not followed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def open(self, name: str) -> BinaryIO | None:
        """The file `name` of the folder, unpacked where it is compressed.

        None where there is no such regular file in it, or more in it than we unpack.
        """
        path = self.path / name
        if not path.resolve().is_relative_to(self.path) or not path.is_file():
            return None
        return unpacked(path.open("rb"))


def read_run(folder: Path) -> CIRun:
    """The run that is saved in `folder`."""
    if not folder.is_dir():
        raise UserError("no-directory", path=str(folder))
    try:
        return load((folder / RUN).read_bytes())
    except OSError as error:
        raise UserError("unreadable", path=str(folder / RUN), reason=error.strerror) from error
    except FolderError as error:
        raise UserError(
            f"ci-{error.problem}", path=str(folder / RUN), at=error.at, found=error.found
        ) from error


def report_on_run(
    saved: CIRun,
    files: Folder,
    repo: str | None = None,
    base: str | None = None,
    head: str | None = None,
    records: Sequence[str] = (),
) -> CIReport:
    """The analysis, linked to the change where a repository was named; its revisions are the run's
    unless given.

    `records` are files of logprob records before and after the change: their comparison answers
    what a baseline that differs means.
    """
    if repo is None:
        if base is not None or head is not None or records:
            raise UserError("ci-records-without-repo" if records else "ci-revision-without-repo")
        return analyse(saved, files)
    git = Git(Path(repo))
    revisions = saved.revisions
    base = base or revisions.merge_base or revisions.base or None
    compared = resolve(git, base, head or revisions.head, merge_base=True)
    with open_change(git, compared, PullRequest()) as change:
        report = run_review(change)
        if records:
            report = with_record_evidence(report, *records)
        review = report.review
        return analyse(saved, files, change, review.findings, review.config)
