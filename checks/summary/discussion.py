"""What was discussed: review threads by topic, what each is about, how it stands, and who said the last word.

Nothing is summed up in words of our own: a topic is told by quotes, each with its author.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from checks.core.finding import Finding, Location

KINDS = ("correctness", "performance", "test", "style", "design", "other")
STATES = ("unresolved", "answered", "outdated", "resolved")

# What reviewers write about each kind, in English and Chinese. The kind with most marks wins, the earlier on a tie.
_MARKS = {
    "correctness": r"bugs?|wrong|incorrect|crash\w*|race|overflow\w*|out[- ]of[- ]bounds?|uninitiali[sz]ed|undefined|"
    r"leak\w*|deadlock\w*|null|nullptr|nan|dtype|type mismatch|off[- ]by[- ]one|broken|fails?|exception|hang\w*|"
    r"错误|不正确|崩溃|越界|溢出|未初始化|空指针|死锁|不匹配|不一致|问题",
    "performance": r"slow\w*|faster|latency|throughput|overhead|perf\w*|synchroni[sz]\w*|copy|copies|memory|alloc\w*|"
    r"host sync|性能|耗时|开销|同步|显存|内存|拷贝",
    "test": r"tests?|unit ?tests?|coverage|fixtures?|baselines?|ci|assert\w*|regression|单测|测试|用例|覆盖率|基线",
    "style": r"nit|typos?|naming|renam\w+|name|comments?|docstrings?|format\w*|lint|style|unused|dead code|spelling|"
    r"readab\w*|命名|拼写|注释|格式|风格|未使用|冗余|死代码",
    "design": r"design|refactor\w*|abstract\w*|interface|api|duplicat\w*|instead of|why not|architecture|split|move|"
    r"generic|设计|重构|抽象|接口|重复|为什么不|架构|拆分",
}
_FENCE = re.compile(r"```.*?(?:```|\Z)|<!--.*?-->|<details>.*?</details>|^>[^\n]*", re.S | re.M)
_NAME = re.compile(r"\b[A-Za-z_]\w*(?:_\w+|[a-z][A-Z]\w*|::\w+)\b")
_EMPTY = re.compile(
    r"^\W*(?:done|fixed|ok(?:ay)?|thanks?|thx|lgtm|\+1|resolved|已修改|已修复|好的|收到|谢谢|done\W+thx)?\W*$",
    re.I,
)
_MARKUP = re.compile(
    r"!?\[([^\]]*)\]\([^)]*\)|[*`]+|~~|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|^#{1,6}\s+", re.M
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*")
_LONGEST = 280
_LEAST_SHARED = 0.5
_NEAR = 3


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment. `by_author` is the pull request's author; `ours` a comment of this bot."""

    author: str
    body: str
    by_author: bool = False
    by_bot: bool = False
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    """A review thread, or a comment of the conversation (`path` empty); `fingerprint` where it is our finding's."""

    comments: tuple[Comment, ...]
    path: str = ""
    line: int = 0
    resolved: bool = False
    outdated: bool = False
    url: str = ""
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Topic:
    """Threads about one thing. `opening` is what was said first, `conclusion` the last word where somebody answered;
    `beside` are findings at the same lines."""

    kind: str
    state: str
    opening: Quote
    conclusion: Quote | None
    threads: tuple[Thread, ...]
    beside: tuple[Finding, ...] = ()

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(c.author for t in self.threads for c in t.comments))


@dataclass(frozen=True, slots=True)
class Posted:
    """A finding that this bot posted, in its words, and what became of it: `acted` where the head no longer has it."""

    thread: Thread
    said: str
    acted: bool


@dataclass(frozen=True, slots=True)
class Discussion:
    """What people said, and what became of what this bot said."""

    topics: tuple[Topic, ...]
    posted: tuple[Posted, ...]


def discussion(threads: Iterable[Thread], findings: Sequence[Finding]) -> Discussion:
    """The discussion in `threads`, with the findings that a review of the head has."""
    told = tuple(threads)
    return Discussion(topics(told, findings), posted(told, findings))


