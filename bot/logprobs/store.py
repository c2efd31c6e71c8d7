"""The store of logprob baselines: a folder, or the same folder in a git revision (`git:REV:PATH`).

A baseline has a folder of its own under the store, called by its key. In it stands `log.jsonl`, a
line for each time it moved on (when, who, why, verdict, digests), and the records of the last line,
in a file named by their digest. The line is what moves the baseline on: whatever is killed before
or after it leaves a whole one.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import orjson

from bot.errors import UserError
from bot.git import Git, object_id
from bot.logprobs.files import read_records, reading
from checks.logprobs.record import MODES, Key

LOG = "log.jsonl"
GIT = "git:"
_NEAREST = 3


@dataclass(frozen=True, slots=True)
class Baseline:
    """The newest records under a key.

    `entry` is the last line of its log, `moves` the number of lines.
    """

    key: Key
    folder: str
    entry: dict[str, Any]
    moves: int

    @property
    def file(self) -> str:
        """Where the records are, in the store."""
        return f"{self.folder}/{self.entry['new']}.jsonl"


class Store(Protocol):
    """Where baselines are read from. Paths count from the store's top."""

    def folders(self) -> list[str]:
        """The folders that have a log, sorted."""
        ...

    def read(self, path: str) -> bytes: ...

    def copy_file(self, path: str, into: Path) -> Path:
        """The file itself, or a copy of it in the folder `into`."""
        ...


@dataclass(frozen=True, slots=True)
class FolderStore:
    """A directory."""

    root: Path

    def folders(self) -> list[str]:
        return sorted(log.parent.name for log in self.root.glob(f"*/{LOG}"))

    def read(self, path: str) -> bytes:
        with reading(self.root / path) as file:
            return file.read()

    def copy_file(self, path: str, into: Path) -> Path:
        return self.root / path


@dataclass(frozen=True, slots=True)
class GitStore:
    """A folder of a revision, in the repository of the current directory."""

    git: Git
    tree: str  # an object id
    root: str

    def folders(self) -> list[str]:
        listed = self.git.run(
            "ls-tree", "-r", "-z", "--name-only", "--full-tree", self.tree, "--", f"{self.root}/"
        )
        folders = []
        for name in listed.split(b"\0")[:-1]:
            path = PurePosixPath(os.fsdecode(name)).relative_to(self.root)
            if len(path.parts) == 2 and path.name == LOG:
                folders.append(path.parent.name)
        return sorted(folders)

    def read(self, path: str) -> bytes:
        return self.git.run("cat-file", "blob", f"{self.tree}:{self.root}/{path}")

    def copy_file(self, path: str, into: Path) -> Path:
        copy = into / PurePosixPath(path).name
        with copy.open("wb") as file:
            blob = f"{self.tree}:{self.root}/{path}"
            self.git.finish(self.git.start("cat-file", "blob", blob, stdout=file))
        return copy


def open_store(name: str) -> Store:
    """The store that a person named. Raises `UserError` where there is none."""
    if not name.startswith(GIT):
        if not Path(name).is_dir():
            raise UserError("no-directory", path=name)
        return FolderStore(Path(name))
    revision, _, path = name.removeprefix(GIT).rpartition(":")
    root = path.strip("/")
    if not revision or not root:
        raise UserError("store-git", name=name)
    git = Git(Path())
    tree = object_id(git, f"{revision}^{{tree}}")
    if tree is None:
        raise UserError("unknown-revision", rev=revision, near=[])
    if object_id(git, f"{tree}:{root}") is None:
        raise UserError("no-directory", path=name)
    return GitStore(git, tree, root)


def baselines(store: Store) -> list[Baseline]:
    """Every baseline, by key. Raises `UserError` for a log that cannot be read."""
    newest = []
    for folder in store.folders():
        entries = read_log(store.read(f"{folder}/{LOG}"), f"{folder}/{LOG}")
        if entries:
            newest.append(Baseline(_key(entries[-1], folder), folder, entries[-1], len(entries)))
    return sorted(newest, key=lambda baseline: baseline.key)


def find(store: Store, key: Key) -> Baseline:
    """The baseline under `key`. Raises `UserError`, with the nearest keys, where there is none."""
    keys = []
    for baseline in baselines(store):
        if baseline.key == key:
            return baseline
        keys.append(baseline.key)
    keys.sort(key=lambda other: (_distance(other, key), other))
    raise UserError("baseline-none", key=label(key), near=[label(k) for k in keys[:_NEAREST]])


@contextmanager
def baseline_file(name: str, key: Key) -> Iterator[Path]:
    """The file of records under `key` in the store that a person named, for as long as the context
    lasts.
    """
    store = open_store(name)
    with tempfile.TemporaryDirectory(prefix="specbot-") as folder:
        yield store.copy_file(find(store, key).file, Path(folder))


@contextmanager
def base_of(store: str, head: str) -> Iterator[str]:
    """The file of the baseline in `store` under the key of the records in file `head`."""
    first = next(read_records(head), None)
    if first is None:
        raise UserError("accept-none", path=head)
    with baseline_file(store, first.origin.key) as path:
        yield str(path)


def label(key: Key) -> str:
    """A key in one line."""
    return f"{key.device} · {key.engine} {key.engine_version} · {key.model} · {key.mode}"


def folder_of(key: Key) -> str:
    """The name of a key's folder: what a person can read of it, and a digest that tells it from
    every other.
    """
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", label(key)).strip("-.")[:80]
    digest = hashlib.sha256(orjson.dumps(asdict(key), option=orjson.OPT_SORT_KEYS)).hexdigest()
    return f"{readable}-{digest[:8]}"


def read_log(data: bytes, name: str) -> list[dict[str, Any]]:
    """The lines of a log. One without its end was never written whole, and does not count."""
    entries = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise UserError("store-log", path=name, line=number) from error
        if not isinstance(entry, dict) or not re.fullmatch(r"[0-9a-f]{64}", str(entry.get("new"))):
            raise UserError("store-log", path=name, line=number)
        entries.append(entry)
    return entries


def _key(entry: dict[str, Any], folder: str) -> Key:
    match entry.get("key"):
        case {
            "device": str(device),
            "engine": str(engine),
            "engine_version": str(version),
            "model": str(model),
            "mode": mode,
        } if mode in MODES:
            return Key(device, engine, version, model, mode)
    raise UserError("store-log", path=f"{folder}/{LOG}", line=1)


def _distance(a: Key, b: Key) -> int:
    """Fields that differ; the device counts twice, since another one is least likely to have been
    meant.
    """
    distance = 0
    for field in fields(Key):
        if getattr(a, field.name) != getattr(b, field.name):
            distance += 2 if field.name == "device" else 1
    return distance
