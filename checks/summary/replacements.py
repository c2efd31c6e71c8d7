"""Names that a change put in the place of others: told from lines that are the same but for one name."""

from __future__ import annotations

import difflib
import keyword
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Location, Side
from checks.core.tree import word_regex
from checks.lang.source import language
from checks.summary.definitions import defined

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\S")
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_MOST_TOKENS = 1500
_AROUND = 2
_BETWEEN = frozenset(",;{}")
_TYPES = """int float bool void const auto char long short double unsigned true false nullptr return static this
int32_t int64_t uint32_t uint64_t size_t nullopt Tensor paddle torch std self"""
_WORDS = frozenset(keyword.kwlist) | frozenset(_TYPES.split())


@dataclass(frozen=True, slots=True)
class _Exchange:
    """`old` became `new` at `place`; `called`: an opening parenthesis follows."""

    old: str
    new: str
    place: Location
    called: bool


@dataclass(frozen=True, slots=True)
class Replacement:
    """`new` stands at `places` (lines of the head) where `old` stood. `left` are the product files of the head that
    still hold `old`."""

    old: str
    new: str
    places: tuple[Location, ...]
    left: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(p.path for p in self.places))


def replacements(change: ChangeSet, config: Config) -> tuple[Replacement, ...]:
    """Every replaced name, the most frequent first. A name that was exchanged once, in one place, counts only where
    it is gone from the product code; one that is only called (`empty(...)`) only where the product defines it."""
    found: dict[tuple[str, str], list[_Exchange]] = defaultdict(list)
    for file in change.files:
        if file.base_path and file.head_path and language(file.head_path) and file.mode == "file":
            for exchange in _in_file(change, file):
                found[exchange.old, exchange.new].append(exchange)
    made = [
        Replacement(old, new, tuple(e.place for e in exchanges), _left(old, change, config))
        for (old, new), exchanges in found.items()
        if any(not config.is_test(e.place.path) for e in exchanges)
        and (len(exchanges) > 1 or not _stays(old, change, config))
        and (not all(e.called for e in exchanges) or defined(new, change, Side.HEAD, config))
    ]
    kept = [r for r in made if len(r.places) > 1 or not r.left]
    return tuple(sorted(kept, key=lambda r: (-len(r.places), r.old, r.new)))


def _stays(name: str, change: ChangeSet, config: Config) -> bool:
    """Whether product code that was changed still holds `name`: soon known, unlike what all of the product holds."""
    paths = (
        f.head_path
        for f in change.files
        if f.head_path and f.mode == "file" and not config.is_test(f.head_path)
    )
    units = (change.unit(path) for path in paths if language(path))
    return any(
        re.search(rf"{word_regex(name)}\b", line)
        for u in units
        if u is not None
        for line in u.lines
        if name in line
    )


def _left(name: str, change: ChangeSet, config: Config) -> tuple[str, ...]:
    return tuple(
        p for p in change.head.paths_containing(name) if language(p) and not config.is_test(p)
    )


def _in_file(change: ChangeSet, file: FileChange) -> Iterator[_Exchange]:
    assert file.base_path is not None and file.head_path is not None
    base, head = change.unit(file.base_path, Side.BASE), change.unit(file.head_path)
    if base is None or head is None:
        return
    for hunk in file.hunks:
        if hunk.base_len and hunk.head_len:
            old = base.lines[hunk.base_start - 1 : hunk.base_start - 1 + hunk.base_len]
            new = head.lines[hunk.head_start - 1 : hunk.head_start - 1 + hunk.head_len]
            for before, after, line, called in _in_hunk(old, new):
                yield _Exchange(before, after, Location(head.path, hunk.head_start + line), called)


def _in_hunk(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str, int, bool]]:
    """(old name, new name, line, whether it is called) of every name exchanged between code that stayed: line by line
    where the lines differ in names alone, else by what stands around it."""
    lines = [[_TOKEN.findall(_code(line)) for line in side] for side in (old, new)]
    before, after = ([(t, i) for i, line in enumerate(side) for t in line] for side in lines)
    if len(before) > _MOST_TOKENS or len(after) > _MOST_TOKENS:
        return
    a, b = [t for t, _ in before], [t for t, _ in after]
    in_order = len(old) == len(new) and all(
        _shape(x) == _shape(y) for x, y in zip(*lines, strict=True)
    )
    places = [(i, i) for i in range(len(a)) if a[i] != b[i]] if in_order else _around(before, after)
    for i, j in places:
        if _is_name(a[i]) and _is_name(b[j]) and not _was_set(b[j], a):
            yield a[i], b[j], after[j][1], b[j + 1 : j + 2] == ["("]


def _around(
    before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> Iterator[tuple[int, int]]:
    """Where one token was exchanged for one, and the rest of its line between two commas differs in names alone. Of
    three alike that became two, nobody can tell which went."""
    a, b = [t for t, _ in before], [t for t, _ in after]
    (was, old), (now, new) = _parts(before), _parts(after)
    blocks = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for n, (tag, i1, i2, j1, j2) in enumerate(blocks):
        if tag == "replace" and i2 - i1 == 1 and j2 - j1 == 1:
            left = n == 0 or _length(blocks[n - 1]) >= _AROUND or n == 1
            right = (
                n + 1 == len(blocks) or _length(blocks[n + 1]) >= _AROUND or n + 2 == len(blocks)
            )
            if left and right and was[i1] == now[j1] and old[was[i1]] == new[now[j1]]:
                yield i1, j1


def _parts(tokens: list[tuple[str, int]]) -> tuple[list[tuple[str, ...]], Counter[tuple[str, ...]]]:
    """Of every token, the shape of what stands around it on its line, up to the next comma; how often each stands."""
    around: list[tuple[str, ...]] = []
    counts: Counter[tuple[str, ...]] = Counter()
    for (_, between), part in groupby(tokens, key=lambda t: (t[1], t[0] in _BETWEEN)):
        inside = [t for t, _ in part]
        shape = tuple(_shape(inside))
        around += [shape] * len(inside)
        counts[shape] += not between
    return around, counts


def _shape(tokens: Sequence[str]) -> list[str]:
    return ["x" if _is_name(t) else t for t in tokens]


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
