"""`specbot logprobs diff`: base's records against head's, and a verdict.

What needs numpy is imported where it is used: the processes that share the work then import it at the same time.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

from bot.errors import UserError
from bot.files import write_output
from bot.logprobs.places import OutOfOrder

if TYPE_CHECKING:
    from checks.logprobs.compare import Collector, Outcome, Tally

# Files from which on a second process is worth its start.
_LARGE = 4 << 20


@dataclass(frozen=True, slots=True)
class _Share:
    """What one process does: every `of`-th part of the work, from `number` on. tolerance: None without an A/A run."""

    base: Path
    head: Path
    tolerance: float | None
    number: int
    of: int

    @property
    def collector(self) -> Collector:
        from checks.logprobs.compare import Collector

        return Collector() if self.tolerance is None else Collector(self.tolerance, calibrated=True)


def run(args: argparse.Namespace) -> int:
    """Write the report; 0 where a baseline may be recorded anew without anybody looking, else 1."""
    with _base(args) as base:
        outcome = compare(base, args.head, args.aa or (), jobs=args.jobs)
    if args.pictures is not None:
        from bot.reports.logprobs_pictures import draw

        draw(outcome, Path(args.pictures), args.lang)
    from bot.reports.logprobs import render

    write_output(render(outcome, args.format, args.lang), args.output)
    return 0 if outcome.safe else 1


def _base(args: argparse.Namespace) -> AbstractContextManager[str]:
    """The file that head is compared with: the one that was named, or the baseline under the key of head's records."""
    if args.base is not None and args.store is None:
        return nullcontext(args.base)
    if args.base is not None or args.store is None:
        raise UserError("diff-base")
    from bot.logprobs.store import base_of

    return base_of(args.store, args.head)


def compare(base: str, head: str, again: Sequence[str] = (), *, jobs: int = 2) -> Outcome:
    """The outcome of two files. `again` are more runs of base, which say how far two runs are apart by themselves.

    Raises `UserError` for what cannot be read. `jobs` processes, this one among them, read large files.
    """
    paths = [Path(name) for name in (base, head, *again)]
    for path in paths:
        _check(path)
    runs = [_tally(paths[0], path, None, jobs) for path in paths[2:]]
    if runs:
        from checks.logprobs.compare import calibrated, decide

        known = _sum(runs)
        return decide(_tally(paths[0], paths[1], calibrated(known), jobs), known)
    tally = _tally(paths[0], paths[1], None, jobs)
    from checks.logprobs.compare import decide

    return decide(tally)


def _check(path: Path) -> None:
    """Raise `UserError` for what is no file on a disk (it may be read more than once, and out of order), or empty."""
    try:
        found = path.stat()
    except OSError as error:
        raise UserError("unreadable", path=str(path), reason=error.strerror) from error
    if not S_ISREG(found.st_mode):
        raise UserError("not-regular", path=str(path))
    if not found.st_size:
        raise UserError("accept-none", path=str(path))


def _tally(base: Path, head: Path, tolerance: float | None, jobs: int) -> Tally:
    of = max(1, jobs) if max(base.stat().st_size, head.stat().st_size) > _LARGE else 1
    shares = [_Share(base, head, tolerance, n, of) for n in range(of)]
    try:
        return _done(_in_step, shares)
    except OutOfOrder:
        pass
    with tempfile.TemporaryDirectory(prefix="specbot-") as name:
        folder = Path(name)
        return _done(partial(_by_index, folder, _indexed(base, head, folder)), shares)


def _indexed(base: Path, head: Path, folder: Path) -> str:
    """Index both files by id, and by prompt where they share no id; which of the two it is."""
    from bot.logprobs.pairs import index, shares_a_name

    for kind in ("id", "prompt"):
        index(base, folder, f"base-{kind}")
        index(head, folder, f"head-{kind}")
        if shares_a_name(folder, kind):
            return kind
    return "id"


def _done(work: Callable[[_Share], Tally], shares: list[_Share]) -> Tally:
    """The sum of all shares: the first is done here, each of the others in a process of its own."""
    if len(shares) == 1:
        return work(shares[0])
    # Not a fork: the caller may be a server with threads.
    with ProcessPoolExecutor(len(shares) - 1, mp_context=get_context("spawn")) as pool:
        others = pool.map(work, shares[1:])
        return _sum([work(shares[0]), *others])


def _sum(parts: list[Tally]) -> Tally:
    for part in parts[1:]:
        parts[0].merge(part)
    return parts[0]


def _in_step(share: _Share) -> Tally:
    from bot.logprobs.pairs import compare_in_step

    return compare_in_step(share.base, share.head, (share.number, share.of), share.collector)


def _by_index(folder: Path, kind: str, share: _Share) -> Tally:
    from bot.logprobs.pairs import compare_indexed

    return compare_indexed(
        share.base, share.head, folder, kind, (share.number, share.of), share.collector
    )
