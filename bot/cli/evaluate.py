"""`specbot eval`: the rules on labelled cases, on the bugs that later fixes show, and on history.

It works in several processes, and goes on where a run that was stopped left off (`--resume`).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bot.cli.review_jobs import ReviewJob, review_outcomes
from bot.configuration import load_configuration
from bot.errors import UserError
from bot.files import read_text, write_output
from bot.git import BlobStore, Git, head_tree
from bot.git.fixes import HistoryFilter, logged_commits, mine_pairs
from bot.i18n.catalog import Catalog
from bot.packaging import require_extra
from bot.reports.evaluation import plot, summary, table
from bot.reports.fix_evaluation import fix_summary, fix_table
from checks.core.config import Config
from checks.evaluation.case_file import CaseError, parse_cases, write_pair
from checks.evaluation.fix_score import score_pairs
from checks.evaluation.fixes import FixPair, product_files
from checks.evaluation.labels import LabelledCase, score
from checks.evaluation.outcome import ChangeKey, ReviewOutcome

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def run(args: argparse.Namespace) -> int:
    """Review every change, print the score, and write it where `-o` says. 0 unless a review crashed
    (3)."""
    if args.plot:
        require_extra("pictures")
    _check(args)
    repositories = _repositories(args.repo or ["."])
    cases, pairs = _cases(args)
    # A file may hold the pairs of more repositories than there are clones of.
    pairs = [pair for pair in pairs if pair.repository in repositories]
    pairs += _mined_pairs(args, repositories)
    other_jobs = [
        *_labelled_jobs(cases, args, repositories),
        *_history_jobs(args, repositories),
        *_sample_jobs(args, repositories),
    ]
    pair_jobs = [_pair_job(args, pair, repositories) for pair in pairs]
    jobs = list(dict.fromkeys([*other_jobs, *pair_jobs]))
    if not jobs:
        raise UserError("eval-nothing")
    outcomes = dict(review_outcomes(jobs, args.jobs, args.resume, args.lang))
    data: dict[str, Any] = {}
    if other_jobs:
        data |= _tell_score(args, cases, {job.key: outcomes[job.key] for job in other_jobs})
    if pairs:
        data |= _tell_fixes(args, pairs, outcomes)
    if args.output:
        text = json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True)
        write_output(text + "\n", args.output)
    return 3 if any(outcome.error for outcome in outcomes.values()) else 0


def _check(args: argparse.Namespace) -> None:
    for day in (args.since, args.until):
        if day and not _DAY.fullmatch(day):
            raise UserError("eval-day", day=day)


def _repositories(named: Sequence[str]) -> dict[str, str]:
    """The clone of each repository, by the name given (`NAME=DIR`), else the folder's."""
    repositories = {}
    for value in named:
        name, separator, folder = value.partition("=")
        if not separator or Path(value).is_dir():
            name, folder = Path(value).resolve().name, value
        repositories[name] = folder
    return repositories


def _cases(args: argparse.Namespace) -> tuple[tuple[LabelledCase, ...], list[FixPair]]:
    """The labelled cases of the file that is named, of the rules that are named, and its pairs."""
    if args.cases is None:
        return (), []
    try:
        cases, pairs = parse_cases(read_text(args.cases))
    except CaseError as error:
        raise UserError(
            "eval-case", file=args.cases, line=error.line, problem=error.problem
        ) from error
    if args.rule:
        # A clean change is labelled for every rule.
        cases = tuple(case for case in cases if case.kind == "clean" or case.rule in args.rule)
    return cases, list(pairs)


def _mined_pairs(args: argparse.Namespace, repositories: Mapping[str, str]) -> list[FixPair]:
    """`--fixes` pairs of every repository."""
    pairs: list[FixPair] = []
    if not args.fixes:
        return pairs
    for name, folder in repositories.items():
        git = Git(Path(folder))
        mined = mine_pairs(git, name, _configuration(git), _history_filter(args))
        pairs += islice(mined, args.fixes)
    return pairs


def _configuration(git: Git) -> Config:
    with BlobStore(git) as blobs:
        return load_configuration(head_tree(git, blobs), None, None)


def _history_filter(args: argparse.Namespace) -> HistoryFilter:
    return HistoryFilter(tuple(args.path), args.since or "", args.until or "")


def _labelled_jobs(
    cases: Iterable[LabelledCase], args: argparse.Namespace, repositories: Mapping[str, str]
) -> list[ReviewJob]:
    folder = next(iter(repositories.values()))
    changes = dict.fromkeys(case.change for case in cases)
    return [_job(args, folder, *change) for change in changes]


def _history_jobs(args: argparse.Namespace, repositories: Mapping[str, str]) -> Iterator[ReviewJob]:
    """The last `--history` commits that touch `--path`, each against its first parent."""
    if not args.history:
        return
    for folder in repositories.values():
        git = Git(Path(folder))
        options = _history_filter(args).log_options
        log = git.run("log", *options, "--format=%H", f"-{args.history}", "HEAD", "--", *args.path)
        for head in log.decode().split():
            yield _job(args, folder, f"{head}^", head, ())


def _sample_jobs(args: argparse.Namespace, repositories: Mapping[str, str]) -> Iterator[ReviewJob]:
    """`--sample` commits by chance that touch the product, each against its first parent."""
    if not args.sample:
        return
    for folder in repositories.values():
        git = Git(Path(folder))
        config = _configuration(git)
        commits = logged_commits(git, _history_filter(args))
        touching = (commit for commit in commits if product_files(commit.files, config))
        for commit in islice(touching, args.sample):
            yield _job(args, folder, f"{commit.id}^", commit.id, ())


def _pair_job(
    args: argparse.Namespace, pair: FixPair, repositories: Mapping[str, str]
) -> ReviewJob:
    return _job(args, repositories[pair.repository], pair.base, pair.head, ())


def _job(
    args: argparse.Namespace, folder: str, base: str, head: str, from_base: tuple[str, ...]
) -> ReviewJob:
    rules = tuple(args.rule or ())
    return ReviewJob(folder, base, head, from_base, rules, args.persona == "pedantic")


def _tell_score(
    args: argparse.Namespace,
    cases: Sequence[LabelledCase],
    outcomes: Mapping[ChangeKey, ReviewOutcome],
) -> dict[str, Any]:
    """Print the score of labelled cases and history; give it as data."""
    scored = score(cases, outcomes)
    write_output(table(scored, Catalog(args.lang)), None)
    if args.plot:
        plot(scored, Path(args.plot))
    return summary(scored, outcomes.values(), labelled=bool(cases))


def _tell_fixes(
    args: argparse.Namespace, pairs: Sequence[FixPair], outcomes: Mapping[ChangeKey, ReviewOutcome]
) -> dict[str, Any]:
    """Print the score of the pairs, write them where `--pairs` says; give the score as data."""
    scored, judged = score_pairs(pairs, outcomes)
    write_output(fix_table(scored, Catalog(args.lang)), None)
    if args.pairs:
        write_output("".join(write_pair(outcome) for outcome in judged), args.pairs)
    return {"fixes": fix_summary(scored)}
