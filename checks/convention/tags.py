"""Which title tag a change calls for: from its paths, its hardware, the names it touches, and the
title's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from checks.change import ChangeSet
from checks.config import Config
from checks.convention.titles import Title, key
from checks.topics import topics

_KINDS: tuple[tuple[str, str], ...] = (
    (
        "docs doc documentation",
        r"^\W*(update|add|fix|improve)?\s*(the )?(docs?|readme|documentation)\b|文档",
    ),
    ("bugfix fix bug hotfix", r"\b(hot)?fix(e[sd]|ing)?\b|\bbugs?\b|\brevert\b|修复|修正"),
    (
        "optimization perf performance opt optim",
        r"\b(opt|optimi[sz]\w*|perf\w*|speed ?up|accelerat\w*|faster|reduce)\b|优化|加速",
    ),
    ("benchmark benchmarks bench", r"\bbench(mark)?s?\b"),
    (
        "feature feat newfeature",
        r"\b(support|add|feat(ure)?|implement|introduce|enable|new)\b|支持|新增|增加",
    ),
    ("others other misc chore", r""),
)
_SHORTEST_STEM = 4
_TEST_WEIGHT = 0.1
"""Tests follow the code they test, so their paths say little about what a change is about."""


def evidence(change: ChangeSet, config: Config, allowed: Iterable[str]) -> dict[str, float]:
    """For each allowed tag the share of changed lines, 0 to 1, that lie in files which belong to
    it.
    """
    weights = {f.path: _weight(f.path, f.added + f.removed, config) for f in change.files}
    total = sum(weights.values()) or 1.0
    return {
        tag: sum(w for path, w in weights.items() if belongs(path, tag, config)) / total
        for tag in allowed
    }


def _weight(path: str, lines: int, config: Config) -> float:
    return (lines + 1) * (_TEST_WEIGHT if config.is_test(path) else 1.0)


def belongs(path: str, tag: str, config: Config) -> bool:
    """Whether a part of `path` is named like `tag`, or its hardware is."""
    if key(config.hardware_of(path)) == key(tag) or _by_place(path, key(tag)):
        return True
    if any(key(topic) == key(tag) for topic in topics([(path, "source")], has_ops=False)):
        return True
    words = [w for w in re.split(r"[\W_]+", tag.casefold()) if w]
    parts = [_tokens(p) for p in PurePosixPath(path).parts]
    if len(words) > 1:
        return all(any(_stem(w, t) for part in parts for t in part) for w in words)
    return any(_named(part, key(tag)) for part in parts)


def _by_place(path: str, tag: str) -> bool:
    pure = PurePosixPath(path)
    if tag in ("docs", "doc", "documentation"):
        return pure.suffix in (".md", ".rst") or pure.parts[0] == "docs"
    return tag == "ci" and pure.parts[0] in (".github", ".ci", ".circleci")


def _tokens(part: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", part)
    return [t for t in re.split(r"[\W_]+", spaced.casefold()) if t]


def _named(tokens: list[str], tag: str) -> bool:
    """Whether `tag` is one of the tokens, its plural, or several of them in a row (`kv_cache` is
    KVCache).
    """
    joined = {
        "".join(tokens[i:j]) for i in range(len(tokens)) for j in range(i + 1, len(tokens) + 1)
    }
    return tag in joined or f"{tag}s" in joined


def _stem(word: str, token: str) -> bool:
    """Whether `token` shortens or inflects `word`: `spec` and `speculate` are stems of
    `speculative`.
    """
    common = 0
    for a, b in zip(word, token, strict=False):
        if a != b:
            break
        common += 1
    shorter = min(len(word), len(token))
    return common >= min(_SHORTEST_STEM, len(word)) and common >= shorter - 2


def choose(tags: list[str], share: dict[str, float], most: int) -> list[str]:
    """At most `most` of the author's `tags`, those that most of the change belongs to, in the
    author's order.
    """
    ranked = sorted(tags, key=lambda t: (-share.get(t, 0.0), tags.index(t)))
    kept = set(ranked[:most])
    return [t for t in tags if t in kept]


def propose(title: Title, allowed: tuple[str, ...], share: dict[str, float]) -> str:
    """The tag for a title that has none: by its words (a fix, a speed-up), else by where the change
    lies.
    """
    keys = {key(a): a for a in allowed}
    places = sorted((s, t) for t, s in share.items() if s >= 0.5)
    for names, pattern in _KINDS:
        known = [keys[n] for n in names.split() if n in keys]
        if known and not pattern and places:
            break
        if known and re.search(pattern, title.words, re.I):
            return known[0]
    return places[-1][1] if places else ""
