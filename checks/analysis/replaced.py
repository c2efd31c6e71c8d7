"""Names that a change put in the place of others: told from lines that are the same but for one name."""

from __future__ import annotations

import difflib
import keyword
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from checks.change import ChangeSet, FileChange
from checks.config import Config
from checks.finding import Location, Side
from checks.ir.node import node
from checks.source import language

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\S")
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_MOST_TOKENS = 1500
_AROUND = 2
_TYPES = """int float bool void const auto char long short double unsigned true false nullptr return static this
int32_t int64_t uint32_t uint64_t size_t nullopt Tensor paddle torch std self"""
_WORDS = frozenset(keyword.kwlist) | frozenset(_TYPES.split())


@node
class Replacement:
    """`old` became `new` at `places` (lines of the head), with the code around it as it was. `left` are the product
    files of the head that still hold `old`."""

    old: str
    new: str
    places: tuple[Location, ...]
    left: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(p.path for p in self.places))


def replacements(change: ChangeSet, config: Config) -> tuple[Replacement, ...]:
    """Every replaced name, the most frequent first. A name that was exchanged once, in one place, counts only where
    it is gone from the product code."""
    found: dict[tuple[str, str], list[Location]] = defaultdict(list)
    for file in change.files:
        if file.base_path and file.head_path and language(file.head_path) and file.mode == "file":
            for old, new, line in _in_file(change, file):
                found[old, new].append(Location(file.head_path, line))
    made = [
        Replacement(old, new, tuple(places), _left(old, change, config))
        for (old, new), places in found.items()
        if any(not config.is_test(p.path) for p in places)
    ]
    kept = [r for r in made if len(r.places) > 1 or not r.left]
    return tuple(sorted(kept, key=lambda r: (-len(r.places), r.old, r.new)))


def _left(name: str, change: ChangeSet, config: Config) -> tuple[str, ...]:
    paths = dict.fromkeys(h.path for h in change.head.find(name))
    return tuple(p for p in paths if language(p) and not config.is_test(p))


def _in_file(change: ChangeSet, file: FileChange) -> Iterator[tuple[str, str, int]]:
    assert file.base_path is not None and file.head_path is not None
    base, head = change.unit(file.base_path, Side.BASE), change.unit(file.head_path)
    if base is None or head is None:
        return
    for hunk in file.hunks:
        if hunk.base_len and hunk.head_len:
            old = base.lines[hunk.base_start - 1 : hunk.base_start - 1 + hunk.base_len]
            new = head.lines[hunk.head_start - 1 : hunk.head_start - 1 + hunk.head_len]
            yield from _in_hunk(old, new, hunk.head_start)


def _in_hunk(old: Sequence[str], new: Sequence[str], start: int) -> Iterator[tuple[str, str, int]]:
    """(old name, new name, head line) of every single name exchanged between code that stayed."""
    before = [(t, i) for i, line in enumerate(old) for t in _TOKEN.findall(_code(line))]
    after = [(t, i) for i, line in enumerate(new) for t in _TOKEN.findall(_code(line))]
    if len(before) > _MOST_TOKENS or len(after) > _MOST_TOKENS:
        return
    a, b = [t for t, _ in before], [t for t, _ in after]
    blocks = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for n, (tag, i1, i2, j1, j2) in enumerate(blocks):
        if tag != "replace" or i2 - i1 != 1 or j2 - j1 != 1:
            continue
        left = n == 0 or _length(blocks[n - 1]) >= _AROUND or n == 1
        right = n + 1 == len(blocks) or _length(blocks[n + 1]) >= _AROUND or n + 2 == len(blocks)
        old_name, new_name = a[i1], b[j1]
        if left and right and _is_name(old_name) and _is_name(new_name) and not _was_set(new_name, a):
            yield old_name, new_name, start + after[j1][1]


def _was_set(name: str, tokens: list[str]) -> bool:
    """Whether the old lines set `name` themselves: then it replaced nothing there."""
    return any(token == name and after == "=" for token, after in pairwise(tokens))


def _code(line: str) -> str:
    """The line without its comment."""
    return re.split(r"(?<!['\"])(?:#\s|//)", line, maxsplit=1)[0]


def _length(block: tuple[str, int, int, int, int]) -> int:
    return block[2] - block[1] if block[0] == "equal" else 0


def _is_name(token: str) -> bool:
    return _NAME.fullmatch(token) is not None and token not in _WORDS
