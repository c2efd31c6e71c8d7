"""`specbot logprobs diff`: base's records against head's, and a verdict."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from stat import S_ISREG

from bot.errors import UserError
from bot.files import write_output
from bot.logprobs.pairs import OutOfOrder, compare_in_step, compare_indexed, index, shares_a_name
from bot.logprobs.store import base_of
from checks.logprobs.compare import NOISE_ULPS, Collector, Outcome, Tally, calibrated, decide

# Files from which on a second process is worth its start.
_LARGE = 4 << 20


@dataclass(frozen=True, slots=True)
class _Share:
    """What one process does: every `of`-th part of the work, from `number` on."""

    base: Path
    head: Path
    tolerance: float
    calibrated: bool
    number: int
    of: int


def run(args: argparse.Namespace) -> int:
    """Write the report; 0 where a baseline may be recorded anew without anybody looking, else 1."""
    from bot.reports.logprobs import render

    with base_of(args.base, args.store, args.head) as base:
        outcome = compare(base, args.head, args.aa or (), jobs=args.jobs)
    if args.pictures is not None:
        from bot.reports.logprobs_pictures import draw

        draw(outcome, Path(args.pictures), args.lang)
    write_output(render(outcome, args.format, args.lang), args.output)
    return 0 if outcome.safe else 1


def compare(base: str, head: str, again: Sequence[str] = (), *, jobs: int = 2) -> Outcome:
    """The outcome of two files. `again` are more runs of base, which say how far two runs are apart by themselves.

    Raises `UserError` for what cannot be read. `jobs` processes read large files.
    """
    paths = [Path(name) for name in (base, head, *again)]
    for path in paths:
        _check(path)
    if not again:
        return decide(_tally(paths[0], paths[1], NOISE_ULPS, False, jobs))
    known = Tally()
    for path in paths[2:]:
        known.merge(_tally(paths[0], path, NOISE_ULPS, False, jobs))
    return decide(_tally(paths[0], paths[1], calibrated(known), True, jobs), known)


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


def _tally(base: Path, head: Path, tolerance: float, fitted: bool, jobs: int) -> Tally:
    of = max(1, jobs) if max(base.stat().st_size, head.stat().st_size) > _LARGE else 1
    shares = [_Share(base, head, tolerance, fitted, n, of) for n in range(of)]
    try:
        return _merged(_in_step, shares)
    except OutOfOrder:
        pass
    with tempfile.TemporaryDirectory(prefix="specbot-") as name:
        folder = Path(name)
        return _merged(partial(_by_index, folder, _indexed(base, head, folder)), shares)


def _indexed(base: Path, head: Path, folder: Path) -> str:
    """Index both files by id, and by prompt where they share no id; which of the two it is."""
    for kind in ("id", "prompt"):
        index(base, folder, f"base-{kind}")
        index(head, folder, f"head-{kind}")
        if shares_a_name(folder, kind):
            return kind
    return "id"


def _merged(work: Callable[[_Share], Tally], shares: list[_Share]) -> Tally:
    if len(shares) == 1:
        return work(shares[0])
    tally = Tally()
    # Not a fork: the caller may be a server with threads.
    with ProcessPoolExecutor(len(shares), mp_context=get_context("spawn")) as pool:
        for part in pool.map(work, shares):
            tally.merge(part)
    return tally


def _in_step(share: _Share) -> Tally:
    collector = Collector(share.tolerance, calibrated=share.calibrated)
    return compare_in_step(share.base, share.head, (share.number, share.of), collector)


def _by_index(folder: Path, kind: str, share: _Share) -> Tally:
    collector = Collector(share.tolerance, calibrated=share.calibrated)
    return compare_indexed(share.base, share.head, folder, kind, (share.number, share.of), collector)
