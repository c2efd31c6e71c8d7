"""The parts of a pull request's title: tags, words, and the pull requests it refers to."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from checks.core.config import Config

_TAG = re.compile(r"\s*(?:\[{1,2}([^\[\]]+)\]|【([^【】]+)】)\s*[:：]?")
_SYNONYMS = (
    {"bugfix", "fix", "bug", "bugfixes", "hotfix"},
    {"optimization", "optimisation", "optim", "opt", "optimize", "perf", "performance"},
    {"feature", "feat", "features", "newfeature"},
    {"docs", "doc", "documentation"},
    {"others", "other", "misc", "chore"},
)
_ENDING = re.compile(r"\s*(?:[(（]\s*#\d+(?:[\s,，、]+#\d+)*\s*[)）]\s*)+$|\s*#\d+\s*$")
# Of a number, or of a placeholder that nobody filled in: `(#ORIG)`, `(#NNNN)`.
_ONE_REFERENCE = re.compile(r"\s*[(（]\s*#(\d+|[A-Za-z]+|\?+)\s*[)）]")

CLOSE = 0.8
"""Similarity from which another spelling is taken for a slip of the pen."""


@dataclass(frozen=True, slots=True)
class Title:
    """`tags` without brackets, in order, the cherry-pick tag among them; `words` is the text
    between the tags and the closing reference, `ending` that reference as written; `numbers` are
    all pull requests it names."""

    text: str
    tags: tuple[str, ...]
    words: str
    ending: str
    numbers: tuple[int, ...]

    def picks(self, config: Config) -> list[str]:
        """The tags that mean a cherry-pick, however they are spelt (`[cherry pick]`, `[Cherry-Pick 2.5]`)."""
        return [t for t in self.tags if _is_pick(t, config)]

    def impact(self, config: Config) -> list[str]:
        """The tags but the cherry-pick tag."""
        return [t for t in self.tags if not _is_pick(t, config)]


def _is_pick(tag: str, config: Config) -> bool:
    return key(tag).rstrip("0123456789") == key(config.title.cherry_pick_tag)


def key(tag: str) -> str:
    """`tag` without case, spaces or punctuation: `Cherry Pick` and `[cherry-pick]` are the same."""
    return re.sub(r"[\W_]+", "", tag).casefold()


def parse(text: str, allowed: tuple[str, ...] = ()) -> Title:
    """The parts of a title; a group such as `[XPU, BugFix]` is two tags. Full-width brackets hold a
    tag only where it is an allowed one: they are used for other things too (`【Hackathon No.5】`).
    """
    rest, tags = text.strip(), list[str]()
    while found := _TAG.match(rest):
        names = [t.strip() for t in re.split(r"[,，、]", found[1] or found[2]) if t.strip()]
        if found[2] and not all(same(n, allowed) for n in names):
            break
        tags += names
        rest = rest[found.end() :]
    ending = _ENDING.search(rest)
    words = rest[: ending.start()] if ending else rest
    numbers = tuple(int(n) for n in re.findall(r"#(\d+)\b", text))
    return Title(text, tuple(tags), words.strip(), ending[0] if ending else "", numbers)


def without_references(words: str) -> str:
    """`words` without `(#1234)`, or a placeholder for it."""
    return _ONE_REFERENCE.sub("", words).strip()


def same(tag: str, allowed: tuple[str, ...]) -> str:
    """The allowed tag that `tag` is in another spelling of case or punctuation; empty for none."""
    return next((a for a in allowed if key(a) == key(tag)), "")


def nearest(tag: str, allowed: tuple[str, ...]) -> str:
    """The allowed tag that `tag` was probably meant to be, empty where none is near."""
    keys = {key(a): a for a in allowed}
    if slip := _slip(tag, allowed):
        return slip
    inside = [keys[key(word)] for word in re.split(r"[\s_/-]+", tag) if key(word) in keys]
    return inside[0] if inside else ""


def is_slip(tag: str, allowed: tuple[str, ...]) -> bool:
    """Whether `tag` is an allowed one misspelt or by another name, not a new one."""
    return bool(_slip(tag, allowed))


def _slip(tag: str, allowed: tuple[str, ...]) -> str:
    keys = {key(a): a for a in allowed}
    close = difflib.get_close_matches(key(tag), list(keys), 1, CLOSE)
    for group in _SYNONYMS:
        if not close and key(tag) in group:
            close = [k for k in keys if k in group][:1]
    return keys[close[0]] if close else ""


def by_names(names: tuple[str, ...], allowed: tuple[str, ...]) -> str:
    """The allowed tag that goes by one of `names`, in any spelling; empty for none."""
    meant = set(names).union(*(g for g in _SYNONYMS if g & set(names)))
    return next((a for a in allowed if key(a) in meant), "")
