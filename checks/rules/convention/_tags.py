"""Which title tag a change calls for: from its paths, its hardware, and the title's words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.sequences import count_common_start
from checks.domain.impact_tags import impact_tags
from checks.domain.pull_text.titles import by_names, key

# Names of a tag, and the words of a title that call for it.
_TAGS_BY_WORDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("docs",), r"\b(docs?|readme|documentation)\b|文档"),
    (("bugfix",), r"\b(hot)?fix(e[sd]|ing)?\b|\bbugs?\b|\brevert\b|修复|修正"),
    (
        ("optimization",),
        r"\b(opt|optimi[sz]\w*|perf\w*|speed ?up|accelerat\w*|faster|reduce)\b|优化|加速",
    ),
    (("benchmark",), r"\bbench(mark)?s?\b"),
    (("feature",), r"\b(support|add|feat(ure)?|implement|introduce|enable|new)\b|支持|新增|增加"),
)
_SHORTEST_STEM = 4
_LEAST_SHARE = 0.5
_TEST_WEIGHT = 0.1
"""Tests follow the code they test, so their paths say little about what a change is about."""


@dataclass(frozen=True, slots=True)
class PathWords:
    """What a path is named after: the words of its parts; `hardware` and `topics` as keys."""

    path: str
    parts: tuple[list[str], ...]
    hardware: str
    topics: frozenset[str]


def shares_by_tag(change: ChangeSet, config: Config, allowed: Iterable[str]) -> dict[str, float]:
    """For each allowed tag the share of changed lines, 0 to 1, in files that belong to it.

    Of two tags for the same file, the one that a deeper part of its path names counts a little
    more.
    """
    weights = []
    for file in change.files:
        lines = file.added + file.removed + 1
        weight = lines * _TEST_WEIGHT if config.is_test(file.path) else float(lines)
        weights.append((path_words(file.path, config), weight))
    total = sum(weight for _, weight in weights) or 1.0
    shares = {}
    for tag in allowed:
        shares[tag] = sum(weight * belongs(file, tag) for file, weight in weights) / total
    return shares


def path_words(path: str, config: Config) -> PathWords:
    """The words of a path, its hardware and what it is about."""
    topics = impact_tags([(path, "source")], has_ops=False)
    parts = tuple(_words_of(part) for part in PurePosixPath(path).parts)
    hardware = key(config.hardware_of(path))
    return PathWords(path, parts, hardware, frozenset(key(topic) for topic in topics))


def belongs(file: PathWords, tag: str) -> float:
    """How much a file belongs to `tag`, 0 to 1.

    1 where its hardware is `tag`; else nearly 1, more for deeper parts, where a part of the path is
    named like `tag` or means it; 0 where none does.
    """
    name = key(tag)
    if file.hardware == name:
        return 1.0
    if name == "ci" and is_ci(file.path):
        return 1.0
    if name in ("doc", "docs") and is_docs(file.path):
        return 1.0
    depth = _depth_of_tag(file, tag)
    if depth == 0 and name in file.topics:
        depth = 1
    if depth == 0:
        return 0.0
    return 0.9 + 0.1 * depth / (len(file.parts) + 1)


def _depth_of_tag(file: PathWords, tag: str) -> int:
    """The number of the deepest part that `tag` names, 0 for none.

    A tag of several words has no part of its own: all its words must stand in the path.
    """
    words = [word for word in re.split(r"[\W_]+", tag.casefold()) if word]
    if len(words) > 1:
        path_tokens = [token for part in file.parts for token in part]
        for word in words:
            if not any(_is_stem(word, token) for token in path_tokens):
                return 0
        return len(file.parts)
    depth = 0
    for number, part in enumerate(file.parts, 1):
        if _is_named(part, key(tag)):
            depth = number
    return depth


def is_docs(path: str) -> bool:
    """Whether `path` is prose."""
    pure = PurePosixPath(path)
    return pure.suffix in (".md", ".rst", ".adoc") or pure.parts[0] == "docs"


def is_ci(path: str) -> bool:
    """Whether `path` is machinery of continuous integration."""
    return PurePosixPath(path).parts[0] in (".github", ".ci", ".circleci", ".gitlab")


def _words_of(part: str) -> list[str]:
    """The words of a part of a path: `kv_cache` and `KvCache` have two."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", part)
    return [word for word in re.split(r"[\W_]+", spaced.casefold()) if word]


def _is_named(words: list[str], tag: str) -> bool:
    """Whether `tag` is one of the words, its plural, or several of them in a row (`kv_cache` is
    KVCache)."""
    count = len(words)
    for start in range(count):
        for end in range(start + 1, count + 1):
            if "".join(words[start:end]) in (tag, f"{tag}s"):
                return True
    return False


def _is_stem(word: str, token: str) -> bool:
    """Whether `token` shortens or inflects `word`: `spec` and `speculate` are `speculative`."""
    common = count_common_start(word, token)
    shorter = min(len(word), len(token))
    return common >= min(_SHORTEST_STEM, len(word)) and common >= shorter - 2


def choose_tags(
    tags: list[str], allowed: tuple[str, ...], shares: dict[str, float], most: int
) -> list[str]:
    """At most `most` of the author's `tags`, in the author's order.

    Listed ones are kept before others, then those that more of the change belongs to.
    """

    def rank(tag: str) -> tuple[bool, float, int]:
        return tag not in allowed, -round(shares.get(tag, 0.0), 3), tags.index(tag)

    kept = set(sorted(tags, key=rank)[:most])
    return [tag for tag in tags if tag in kept]


def propose_tag(words: str, allowed: tuple[str, ...], shares: dict[str, float], only: str) -> str:
    """The tag for a title that has none; empty where nothing is known.

    First what the whole change is (`only`, or one hardware), then what the `words` say (a fix, a
    speed-up), then where most of the change lies.
    """
    if only:
        tag = by_names((only,), allowed)
        if tag:
            return tag
    for tag in allowed:
        if shares.get(tag, 0.0) >= 1.0:
            return tag
    for names, pattern in _TAGS_BY_WORDS:
        tag = by_names(names, allowed)
        if tag and re.search(pattern, words, re.I):
            return tag
    best = max(allowed, key=lambda tag: shares.get(tag, 0.0), default="")
    if shares.get(best, 0.0) >= _LEAST_SHARE:
        return best
    return by_names(("others",), allowed)
