"""`specbot eval`: the rules on labelled cases, or on the last changes of a history, in parallel and resumable."""

from __future__ import annotations

import argparse
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
from bot.configuration import configuration
from bot.errors import UserError
from bot.files import read_text, write_output
from bot.git import Blobs, Git, change_set, resolve
from bot.i18n.catalog import Catalog
from bot.reports.evaluation import summary, table
from checks.core.change import ChangeSet, PullRequest
from checks.core.tree import PatchedTree
from checks.evaluation import Case, CaseError, Outcome, Reported, parse_cases, score
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
    """Review every change, print the score, and write it where `-o` says. 0 unless a review crashed (3)."""
    cases = _cases(args)
    jobs = [*_labelled(cases, args), *_history(args)]
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
        from bot.reports.evaluation import plot

        plot(scored, Path(args.plot))
    return 3 if scored.errors else 0


def _cases(args: argparse.Namespace) -> tuple[Case, ...]:
    if args.cases is None:
        return ()
    try:
        cases = parse_cases(read_text(args.cases))
    except CaseError as error:
        raise UserError(
            "eval-case", file=args.cases, line=error.line, problem=error.problem
        ) from error
    return tuple(c for c in cases if not args.rule or c.kind == "clean" or c.rule in args.rule)


def _labelled(cases: Iterable[Case], args: argparse.Namespace) -> list[_Job]:
    keys = dict.fromkeys(c.change for c in cases)
    return [
        _Job(args.repo, *key, tuple(args.rule or ()), args.persona == "pedantic") for key in keys
    ]


def _history(args: argparse.Namespace) -> list[_Job]:
    """The last `--history` commits that touch `--path`, each against its first parent."""
    if not args.history:
        return []
    git = Git(Path(args.repo))
    found = git.run(
        "log", "--no-merges", "--format=%H", f"-{args.history}", "HEAD", "--", *args.path
    )
    heads = found.decode().split()
    return [
        _Job(args.repo, f"{h}^", h, (), tuple(args.rule or ()), args.persona == "pedantic")
        for h in heads
    ]


def _outcomes(jobs: list[_Job], args: argparse.Namespace) -> Iterator[tuple[Key, Outcome]]:
    """The outcome of each job: from the resume file where it has one, else computed and noted there."""
    known = dict(_resumed(args.resume))
    left = [j for j in jobs if j.key not in known]
    yield from ((j.key, known[j.key]) for j in jobs if j.key in known)
    with ProcessPoolExecutor(args.jobs) as pool:
        for n, (job, outcome) in enumerate(zip(left, pool.map(_review, left), strict=True), 1):
            _note(args.resume, job, outcome)
            _progress(n + len(jobs) - len(left), len(jobs), args.lang)
            yield job.key, outcome


def _resumed(path: str | None) -> Iterator[tuple[Key, Outcome]]:
    if path is None or not Path(path).exists():
        return
    for line in read_text(path).splitlines():
        try:
            raw = json.loads(line)
        except ValueError:
            continue  # the line that a killed run left half-written
        if raw.get("code") == _code():
            findings = tuple(Reported(**f) for f in raw["findings"])
            key = (raw["base"], raw["head"], tuple(raw["from_base"]))
            yield (
                key,
                Outcome(
                    raw["base"],
                    raw["head"],
                    findings,
                    raw["seconds"],
                    raw["megabytes"],
                    raw["error"],
                ),
            )


def _note(path: str | None, job: _Job, outcome: Outcome) -> None:
    if path is not None:
        line = {**asdict(outcome), "from_base": list(job.from_base), "code": _code()}
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


@cache
def _code() -> str:
    """A digest of the checks: what other checks found is not gone on from."""
    digest = hashlib.sha256()
    folder = Path(checks.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _progress(done: int, total: int, lang: str) -> None:
    if sys.stderr.isatty():
        end = "\n" if done == total else ""
        sys.stderr.write("\r\x1b[K" + Catalog(lang)("eval.progress", done=done, total=total) + end)
        sys.stderr.flush()


def _review(job: _Job) -> Outcome:
    """One review, in a worker process. This is an edge: whatever a rule raises becomes the outcome's error."""
    started = time.perf_counter()
    try:
        findings = tuple(_findings(job))
        error = ""
    except UserError as refused:
        findings, error = (), f"{refused.key}: {' '.join(str(v) for v in refused.args_.values())}"
    except Exception:
        findings, error = (), traceback.format_exc(limit=-6)
    seconds = round(time.perf_counter() - started, 3)
    return Outcome(job.base, job.head, findings, seconds, _megabytes(), error)


def _megabytes() -> float:
    """The most that this process, or one that it started, has held."""
    most = max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return round(most * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)


def _findings(job: _Job) -> Iterator[Reported]:
    git = Git(Path(job.repo))
    rules = [r for r in RULES if not job.rules or r.ID in job.rules]
    with Blobs(git) as blobs:
        compared = resolve(git, job.base, job.head, merge_base=False)
        change = _variant(change_set(git, blobs, compared, PullRequest()), job.from_base)
        words = Catalog("en")
        outcome = review(
            change, configuration(change.base, None, None), rules, pedantic=job.pedantic
        )
        for f in outcome.findings:
            place = f.location
            text = words.message(f.rule, f.message)
            yield Reported(
                f.rule, f.severity.value, place.path, place.start_line, place.end_line, text
            )


def _variant(change: ChangeSet, folders: tuple[str, ...]) -> ChangeSet:
    """`change` with these folders of the head as they are in the base."""
    if not folders:
        return change
    head = PatchedTree(change.head, change.base, folders)
    files = tuple(f for f in change.files if not f.path.startswith(folders))
    return ChangeSet(change.base, head, files, change.pull, change.base_rev, change.head_rev)
