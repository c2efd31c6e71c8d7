"""The changes that are reviewed: the one that the limit is stated for, a large one, and series of
one size each."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.bench.scratch import Scratch
from tests.example.build import build

# PaddlePaddle/FastDeploy#7884.
KNOWN = "c52b06310"
FILES = 2300
COUNTS = (1, 5, 20, 50, 100, 200)
_SNAKE = re.compile(rb"\b(?!_)[a-z]+(?:_[a-z0-9]+)+\b(?<!_t)(?<!_cast)")


@dataclass(frozen=True)
class Range:
    """Two commits of the scratch repository; `label` says what the row measures."""

    label: str
    base: str
    head: str


@dataclass(frozen=True)
class Changes:
    """`main` has the limit of one review, `large` that of a 200-file one."""

    note: str
    main: Range
    large: Range
    by_files: tuple[Range, ...]


def of_repository(scratch: Scratch, base: str | None, head: str | None) -> Changes:
    """Changes out of real history: the range given, or #7884 as first pushed where it is known,
    else the last one."""
    first_pushed = _first_pushed(scratch) if head is None else None
    if first_pushed is not None:
        main = Range("#7884 as first pushed", *first_pushed)
        newest = KNOWN
    else:
        newest = head or "HEAD"
        base = base or f"{newest}^"
        main = Range(f"{base}..{newest}", base, newest)
    return _changes(scratch, "", main, _older(scratch, newest, max(COUNTS)), newest)


def synthetic(scratch: Scratch, folder: Path) -> Changes:
    """The bundled example many times over, each copy with its own names, as a repository of
    FastDeploy's size."""
    example = build(folder / "example")
    before, after = (_texts(example.repo, commit) for commit in (example.base, example.head))
    copies = FILES // len(before)
    old = {path: text for n in range(copies) for path, text in _copy(before, n).items()}
    new = {path: text for n in range(copies) for path, text in _copy(after, n).items()}
    base, all_new = scratch.commit_texts(old), scratch.commit_texts(new)
    head = scratch.commit_texts({**old, **_copy(after, 0)})
    size = sum(map(len, old.values())) / 1e6
    note = f"no --repo: a synthetic repository, the bundled example {copies} times ({len(old)} files, {size:.1f} MB)"
    return _changes(scratch, note, Range("the example's change", base, head), base, all_new)


def _changes(scratch: Scratch, note: str, main: Range, before: str, after: str) -> Changes:
    old, new = scratch.tree(before), scratch.tree(after)
    paths = scratch.changed(before, after)
    by_files = []
    for count in COUNTS:
        part = paths[:: max(1, len(paths) // count)][:count]
        kept = {path: entry for path, entry in old.items() if path not in part}
        head = scratch.commit(kept | {path: new[path] for path in part if path in new})
        by_files.append(Range(f"{len(part)} files", before, head))
    return Changes(note, main, by_files[-1], tuple(by_files))


def _first_pushed(scratch: Scratch) -> tuple[str, str] | None:
    """#7884 before its author mended the tests: its tree with `tests/` of its parent."""
    try:
        base, head = scratch.tree(f"{KNOWN}^"), scratch.tree(KNOWN)
    except subprocess.CalledProcessError:
        return None
    mixed = {p: e for p, e in head.items() if not p.startswith("tests/")}
    return f"{KNOWN}^", scratch.commit(
        mixed | {p: e for p, e in base.items() if p.startswith("tests/")}
    )


def _older(scratch: Scratch, head: str, files: int) -> str:
    """The nearest commit of the first-parent history from which `head` differs in `files` files, or
    the oldest."""
    commits = scratch.git("rev-list", "--first-parent", "-n", "1000", head).split()
    low, high = 0, len(commits) - 1
    while low < high:
        middle = (low + high) // 2
        if len(scratch.changed(commits[middle], head)) >= files:
            high = middle
        else:
            low = middle + 1
    return commits[low]


def _texts(repo: Path, commit: str) -> dict[str, bytes]:
    listed = subprocess.run(
        ["git", "-C", repo, "ls-tree", "-r", "--name-only", commit], check=True, capture_output=True
    )
    shown = (
        ("git", "-C", repo, "show", f"{commit}:{path}") for path in listed.stdout.decode().split()
    )
    return {
        args[-1].split(":", 1)[1]: subprocess.run(args, check=True, capture_output=True).stdout
        for args in shown
    }


def _copy(files: dict[str, bytes], number: int) -> dict[str, bytes]:
    """The files as they are for copy 0, else in a folder of their own and with other names in
    them."""
    if not number:
        return files
    ending = b"_c%d" % number
    return {
        f"engines/c{number}/{path}": _SNAKE.sub(rb"\g<0>" + ending, text)
        for path, text in files.items()
    }
