"""`specbot logprobs accept` and `baselines`: a baseline moves on, and who moved it and why stays on
record.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from bot.errors import UserError
from bot.files import read_text, write_chunks, write_output
from bot.i18n.catalog import Catalog
from bot.logprobs.files import read_records, unless_unwritable
from bot.logprobs.store import GIT, LOG, Store, baselines, folder_of, label, open_store, read_log
from checks.logprobs.jsonl import write
from checks.logprobs.record import Key

_WHO = ("GITHUB_ACTOR", "USER", "LOGNAME")


def accept(args: argparse.Namespace) -> int:
    """Make the records of a file the baseline under their key."""
    if args.store.startswith(GIT):
        raise UserError("store-read-only", name=args.store)
    if not args.why.strip():
        raise UserError("accept-why")
    who = args.who or next((os.environ[name] for name in _WHO if os.environ.get(name)), None)
    if who is None:
        raise UserError("accept-who")
    said = {
        "accepted": args.at or _now(),
        "who": who,
        "why": args.why.strip(),
        "verdict": _verdict(args.verdict),
    }
    moved = move(Path(args.store), args.record, said)
    words = Catalog(args.lang)
    key = "logprobs.accepted" if moved["old"] != moved["new"] else "logprobs.accepted-already"
    write_output(
        words(key, key=label(Key(**moved["key"])), requests=moved["requests"], store=args.store)
        + "\n",
        None,
    )
    return 0


def move(root: Path, record: str, said: dict[str, Any]) -> dict[str, Any]:
    """Make the records of the file `record` the baseline in the store `root`; the line of its log,
    which has `said`: `accepted` (when), `who`, `why` and `verdict`, and may have `order`. The same
    records again change nothing, and of the same order the line is the one that was written.
    """
    with unless_unwritable(root):
        root.mkdir(parents=True, exist_ok=True)
        with _alone(root):
            return _move(root, record, said)


def show(args: argparse.Namespace) -> int:
    """List the baselines of a store, and who moved each on last."""
    write_output("".join(_lines(open_store(args.store), Catalog(args.lang))), args.output)
    return 0


def _lines(store: Store, words: Catalog) -> Iterator[str]:
    in_store = baselines(store)
    if not in_store:
        yield words("logprobs.baselines-none") + "\n"
    for baseline in in_store:
        entry = baseline.entry
        counts = {name: entry.get(name, 0) for name in _COUNTED}
        moved = words(
            "logprobs.baseline-moved",
            who=entry.get("who", ""),
            why=entry.get("why", ""),
            when=entry.get("accepted", ""),
            verdict=(entry.get("verdict") or {}).get("verdict"),
        )
        yield f"{label(baseline.key)}\n"
        yield f"  {words('logprobs.baseline-size', **counts)}\n"
        yield f"  {moved}\n"
        yield f"  {baseline.file}\n"


_COUNTED = ("requests", "tokens", "columns")


def _move(root: Path, name: str, said: dict[str, Any]) -> dict[str, Any]:
    """Write the records, then the line of the log that counts, then remove the old records.

    In this order a whole baseline is left wherever the process is killed.
    """
    counted = _Counted(name)
    temporary = root / f".{os.getpid()}.jsonl"
    try:
        write_chunks(counted.lines(), str(temporary))
        folder = root / folder_of(counted.only_key())
        folder.mkdir(exist_ok=True)
        log = folder / LOG
        written = log.read_bytes() if log.exists() else b""
        entries = read_log(written, str(log))
        old = entries[-1]["new"] if entries else None
        new = counted.digest.hexdigest()
        entry = {
            "key": asdict(counted.only_key()),
            "old": old,
            "new": new,
            **counted.counts,
            **said,
        }
        if old == new:
            # Who was killed after moving it and asks again gets the line that they wrote.
            same_order = "order" in said and entries[-1].get("order") == said["order"]
            return entries[-1] if same_order else entry
        temporary.replace(folder / f"{new}.jsonl")
        whole_lines = written[: written.rfind(b"\n") + 1]
        write_chunks((whole_lines, orjson.dumps(entry), b"\n"), str(log))
        if old is not None:
            (folder / f"{old}.jsonl").unlink(missing_ok=True)
        return entry
    finally:
        temporary.unlink(missing_ok=True)


class _Counted:
    """A file of records on its way into the store: one form for all, counted, under one key."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.digest = hashlib.sha256()
        self.counts = dict.fromkeys(_COUNTED, 0)
        self._keys: set[Key] = set()
        self._ids: set[str] = set()

    def lines(self) -> Iterator[bytes]:
        """The records' lines.

        Raises `UserError` for an id that comes twice and for a second key.
        """
        for record in read_records(self.name):
            if record.id in self._ids:
                raise UserError("accept-twice", path=self.name, id=record.id)
            self._ids.add(record.id)
            self._keys.add(record.origin.key)
            if len(self._keys) > 1:
                raise UserError(
                    "accept-keys", path=self.name, keys=[label(key) for key in sorted(self._keys)]
                )
            self.counts["requests"] += 1
            self.counts["tokens"] += len(record)
            self.counts["columns"] = max(self.counts["columns"], record.k)
            line = write(record)
            self.digest.update(line)
            yield line

    def only_key(self) -> Key:
        """The key of them all. Raises `UserError` where there was no record."""
        if not self._keys:
            raise UserError("accept-none", path=self.name)
        return next(iter(self._keys))


def _verdict(name: str | None) -> dict[str, str] | None:
    """What the comparison said, and which report that was: its verdict and the digest of its
    JSON."""
    if name is None:
        return None
    text = read_text(name)
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError:
        data = None
    if not isinstance(data, dict) or not isinstance(data.get("verdict"), str):
        raise UserError("accept-verdict", path=name)
    return {"verdict": data["verdict"], "sha256": hashlib.sha256(text.encode("utf-8")).hexdigest()}


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """One process at a time may move baselines of a store on."""
    handle = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
