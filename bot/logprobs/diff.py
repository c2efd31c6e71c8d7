"""`specbot logprobs diff`: base's records against head's, and a verdict."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from stat import S_ISREG

from bot.errors import UserError
from bot.files import write_output
from bot.logprobs.pairs import OutOfOrder, compare_in_step, compare_indexed
from bot.logprobs.record_index import shares_a_name, write_index
from bot.logprobs.store import base_of
from bot.packaging import require_extra
from bot.reports.logprobs import render
from bot.reports.logprobs_pictures import draw
from checks.logprobs.compare import (
    Collector,
    ComparisonOutcome,
    ComparisonStats,
    calibrated_tolerance,
    decide,
)


def run(args: argparse.Namespace) -> int:
    """Write the report; 0 where a baseline may be recorded anew without anybody looking, else 1."""
    if args.pictures is not None:
        require_extra("pictures")
    with _base(args) as base:
        outcome = compare(base, args.head, args.aa or ())
    if args.pictures is not None:
        draw(outcome, Path(args.pictures), args.lang)
    write_output(render(outcome, args.format, args.lang, verbose=args.verbose), args.output)
    return 0 if outcome.safe else 1


def _base(args: argparse.Namespace) -> AbstractContextManager[str]:
    """The file that head is compared with.

    It is the one that was named, or the baseline in the store under the key of head's records.
    """
    if args.base is not None and args.store is None:
        return nullcontext(args.base)
    if args.base is not None or args.store is None:
        raise UserError("diff-base")
    return base_of(args.store, args.head)


def compare(base: str, head: str, again: Sequence[str] = ()) -> ComparisonOutcome:
    """The outcome of two files. Raises `UserError` for what cannot be read.

    `again` are more runs of base, which say how far two runs are apart by themselves.
    """
    paths = [Path(name) for name in (base, head, *again)]
    for path in paths:
        _check(path)
    base_path, head_path, *again_paths = paths
    if not again_paths:
        return decide(_tally(base_path, head_path, None))
    known = _tally(base_path, again_paths[0], None)
    for path in again_paths[1:]:
        known.merge(_tally(base_path, path, None))
    return decide(_tally(base_path, head_path, calibrated_tolerance(known)), known)


def _check(path: Path) -> None:
    """Raise `UserError` for an empty file, and for what is no file on a disk.

    A file may be read more than once, and out of order.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise UserError("unreadable", path=str(path), reason=error.strerror) from error
    if not S_ISREG(status.st_mode):
        raise UserError("not-regular", path=str(path))
    if not status.st_size:
        raise UserError("accept-none", path=str(path))


def _tally(base: Path, head: Path, tolerance: float | None) -> ComparisonStats:
    """The numbers of both files.

    `tolerance` is in ulps, None where no further run of base says it.
    """
    try:
        return compare_in_step(base, head, _collector(tolerance))
    except OutOfOrder:
        pass
    with tempfile.TemporaryDirectory(prefix="specbot-") as name:
        folder = Path(name)
        kind = _write_indexes(base, head, folder)
        return compare_indexed(base, head, folder, kind, _collector(tolerance))


def _collector(tolerance: float | None) -> Collector:
    if tolerance is None:
        return Collector()
    return Collector(tolerance, calibrated=True)


def _write_indexes(base: Path, head: Path, folder: Path) -> str:
    """Index both files by id, and by prompt where they share no id. Which of the two it is."""
    for kind in ("id", "prompt"):
        write_index(base, folder, f"base-{kind}")
        write_index(head, folder, f"head-{kind}")
        if shares_a_name(folder, kind):
            return kind
    return "id"
