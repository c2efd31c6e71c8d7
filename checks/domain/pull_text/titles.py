"""The parts of a pull request's title: tags, words, and the pull requests it refers to."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from checks.core.config import Config

CLOSE = 0.8
"""Similarity, 0 to 1, from which another spelling is taken for a slip of the pen."""

# Group 1 is a tag in brackets, group 2 one in full-width brackets.
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
# Words that any change may be called by. Of 29,152 titles of merged changes of FastDeploy, vLLM and
# SGLang, 51 have no other.
_EMPTY_WORD = re.compile(
    r"an?|the|of|for|in|on|at|to|and|or|with|some|more|few|small|minor|tiny|little|new|misc"
    r"|(hot|bug)?fix(e[sd]|ing)?|bugs?|issues?|problems?|errors?|updat(e[sd]?|ing)"
    r"|chang(e[sd]?|ing)|modif(y|ied|ication)|opt(imi[sz](e|ation))?|improve(s|ments?)?"
    r"|refin(e[sd]?|ing)|refactor(ed|ing)?|clean(up)?|up|support|add|remove|codes?|things?"
    r"|te?mp|patch|wip|work|pr|commit|version|it|this|that|again|final"
    r"|修复|更新|优化|修改|问题|代码",
    re.I,
)
# A word, but for the number of an issue.
_WORD = re.compile(r"(?<![\w./#])[\w./]+")


@dataclass(frozen=True, slots=True)
class ParsedTitle:
    """The parts of a title.

    `tags` stand without brackets, in order, the cherry-pick tag among them. `words` is the text
    between the tags and the closing reference, `ending` that reference as written, `numbers` are
    all pull requests that the title names.
    """

    text: str
    tags: tuple[str, ...]
    words: str
    ending: str
    numbers: tuple[int, ...]

    def picks(self, config: Config) -> list[str]:
        """The tags that mean a cherry-pick, however spelt: `[cherry pick]`, `[Cherry-Pick 2.5]`."""
        return [tag for tag in self.tags if _is_pick(tag, config)]

    def impact(self, config: Config) -> list[str]:
        """The tags but the cherry-pick tag."""
        return [tag for tag in self.tags if not _is_pick(tag, config)]


def _is_pick(tag: str, config: Config) -> bool:
    return key(tag).rstrip("0123456789") == key(config.title.cherry_pick_tag)


def key(tag: str) -> str:
    """`tag` without case, spaces or punctuation: `Cherry Pick` and `[cherry-pick]` are the same."""
    return re.sub(r"[\W_]+", "", tag).casefold()


def parse(text: str, allowed: tuple[str, ...] = ()) -> ParsedTitle:
    """The parts of a title; a group such as `[XPU, BugFix]` is two tags.

    Full-width brackets hold a tag only where it is an allowed one: they are used for other things
    too (`【Hackathon No.5】`).
    """
    tags, rest = _leading_tags(text.strip(), allowed)
    words, ending = rest, ""
    reference = _ENDING.search(rest)
    if reference:
        words, ending = rest[: reference.start()], reference[0]
    numbers = tuple(int(number) for number in re.findall(r"#(\d+)\b", text))
    return ParsedTitle(text, tuple(tags), words.strip(), ending, numbers)


def _leading_tags(text: str, allowed: tuple[str, ...]) -> tuple[list[str], str]:
    """(the tags at the start of `text`, what comes behind them)."""
    tags: list[str] = []
    while True:
        group = _TAG.match(text)
        if group is None:
            return tags, text
        full_width = group[2]
        parts = re.split(r"[,，、]", group[1] or full_width)
        names = [part.strip() for part in parts if part.strip()]
        if full_width and not all(same(name, allowed) for name in names):
            return tags, text
        tags += names
        text = text[group.end() :]


def without_references(words: str) -> str:
    """`words` without `(#1234)`, or a placeholder for it."""
    return _ONE_REFERENCE.sub("", words).strip()


def says_nothing(words: str) -> bool:
    """Whether a title's words fit any change: `fix bug`, `update`, `clean code (#12)`."""
    return all(_EMPTY_WORD.fullmatch(word) for word in _WORD.findall(without_references(words)))


def same(tag: str, allowed: tuple[str, ...]) -> str:
    """The allowed tag that `tag` is in another spelling of case or punctuation; empty for none."""
    for other in allowed:
        if key(other) == key(tag):
            return other
    return ""


def nearest(tag: str, allowed: tuple[str, ...]) -> str:
    """The allowed tag that `tag` was probably meant to be, empty where none is near."""
    meant = _meant_by_slip(tag, allowed)
    if meant:
        return meant
    # `[OP-Fix]`: one of its words is an allowed tag.
    by_key = {key(other): other for other in allowed}
    for word in re.split(r"[\s_/-]+", tag):
        if key(word) in by_key:
            return by_key[key(word)]
    return ""


def is_slip(tag: str, allowed: tuple[str, ...]) -> bool:
    """Whether `tag` is an allowed one misspelt or by another name, not a new one."""
    return bool(_meant_by_slip(tag, allowed))


def _meant_by_slip(tag: str, allowed: tuple[str, ...]) -> str:
    """The allowed tag of nearly the same spelling, else one of the same meaning; empty for none."""
    by_key = {key(other): other for other in allowed}
    close = difflib.get_close_matches(key(tag), list(by_key), 1, CLOSE)
    if close:
        return by_key[close[0]]
    for group in _SYNONYMS:
        if key(tag) in group:
            for other_key, other in by_key.items():
                if other_key in group:
                    return other
    return ""


def by_names(names: tuple[str, ...], allowed: tuple[str, ...]) -> str:
    """The allowed tag that goes by one of `names`, in any spelling; empty for none."""
    meant = set(names)
    for group in _SYNONYMS:
        if group & set(names):
            meant |= group
    for tag in allowed:
        if key(tag) in meant:
            return tag
    return ""
