"""`specbot eval`: the rules on labelled cases, or on the last changes of a history.

It works in several processes, and goes on where a run that was stopped left off (`--resume`).
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import resource
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import checks
from bot.configuration import load_configuration
from bot.errors import UserError
from bot.files import read_text, write_output
from bot.garbage import stop_collecting
from bot.git import BlobStore, Git, change_set, resolve
from bot.i18n.catalog import Catalog
from bot.reports.evaluation import plot, summary, table
from checks.core.change import ChangeSet, PullRequest
from checks.core.tree import PatchedTree
from checks.evaluation import (
    CaseError,
    LabelledCase,
    ReportedFinding,
    ReviewOutcome,
    parse_cases,
    score,
)
from checks.registry import RULES
from checks.review import review

Key = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Job:
    repo: str
    base: str
    head: str
    from_base: tuple[str, ...]
    rules: tuple[str, ...]
    pedantic: bool

    @property
    def key(self) -> Key:
        return self.base, self.head, self.from_base


def run(args: argparse.Namespace) -> int:
    """Review every change, print the score, and write it where `-o` says. 0 unless a review crashed
    (3)."""
    cases = _cases(args)
    jobs = [*_labelled_jobs(cases, args), *_history_jobs(args)]
    if not jobs:
        raise UserError("eval-nothing")
    outcomes = dict(_outcomes(jobs, args))
    scored = score(cases, outcomes)
    words = Catalog(args.lang)
    write_output(table(scored, words), None)
    if args.output:
        data = summary(scored, outcomes.values(), labelled=bool(cases))
        write_output(
            json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n", args.output
        )
    if args.plot:
        plot(scored, Path(args.plot))
    return 3 if scored.errors else 0


def _cases(args: argparse.Namespace) -> tuple[LabelledCase, ...]:
    """The labelled cases of the file that is named, of the rules that are named."""
    if args.cases is None:
        return ()
    try:
        cases = parse_cases(read_text(args.cases))
    except CaseError as error:
        raise UserError(
            "eval-case", file=args.cases, line=error.line, problem=error.problem
        ) from error
    if not args.rule:
        return tuple(cases)
    # A clean change is labelled for every rule.
    return tuple(case for case in cases if case.kind == "clean" or case.rule in args.rule)


def _labelled_jobs(cases: Iterable[LabelledCase], args: argparse.Namespace) -> list[_Job]:
    changes = dict.fromkeys(case.change for case in cases)
    return [_job(args, *change) for change in changes]


def _history_jobs(args: argparse.Namespace) -> list[_Job]:
    """The last `--history` commits that touch `--path`, each against its first parent."""
    if not args.history:
        return []
    git = Git(Path(args.repo))
    log = git.run("log", "--no-merges", "--format=%H", f"-{args.history}", "HEAD", "--", *args.path)
    return [_job(args, f"{head}^", head, ()) for head in log.decode().split()]


def _job(args: argparse.Namespace, base: str, head: str, from_base: tuple[str, ...]) -> _Job:
    rules = tuple(args.rule or ())
    return _Job(args.repo, base, head, from_base, rules, args.persona == "pedantic")


def _outcomes(jobs: list[_Job], args: argparse.Namespace) -> Iterator[tuple[Key, ReviewOutcome]]:
    """The outcome of each job: from the resume file where it has one, else computed and noted
    there."""
    known = dict(_read_notes(args.resume))
    left = []
    for job in jobs:
        if job.key in known:
            yield job.key, known[job.key]
        else:
            left.append(job)
    done = len(jobs) - len(left)
    with ProcessPoolExecutor(args.jobs) as pool:
        for job, outcome in zip(left, pool.map(_review, left), strict=True):
            done += 1
            _note(args.resume, job, outcome)
            _show_progress(done, len(jobs), args.lang)
            yield job.key, outcome


def _read_notes(path: str | None) -> Iterator[tuple[Key, ReviewOutcome]]:
    """What `_note` wrote for the checks as they are now."""
    if path is None or not Path(path).exists():
        return
    for line in read_text(path).splitlines():
        try:
            note = json.loads(line)
        except ValueError:
            continue  # the line that a killed run left half-written
        if note.get("code") != _checks_digest():
            continue
        key = (note["base"], note["head"], tuple(note["from_base"]))
        findings = tuple(ReportedFinding(**finding) for finding in note["findings"])
        yield (
            key,
            ReviewOutcome(
                note["base"],
                note["head"],
                findings,
                note["seconds"],
                note["megabytes"],
                note["error"],
            ),
        )


def _note(path: str | None, job: _Job, outcome: ReviewOutcome) -> None:
    if path is not None:
        line = {**asdict(outcome), "from_base": list(job.from_base), "code": _checks_digest()}
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


@cache
def _checks_digest() -> str:
    """A digest of the checks' source: results of other checks are not used again."""
    digest = hashlib.sha256()
    folder = Path(checks.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _show_progress(done: int, total: int, lang: str) -> None:
    if not sys.stderr.isatty():
        return
    sentence = Catalog(lang)("eval.progress", done=done, total=total)
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r\x1b[K{sentence}{end}")
    sys.stderr.flush()


def _review(job: _Job) -> ReviewOutcome:
    """One review, in a worker process.

    This is an edge of the process: whatever a rule raises becomes the outcome's error.
    """
    stop_collecting()
    started = time.perf_counter()
    findings: tuple[ReportedFinding, ...] = ()
    error = ""
    try:
        findings = tuple(_findings(job))
    except UserError as refused:
        values = " ".join(str(value) for value in refused.args_.values())
        error = f"{refused.key}: {values}"
    except Exception:
        error = traceback.format_exc(limit=-6)
    seconds = round(time.perf_counter() - started, 3)
    # Nobody else tidies up after a change, and this process goes on to the next.
    gc.collect()
    return ReviewOutcome(job.base, job.head, findings, seconds, _megabytes(), error)


def _megabytes() -> float:
    """The most that this process, or one that it started, has held."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    # macOS counts in bytes, Linux in KiB.
    unit = 1 if sys.platform == "darwin" else 1024
    return round(max(own, children) * unit / 1e6, 1)


def _findings(job: _Job) -> Iterator[ReportedFinding]:
    git = Git(Path(job.repo))
    rules = [rule for rule in RULES if not job.rules or rule.ID in job.rules]
    words = Catalog("en")
    with BlobStore(git) as blobs:
        compared = resolve(git, job.base, job.head, merge_base=False)
        change = _variant(change_set(git, blobs, compared, PullRequest()), job.from_base)
        config = load_configuration(change.base, None, None)
        outcome = review(change, config, rules, pedantic=job.pedantic)
        for finding in outcome.findings:
            place = finding.location
            yield ReportedFinding(
                finding.rule,
                finding.severity.value,
                place.path,
                place.start_line,
                place.end_line,
                words.message(finding.rule, finding.message),
            )


def _variant(change: ChangeSet, folders: tuple[str, ...]) -> ChangeSet:
    """`change` with these folders of the head as they are in the base."""
    if not folders:
        return change
    head = PatchedTree(change.head, change.base, folders)
    files = tuple(file for file in change.files if not file.path.startswith(folders))
    return ChangeSet(change.base, head, files, change.pull, change.base_rev, change.head_rev)
