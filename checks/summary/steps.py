"""A change cut into coherent steps: claims that share a symbol belong together, and every hunk goes to one step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from checks.core.change import ChangeSet, Hunk
from checks.core.finding import Side
from checks.summary.model import Claim, Step

# A symbol of more claims than this ties everything to everything: `__init__`, a name of the whole engine.
_MOST_CLAIMS = 6
_MOST_TOGETHER = 12
_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_HERE, _INSIDE, _NAMED = 9, 4, 1


@dataclass
class _Hunk:
    """A hunk with what ties it to a step: its head and base lines, the words on them, the functions around them."""

    path: str
    base_path: str
    hunk: Hunk
    words: Counter[str]
    functions: frozenset[str]

    def holds(self, path: str, line: int, side: Side) -> bool:
        h = self.hunk
        if side is Side.HEAD:
            return path == self.path and h.head_start <= line < h.head_start + h.head_len
        return path == self.base_path and h.base_start <= line < h.base_start + h.base_len


@dataclass
class _Group:
    claims: list[Claim] = field(default_factory=list)
    hunks: list[_Hunk] = field(default_factory=list)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of its claims, which are all there before the first hunk is."""
        return tuple(dict.fromkeys(s for c in self.claims for s in c.symbols))


def steps(change: ChangeSet, claims: Sequence[Claim]) -> tuple[Step, ...]:
    """The steps, the largest first, then those of tests alone and of layout; the last one holds what no claim explains,
    and has none."""
    hunks = _hunks(change)
    groups = _together(claims, hunks)
    rest = _Group()
    for hunk in hunks:
        _best(hunk, groups, rest).hunks.append(hunk)
    made = [_step(g) for g in groups if g.hunks]
    made.sort(key=lambda s: (_aside(s), -(s.added + s.removed), s.name))
    return (*made, *([_step(rest)] if rest.hunks else []))


def _aside(step: Step) -> int:
    """What a reader can leave for later: test cases, and after them what changed its layout only."""
    keys = {c.message.key for c in step.claims}
    return 2 if keys == {"layout"} else int(keys <= {"tests-added", "tests-removed"})


def _step(group: _Group) -> Step:
    symbols = group.symbols
    return Step(
        _name(group),
        tuple(group.claims),
        tuple(sorted({h.path for h in group.hunks})),
        symbols,
        sum(h.hunk.head_len for h in group.hunks),
        sum(h.hunk.base_len for h in group.hunks),
    )


def _name(group: _Group) -> str:
    """The first symbol of the first claim that stands in the lines of the group."""
    for claim in group.claims:
        names = frozenset(claim.symbols)
        if any(h.functions & names or _holds(h, claim) for h in group.hunks):
            return claim.symbols[0] if claim.symbols else ""
    return group.symbols[0] if group.symbols else ""


def _holds(hunk: _Hunk, claim: Claim) -> bool:
    return any(hunk.holds(p.path, p.start_line, p.side) for p in claim.places)


def _together(claims: Sequence[Claim], hunks: Sequence[_Hunk]) -> list[_Group]:
    """Claims joined by the symbols that they share, and by standing in the same hunks: the closest first, as long as a
    reader can still see them as one step."""
    parent, size = list(range(len(claims))), [1] * len(claims)

    def root(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    for _, i, j in _ties(claims, hunks):
        a, b = sorted((root(i), root(j)))
        if a != b and size[a] + size[b] <= _MOST_TOGETHER:
            parent[b] = a
            size[a] += size[b]
    groups: dict[int, _Group] = {}
    for i, claim in enumerate(claims):
        groups.setdefault(root(i), _Group()).claims.append(claim)
    return list(groups.values())


def _ties(claims: Sequence[Claim], hunks: Sequence[_Hunk]) -> list[tuple[float, int, int]]:
    """Which claims belong together, the closest first: a symbol that only two share says more than one of five."""
    counts = Counter(s for c in claims for s in set(c.symbols))
    places = [_standing(c, hunks) for c in claims]
    found = []
    for i, claim in enumerate(claims):
        for j in range(i):
            shared = [s for s in _shared(claim, claims[j]) if counts[s] <= _MOST_CLAIMS]
            closeness = sum(1 / counts[s] for s in shared) + _same_place(places[i], places[j])
            if closeness:
                found.append((-closeness, j, i))
    return sorted(found)


def _shared(a: Claim, b: Claim) -> set[str]:
    """The symbols of both. A plain name that stands for two classes' methods is none."""
    return {
        s for s in {*a.symbols} & {*b.symbols} if not _differ(_qualified(s, a), _qualified(s, b))
    }


def _qualified(name: str, claim: Claim) -> set[str]:
    return {s for s in claim.symbols if s.endswith((f".{name}", f"::{name}"))}


def _differ(a: set[str], b: set[str]) -> bool:
    return bool(a and b) and not a & b


def _standing(claim: Claim, hunks: Sequence[_Hunk]) -> frozenset[int]:
    return frozenset(
        n
        for n, h in enumerate(hunks)
        for p in claim.places
        if h.holds(p.path, p.start_line, p.side)
    )


def _same_place(a: frozenset[int], b: frozenset[int]) -> bool:
    return bool(a and b) and len(a & b) * 2 > min(len(a), len(b)) and len(a & b) * 3 >= len(a | b)


def _best(hunk: _Hunk, groups: Sequence[_Group], rest: _Group) -> _Group:
    # Of two groups that name its function as well, the one with the longer name means this one: not another class's.
    scored = [
        (_score(hunk, g), max(map(len, hunk.functions & {*g.symbols}), default=0), -n)
        for n, g in enumerate(groups)
    ]
    score, _, place = max(scored, default=(0, 0, 0))
    return groups[-place] if score else rest


def _score(hunk: _Hunk, group: _Group) -> int:
    """How strongly a hunk belongs to a group: claims made on its lines, its function, its words."""
    symbols = group.symbols
    here = sum(
        1 for c in group.claims for p in c.places if hunk.holds(p.path, p.start_line, p.side)
    )
    inside = len(hunk.functions.intersection(symbols))
    named = sum(hunk.words[s.rsplit(".", 1)[-1]] for s in symbols)
    return _HERE * here + _INSIDE * inside + _NAMED * min(named, 8)


def _hunks(change: ChangeSet) -> list[_Hunk]:
    found = []
    for file in change.files:
        base = change.base.read(file.base_path) if file.base_path and file.mode == "file" else None
        head = change.head.read(file.head_path) if file.head_path and file.mode == "file" else None
        before, after = _lines(base), _lines(head)
        for h in file.hunks:
            text = before[h.base_start - 1 : h.base_start - 1 + h.base_len] if h.base_len else []
            text += after[h.head_start - 1 : h.head_start - 1 + h.head_len] if h.head_len else []
            words = Counter(w for line in text for w in _WORD.findall(line))
            found.append(
                _Hunk(
                    file.path, file.base_path or "", h, words, _functions(change, file.head_path, h)
                )
            )
    return found


def _lines(data: bytes | None) -> list[str]:
    return data.decode("utf-8", "replace").split("\n") if data else []


def _functions(change: ChangeSet, path: str | None, hunk: Hunk) -> frozenset[str]:
    unit = change.unit(path) if path else None
    function = unit.function_at(max(1, hunk.head_start)) if unit else None
    return frozenset((function.name, function.qualname)) if function else frozenset()
