"""What was discussed on GitHub: review threads by topic, how each stands, who said the last word.

Nothing is summed up in words of our own: a topic is shown by quotes, each with its author.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from checks.core.finding import Finding, Location
from checks.summary.comment_text import kind_of, names_in, quote

# What a reader must look at first.
STATES = ("unresolved", "answered", "outdated", "resolved")

_LEAST_SHARED_NAMES = 0.5
_NEAR_LINES = 3


@dataclass(frozen=True, slots=True)
class ReviewComment:
    """One comment. `by_author`: of the pull request's author; `ours`: of this bot."""

    author: str
    body: str
    by_author: bool = False
    by_bot: bool = False
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    """A review thread, or a comment of the conversation (then `path` is empty).

    `fingerprint` is that of the finding which this bot posted as the thread, else empty.
    """

    comments: tuple[ReviewComment, ...]
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
    """Threads about one thing.

    `opening` is what was said first, `conclusion` the last word where somebody answered; `beside`
    are findings at the same lines.
    """

    kind: str
    state: str
    opening: Quote
    conclusion: Quote | None
    threads: tuple[Thread, ...]
    beside: tuple[Finding, ...] = ()

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody who wrote, in the order of their first comment."""
        comments = [comment for thread in self.threads for comment in thread.comments]
        return tuple(dict.fromkeys(comment.author for comment in comments))


@dataclass(frozen=True, slots=True)
class PostedFinding:
    """A finding that this bot posted, in its words; `acted` where the head no longer has it."""

    thread: Thread
    said: str
    acted: bool


@dataclass(frozen=True, slots=True)
class Discussion:
    """What people said, and what became of what this bot said."""

    topics: tuple[Topic, ...]
    posted: tuple[PostedFinding, ...]


def summarise_discussion(threads: Iterable[Thread], findings: Sequence[Finding]) -> Discussion:
    """The discussion in `threads`, with the findings that a review of the head has."""
    all_threads = tuple(threads)
    return Discussion(find_topics(all_threads, findings), posted_findings(all_threads, findings))


def find_topics(threads: Iterable[Thread], findings: Sequence[Finding] = ()) -> tuple[Topic, ...]:
    """The topics that people raised: open ones first, then in the order in which they came up."""
    raised = [thread for thread in threads if _is_raised_by_people(thread)]
    topics = [_topic(group, findings) for group in _group_by_subject(raised)]
    topics.sort(key=lambda topic: STATES.index(topic.state))
    return tuple(topics)


def _is_raised_by_people(thread: Thread) -> bool:
    if not thread.comments or thread.comments[0].ours:
        return False
    return quote(thread.comments[0].body) != ""


def posted_findings(
    threads: Iterable[Thread], findings: Iterable[Finding]
) -> tuple[PostedFinding, ...]:
    """What this bot said, each finding once, and whether a review of the head still finds it."""
    open_findings = {finding.fingerprint for finding in findings if not finding.answered}
    by_fingerprint = {thread.fingerprint: thread for thread in threads if thread.fingerprint}
    posted = []
    for fingerprint, thread in by_fingerprint.items():
        acted = fingerprint not in open_findings
        posted.append(PostedFinding(thread, quote(thread.comments[0].body), acted))
    return tuple(posted)


def _group_by_subject(threads: Sequence[Thread]) -> list[list[Thread]]:
    """Threads of one file that speak of the same names are one topic."""
    groups: list[list[Thread]] = []
    for thread in threads:
        for group in groups:
            if any(_have_one_subject(thread, other) for other in group):
                group.append(thread)
                break
        else:
            groups.append([thread])
    return groups


def _have_one_subject(a: Thread, b: Thread) -> bool:
    if a.path != b.path:
        return False
    first, second = names_in(a.comments[0].body), names_in(b.comments[0].body)
    shared = len(first & second)
    return shared > 0 and shared >= _LEAST_SHARED_NAMES * min(len(first), len(second))


def _topic(threads: Sequence[Thread], findings: Sequence[Finding]) -> Topic:
    first = threads[0].comments[0]
    conclusion = None
    texts = []
    for thread in threads:
        texts += [comment.body for comment in thread.comments]
        for answer in thread.comments[1:]:
            if quote(answer.body):
                conclusion = Quote(answer.author, quote(answer.body))
    return Topic(
        kind=kind_of(texts),
        state=_state_of_topic(threads),
        opening=Quote(first.author, quote(first.body)),
        conclusion=conclusion,
        threads=tuple(threads),
        beside=tuple(f for f in findings if any(_is_near(f.location, t) for t in threads)),
    )


def _is_near(place: Location, thread: Thread) -> bool:
    """Whether a finding stands within three lines of a thread."""
    # The line of an outdated thread is a line of another commit.
    if thread.outdated or thread.line <= 0 or place.path != thread.path:
        return False
    return place.start_line - _NEAR_LINES <= thread.line <= place.end_line + _NEAR_LINES


def _state_of_topic(threads: Sequence[Thread]) -> str:
    """The state of the thread that needs most attention."""
    return min((_state(thread) for thread in threads), key=STATES.index)


def _state(thread: Thread) -> str:
    """An author's answer that nobody came back to counts as answered."""
    if thread.resolved:
        return "resolved"
    if thread.outdated:
        return "outdated"
    if any(comment.by_author for comment in thread.comments[1:]):
        return "answered"
    return "unresolved"