def topics(threads: Iterable[Thread], findings: Sequence[Finding] = ()) -> tuple[Topic, ...]:
    """The topics that people raised, open ones first, then in the order in which they were raised."""
    told = [t for t in threads if t.comments and not t.comments[0].ours and quote(t.comments[0])]
    made = [_topic(group, findings) for group in _groups(told)]
    return tuple(sorted(made, key=lambda t: STATES.index(t.state)))


def posted(threads: Iterable[Thread], now: Iterable[Finding]) -> tuple[Posted, ...]:
    """What this bot said, each finding once, and whether it still holds."""
    left = {f.fingerprint for f in now if not f.answered}
    unique = {t.fingerprint: t for t in threads if t.fingerprint}
    return tuple(Posted(t, quote(t.comments[0]), name not in left) for name, t in unique.items())


def kind(texts: Sequence[str]) -> str:
    """What a discussion is about, by the words that people use for it; `other` where none is."""
    said = "\n".join(_plain(t) for t in texts)
    counts = {name: len(_pattern(name).findall(said)) for name in _MARKS}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else "other"


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """Made when somebody's words are read: that takes as long as reading twenty modules."""
    return re.compile(rf"(?<![A-Za-z])(?:{_MARKS[name]})(?![A-Za-z])", re.I)


def quote(comment: Comment) -> str:
    """The first sentences of a comment as plain text, empty where it only thanks or agrees."""
    text = " ".join(_plain(comment.body).split())
    if _EMPTY.match(text):
        return ""
    said = ""
    for sentence in _SENTENCE.split(text):
        if said and len(said) + len(sentence) > _LONGEST:
            break
        said = f"{said} {sentence}".strip() if said else sentence
    return said if len(said) <= _LONGEST else said[: _LONGEST - 1].rstrip() + "…"


def _plain(body: str) -> str:
    return _MARKUP.sub(lambda m: m[1] or "", _FENCE.sub("\n", body))


def _groups(threads: Sequence[Thread]) -> list[list[Thread]]:
    """Threads of one file that speak of the same names are one topic."""
    groups: list[list[Thread]] = []
    for thread in threads:
        home = next((g for g in groups if any(_same(thread, other) for other in g)), None)
        if home is None:
            groups.append([thread])
        else:
            home.append(thread)
    return groups


def _same(a: Thread, b: Thread) -> bool:
    first, second = _names(a), _names(b)
    shared = len(first & second)
    return (
        a.path == b.path and shared > 0 and shared >= _LEAST_SHARED * min(len(first), len(second))
    )


def _names(thread: Thread) -> set[str]:
    return set(_NAME.findall(thread.comments[0].body))


def _topic(threads: Sequence[Thread], findings: Sequence[Finding]) -> Topic:
    first = threads[0].comments[0]
    answers = [c for t in threads for c in t.comments[1:] if quote(c)]
    conclusion = Quote(answers[-1].author, quote(answers[-1])) if answers else None
    about = kind([c.body for t in threads for c in t.comments])
    beside = tuple(f for f in findings if any(_near(f.location, t) for t in threads))
    return Topic(
        about,
        _state(threads),
        Quote(first.author, quote(first)),
        conclusion,
        tuple(threads),
        beside,
    )


def _near(place: Location, thread: Thread) -> bool:
    """Whether a finding stands where a thread does. The line of an outdated thread is one of another commit."""
    inside = place.start_line - _NEAR <= thread.line <= place.end_line + _NEAR
    return not thread.outdated and thread.line > 0 and place.path == thread.path and inside


def _state(threads: Sequence[Thread]) -> str:
    """Open as long as one thread is; an author's answer that nobody came back to counts as answered."""
    states = [_stands(t) for t in threads]
    return min(states, key=STATES.index)


def _stands(thread: Thread) -> str:
    if thread.resolved:
        return "resolved"
    if thread.outdated:
        return "outdated"
    return "answered" if any(c.by_author for c in thread.comments[1:]) else "unresolved"
