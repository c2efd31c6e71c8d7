"""A finding's change made small and anonymous: what a report of a false positive can show.

A case is a list of lines, each of the base, of the head, or of both. Lines go as long as the rule
says the same, then names; what stays is what the rule rests on.
"""

from __future__ import annotations

import builtins
import difflib
import keyword
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from checks.core.change import ChangeSet, FileChange, Hunk
from checks.core.check import Check
from checks.core.config import Config
from checks.core.finding import Finding, Side
from checks.core.tree import MemoryTree, Tree, WordMatch
from checks.evaluation.reduction import needed_parts
from checks.lang.source import language
from checks.review import review

# More runs of a rule than these are not worth a smaller case.
MOST_RUNS = 1500
BOTH, BASE, HEAD = " ", "-", "+"
_NAME = re.compile(r"[A-Za-z_]\w*")
_CPP_WORDS = frozenset(
    """
    alignas auto bool break case catch char class const constexpr continue default define
    defined delete do double dynamic_cast elif else endif enum explicit extern false final
    float for friend goto if ifdef ifndef include inline int int16_t int32_t int64_t int8_t
    long mutable namespace new noexcept nullptr operator override pragma private protected
    public reinterpret_cast return short signed size_t sizeof static static_assert static_cast
    std struct switch template this throw true try typedef typename uint16_t uint32_t uint64_t
    uint8_t undef union unsigned using virtual void volatile while __device__ __global__
    __host__ __restrict__ __shared__ __syncthreads blockDim blockIdx gridDim threadIdx x y z
    """.split()  # noqa: SIM905 - a list of a hundred strings reads worse
)
_PYTHON_WORDS = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "self", "cls"})
_SUFFIXES = re.compile(r"\.\w+$")


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A line of a file: of both trees, of the base or of the head alone."""

    path: str
    side: str
    text: str


@dataclass(frozen=True, slots=True)
class SmallCase:
    """The lines, and the finding that the rule still has on them."""

    lines: tuple[CaseLine, ...]
    finding: Finding


class ReadPaths:
    """A tree that remembers which files were looked into."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.read_paths: set[str] = set()

    def paths(self) -> tuple[str, ...]:
        return self._tree.paths()

    def read(self, path: str) -> bytes | None:
        self.read_paths.add(path)
        return self._tree.read(path)

    def find(self, word: str, language: str = "") -> tuple[WordMatch, ...]:
        matches = self._tree.find(word, language)
        self.read_paths.update(match.path for match in matches)
        return matches

    def paths_containing(self, word: str, language: str = "") -> tuple[str, ...]:
        paths = self._tree.paths_containing(word, language)
        self.read_paths.update(paths)
        return paths

    def contains(self, word: str) -> bool:
        self.paths_containing(word)
        return self._tree.contains(word)


def small_case(
    change: ChangeSet, config: Config, rule: Check, finding: Finding
) -> SmallCase | None:
    """The smallest case found of the finding; None where the rule needs more than the files that it
    reads to say it."""
    lines = _lines(change, _paths_of(change, config, rule))
    same = _Same(config, rule, finding, _is_whole(change_of(lines)))
    if not same.holds(lines):
        return None
    for unit in (_by_path, _by_line):
        parts = unit(lines)
        kept = needed_parts(parts, lambda some: same.holds(_joined(some)))
        lines = _joined(kept)
    lines = _anonymous(lines, same)
    still = same.found(lines)
    return None if still is None else SmallCase(tuple(lines), still)


class _Same:
    """Whether the rule says on other lines what it said of the change, and they can be read.

    Code that does not parse would be smaller still, but nobody could say what it means.
    """

    def __init__(self, config: Config, rule: Check, finding: Finding, whole: bool) -> None:
        self._whole = whole
        self._config = config
        self._rule = rule
        self._key = finding.message.key
        self._severity = finding.severity
        self._runs = 0

    def holds(self, lines: Sequence[CaseLine]) -> bool:
        """False also where the rule has run often enough."""
        self._runs += 1
        return self._runs <= MOST_RUNS and self.found(lines) is not None

    def found(self, lines: Sequence[CaseLine]) -> Finding | None:
        """The finding, None where there is none."""
        change = change_of(lines)
        if self._whole and not _is_whole(change):
            return None
        outcome = review(change, self._config, (self._rule,), pedantic=True)
        for finding in outcome.findings:
            if finding.message.key == self._key and finding.severity is self._severity:
                return finding
        return None


def change_of(lines: Sequence[CaseLine]) -> ChangeSet:
    """The change that the lines are."""
    base, head = _files(lines, HEAD), _files(lines, BASE)
    changes = []
    for path in sorted({*base, *head}):
        hunks = tuple(_hunks(line.side for line in lines if line.path == path))
        if hunks:
            changes.append(_file_change(path, path in base, path in head, hunks))
    return ChangeSet(MemoryTree(base), MemoryTree(head), tuple(changes))


def _is_whole(change: ChangeSet) -> bool:
    """Whether every file parses on both sides."""
    for side in (Side.BASE, Side.HEAD):
        for path in change.tree(side).paths():
            unit = change.unit(path, side)
            if unit is None or unit.unparsed or not all(f.clean for f in unit.functions):
                return False
    return True


