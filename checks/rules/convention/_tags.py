"""Which title tag a change calls for: from its paths, its hardware, and the title's words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.impact_tags import impact_tags
from checks.rules.convention._titles import by_names, key

_KINDS: tuple[tuple[tuple[str, ...], str], ...] = (
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
_TEST_WEIGHT = 0.1
"""Tests follow the code they test, so their paths say little about what a change is about."""


def evidence(change: ChangeSet, config: Config, allowed: Iterable[str]) -> dict[str, float]:
    """For each allowed tag the share of changed lines, 0 to 1, in files that belong to it; of two
    tags for the same file, the one that a deeper part of its path names counts a little more.
    """
    weights = {f.path: _weight(f.path, f.added + f.removed, config) for f in change.files}
    total = sum(weights.values()) or 1.0
    named = {path: place(path, config) for path in weights}
    return {
        tag: sum(w * belongs(named[path], tag) for path, w in weights.items()) / total
        for tag in allowed
    }


def _weight(path: str, lines: int, config: Config) -> float:
    return (lines + 1) * (_TEST_WEIGHT if config.is_test(path) else 1.0)


@dataclass(frozen=True, slots=True)
class Place:
    """What a path is named after: the words of its parts; `hardware` and `topics` as keys."""

    path: str
    parts: tuple[list[str], ...]
    hardware: str
    topics: frozenset[str]


def place(path: str, config: Config) -> Place:
    about = impact_tags([(path, "source")], has_ops=False)
    parts = tuple(map(_tokens, PurePosixPath(path).parts))
    return Place(path, parts, key(config.hardware_of(path)), frozenset(map(key, about)))


def belongs(file: Place, tag: str) -> float:
    """1 where the hardware of `file` is `tag`; else nearly 1, more for deeper parts, where a part of
    it is named like `tag` or means it; 0 where none does.
    """
    name = key(tag)
    if file.hardware == name:
        return 1.0
    if (name == "ci" and is_ci(file.path)) or (name in ("doc", "docs") and is_docs(file.path)):
        return 1.0
    words = [w for w in re.split(r"[\W_]+", tag.casefold()) if w]
    if len(words) > 1:
        named = all(any(_stem(w, t) for part in file.parts for t in part) for w in words)
        depth = len(file.parts) if named else 0
    else:
        depth = max((n for n, part in enumerate(file.parts, 1) if _named(part, name)), default=0)
    if not depth and name in file.topics:
        depth = 1
    return 0.9 + 0.1 * depth / (len(file.parts) + 1) if depth else 0.0


def is_docs(path: str) -> bool:
    """Whether `path` is prose."""
    pure = PurePosixPath(path)
    return pure.suffix in (".md", ".rst", ".adoc") or pure.parts[0] == "docs"


def is_ci(path: str) -> bool:
    """Whether `path` is machinery of continuous integration."""
    return PurePosixPath(path).parts[0] in (".github", ".ci", ".circleci", ".gitlab")


def _tokens(part: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", part)
    return [t for t in re.split(r"[\W_]+", spaced.casefold()) if t]


def _named(tokens: list[str], tag: str) -> bool:
    """Whether `tag` is one of the tokens, its plural, or several of them in a row (`kv_cache` is
    KVCache).
    """
    count = len(tokens)
    joined = {"".join(tokens[i:j]) for i in range(count) for j in range(i + 1, count + 1)}
    return tag in joined or f"{tag}s" in joined


def _stem(word: str, token: str) -> bool:
    """Whether `token` shortens or inflects `word`: `spec` and `speculate` are `speculative`."""
    common = 0
    for a, b in zip(word, token, strict=False):
        if a != b:
            break
        common += 1
    shorter = min(len(word), len(token))
    return common >= min(_SHORTEST_STEM, len(word)) and common >= shorter - 2


def choose(
    tags: list[str], allowed: tuple[str, ...], share: dict[str, float], most: int
) -> list[str]:
    """At most `most` of the author's `tags`, in the author's order: listed ones before others, then
    those that more of the change belongs to.
    """
    ranked = sorted(
        tags, key=lambda t: (t not in allowed, -round(share.get(t, 0.0), 3), tags.index(t))
    )
    kept = set(ranked[:most])
    return [t for t in tags if t in kept]


def propose(words: str, allowed: tuple[str, ...], share: dict[str, float], only: str) -> str:
    """The tag for a title that has none: what the whole change is (`only`, one hardware), what the
    words say (a fix, a speed-up), where most of it lies; empty where nothing is known.
    """
    if only and (tag := by_names((only,), allowed)):
        return tag
    owner = [t for t in allowed if share.get(t, 0.0) >= 1.0]
    if owner:
        return owner[0]
    for names, pattern in _KINDS:
        tag = by_names(names, allowed)
        if tag and re.search(pattern, words, re.I):
            return tag
    best = max(allowed, key=lambda t: share.get(t, 0.0), default="")
    return best if share.get(best, 0.0) >= 0.5 else by_names(("others",), allowed)
