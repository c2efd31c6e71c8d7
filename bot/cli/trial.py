"""`specbot try`: what SpecBot would have said of the last merged changes; nothing is posted."""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bot.cli.review_jobs import ReviewJob, review_outcomes
from bot.configuration import load_configuration
from bot.errors import UserError
from bot.files import write_output
from bot.git import BlobStore, Git, head_tree
from bot.git.fixes import HistoryFilter, mine_pairs
from bot.git.merged import commits_of, files_of, merged_changes
from bot.reports.trial import render
from bot.urls import server
from checks.evaluation.fix_score import PairOutcome, pair_outcome
from checks.evaluation.fixes import product_files
from checks.evaluation.outcome import ReviewOutcome
from checks.evaluation.trial import MergedChange, Trial, TriedChange

_PLACE = re.compile(r"[\w.-]+/[\w.-]+")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
# More would not fit into git's arguments.
_MOST_PATHS = 2000


def run(args: argparse.Namespace) -> int:
    """Write the page. 0, whatever the reviews say: this is for looking."""
    if args.until and not _DAY.fullmatch(args.until):
        raise UserError("eval-day", day=args.until)
    with _repository(args.target) as (name, folder):
        trial = _trial(name, folder, args)
        text = render(trial, args.format, args.lang)
    write_output(text, args.output)
    return 0


@contextmanager
def _repository(target: str) -> Iterator[tuple[str, Path]]:
    """The name and the folder of the repository: a clone that is here, or one made for this run.

    Raises `UserError` for what is neither a folder nor OWNER/REPO, and where git cannot clone it.
    """
    if Path(target).is_dir():
        yield Path(target).absolute().name.removesuffix(".git"), Path(target)
        return
    # A file that is here is a slip, also where its path looks like a repository on GitHub.
    if Path(target).exists() or not _PLACE.fullmatch(target):
        raise UserError("try-target", target=target)
    with tempfile.TemporaryDirectory(prefix="specbot-try-") as name:
        folder = Path(name, "repository")
        address = f"{server().rstrip('/')}/{target}"
        # Of the history everything, of the branches the default one alone: there later fixes are.
        command = [
            "git",
            "clone",
            "--quiet",
            "--bare",
            "--single-branch",
            "--",
            address,
            str(folder),
        ]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise UserError("try-clone", target=target, reason=said[-1] if said else "")
        yield target, folder


def _trial(name: str, folder: Path, args: argparse.Namespace) -> Trial:
    git = Git(folder)
    changes = merged_changes(git, args.last, args.path, args.until or "")
    if not changes:
        raise UserError("try-nothing")
    jobs = [_job(folder, change) for change in changes]
    outcomes = dict(review_outcomes(jobs, args.jobs, None, args.lang))
    outcome_of = {job.head: outcomes[job.key] for job in jobs}
    fixes = _later_fixes(git, name, changes, outcome_of)
    tried = [TriedChange(c, outcome_of[c.head], tuple(fixes[c.head])) for c in changes]
    head = git.run("rev-parse", "HEAD").decode("ascii").strip()
    return Trial(name, head, tuple(tried))


def _job(folder: Path, change: MergedChange) -> ReviewJob:
    return ReviewJob(str(folder), change.base, change.head, (), (), pedantic=False)


def _later_fixes(
    git: Git,
    name: str,
    changes: Sequence[MergedChange],
    outcomes: dict[str, ReviewOutcome],
) -> dict[str, list[PairOutcome]]:
    """By the head of each change, the fixes that replaced lines which it wrote."""
    with BlobStore(git) as blobs:
        config = load_configuration(head_tree(git, blobs), None, None)
    paths = {path for change in changes for path in product_files(files_of(git, change), config)}
    found: dict[str, list[PairOutcome]] = {change.head: [] for change in changes}
    if not paths:
        return found
    change_of = {}
    for change in changes:
        for commit in commits_of(git, change):
            change_of[commit] = change
    first = changes[-1]
    history = HistoryFilter(tuple(sorted(paths)[:_MOST_PATHS]), first.day, oldest=first.base)
    for pair in mine_pairs(git, name, config, history):
        if pair.head in change_of:
            head = change_of[pair.head].head
            found[head].append(pair_outcome(pair, outcomes[head]))
    return found