def _file_change(path: str, in_base: bool, in_head: bool, hunks: tuple[Hunk, ...]) -> FileChange:
    if not in_base:
        return FileChange("A", None, path, hunks)
    if not in_head:
        return FileChange("D", path, None, hunks)
    return FileChange("M", path, path, hunks)


def _files(lines: Iterable[CaseLine], without: str) -> dict[str, str]:
    """The files of the tree that has no lines of the side `without`."""
    files: dict[str, str] = {}
    for line in lines:
        if line.side != without:
            files[line.path] = files.get(line.path, "") + line.text + "\n"
    return files


def _hunks(sides: Iterable[str]) -> Iterable[Hunk]:
    """As `git diff -U0` numbers them: an empty side starts at the line before it."""
    base = head = removed = added = 0
    for side in (*sides, BOTH):
        if side == BASE:
            removed += 1
        elif side == HEAD:
            added += 1
        else:
            if removed or added:
                yield Hunk(base + bool(removed), removed, head + bool(added), added)
            base, head = base + removed + 1, head + added + 1
            removed = added = 0


def _paths_of(change: ChangeSet, config: Config, rule: Check) -> list[str]:
    """The files that the rule looks into, and those that changed."""
    base, head = ReadPaths(change.base), ReadPaths(change.head)
    seen = ChangeSet(base, head, change.files, change.pull)
    review(seen, config, (rule,), pedantic=True)
    changed = {file.path for file in change.files if language(file.path)}
    return sorted(path for path in base.read_paths | head.read_paths | changed if language(path))


def _lines(change: ChangeSet, paths: Iterable[str]) -> list[CaseLine]:
    lines: list[CaseLine] = []
    for path in paths:
        before, after = _text(change.base, path), _text(change.head, path)
        for line in difflib.ndiff(before, after) if before != after else []:
            if line[0] in (BOTH, BASE, HEAD):
                lines.append(CaseLine(path, line[0], line[2:]))
        if before == after:
            lines += [CaseLine(path, BOTH, text) for text in before]
    return lines


def _text(tree: Tree, path: str) -> list[str]:
    return (tree.read(path) or b"").decode("utf-8", "replace").splitlines()


def _by_path(lines: Sequence[CaseLine]) -> list[tuple[CaseLine, ...]]:
    paths = dict.fromkeys(line.path for line in lines)
    return [tuple(line for line in lines if line.path == path) for path in paths]


def _by_line(lines: Sequence[CaseLine]) -> list[tuple[CaseLine, ...]]:
    return [(line,) for line in lines]


def _joined(parts: Iterable[tuple[CaseLine, ...]]) -> list[CaseLine]:
    return [line for part in parts for line in part]


def _anonymous(lines: list[CaseLine], same: _Same) -> list[CaseLine]:
    """The lines with every name that the rule does not rest on replaced, in paths too."""
    names = _names(lines)
    kept = needed_parts(names, lambda some: same.holds(_renamed(lines, names, some)))
    return _renamed(lines, names, kept)


def _names(lines: Iterable[CaseLine]) -> list[str]:
    """The names that somebody gave, in the order in which they come up."""
    names: dict[str, None] = {}
    for line in lines:
        reserved = _PYTHON_WORDS if language(line.path) == "python" else _CPP_WORDS
        for name in _NAME.findall(f"{_SUFFIXES.sub('', line.path)} {line.text}"):
            if name not in reserved:
                names[name] = None
    return list(names)


def _renamed(
    lines: Iterable[CaseLine], names: Sequence[str], kept: Collection[str]
) -> list[CaseLine]:
    """The lines with other names for those that are not kept."""
    stays = set(kept)
    new_names = {name: f"n{i}" for i, name in enumerate(names) if name not in stays}
    renamed = []
    for line in lines:
        suffix = _SUFFIXES.search(line.path)
        ending = suffix[0] if suffix else ""
        path = _replace_names(line.path.removesuffix(ending), new_names) + ending
        renamed.append(replace(line, path=path, text=_replace_names(line.text, new_names)))
    return renamed


def _replace_names(text: str, new_names: Mapping[str, str]) -> str:
    return _NAME.sub(lambda match: new_names.get(match[0], match[0]), text)


def as_markdown(case: SmallCase, rule: str, sentence: Callable[[Finding], str]) -> str:
    """The case as a test of the rule has it (`tests/rules/README.md`), the finding marked as one
    that should not be."""
    blocks = []
    for path in dict.fromkeys(line.path for line in case.lines):
        fence = "```"
        lines = [f"{fence}diff path={path}"]
        number = 0
        for line in case.lines:
            if line.path != path:
                continue
            number += line.side != BASE
            is_found = (path, number) == _place(case.finding) and line.side != BASE
            mark = "#" if language(path) == "python" else "//"
            note = f"  {mark} todo-ok: [{rule}]" if is_found else ""
            lines.append(f"{line.side}{line.text}{note}")
        blocks.append("\n".join([*lines, fence]))
    return "\n\n".join([f"### {rule}", sentence(case.finding), *blocks]) + "\n"


def _place(finding: Finding) -> tuple[str, int]:
    return finding.location.path, finding.location.start_line
