"""Many changes reviewed, in several processes; what was stopped is gone on with."""

from __future__ import annotations

import gc
import hashlib
import json
import multiprocessing
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import checks
from bot.configuration import load_configuration
from bot.errors import UserError
from bot.files import read_text
from bot.garbage import stop_collecting
from bot.git import BlobStore, Git, change_set, resolve
from bot.i18n.catalog import Catalog
from checks.core.change import ChangeSet, PullRequest
from checks.core.tree import PatchedTree
from checks.evaluation.outcome import ChangeKey, ReportedFinding, ReviewOutcome
from checks.registry import RULES
from checks.review import review


@dataclass(frozen=True, slots=True)
class ReviewJob:
    """A change of the clone `repo` to review, with `rules` alone where any are named."""

    repo: str
    base: str
    head: str
    from_base: tuple[str, ...]
    rules: tuple[str, ...]
    pedantic: bool

    @property
    def key(self) -> ChangeKey:
        return self.base, self.head, self.from_base


def review_outcomes(
    jobs: Sequence[ReviewJob], processes: int, notes: str | None, lang: str
) -> Iterator[tuple[ChangeKey, ReviewOutcome]]:
    """The outcome of each job: from the resume file where it has one, else computed and noted
    there."""
    known = dict(_read_notes(notes))
    left = []
    for job in jobs:
        if job.key in known:
            yield job.key, known[job.key]
        else:
            left.append(job)
    done = len(jobs) - len(left)
    with ProcessPoolExecutor(processes, initializer=_ignore_interrupts) as pool:
        try:
            for job, outcome in zip(left, pool.map(_review, left), strict=True):
                done += 1
                _note(notes, job, outcome)
                _show_progress(done, len(jobs), lang)
                yield job.key, outcome
        except KeyboardInterrupt:
            # A review may take a minute, and the pool waits for those that have begun.
            for child in multiprocessing.active_children():
                child.kill()
            raise


def _ignore_interrupts() -> None:
    """^C is for the process that the person started: it ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _read_notes(path: str | None) -> Iterator[tuple[ChangeKey, ReviewOutcome]]:
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


def _note(path: str | None, job: ReviewJob, outcome: ReviewOutcome) -> None:
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


def _review(job: ReviewJob) -> ReviewOutcome:
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


def _findings(job: ReviewJob) -> Iterator[ReportedFinding]:
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
