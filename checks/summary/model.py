"""The analysis of a change as data: claims that code or git history can prove, never a guess.

A claim is a message key with arguments, and the places where a reader can check it. The sentences
themselves stand in `templates/words/analysis.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.core.finding import Finding, Location, Message
from checks.domain.change_facts import Facts
from checks.summary.discussion import Discussion


@dataclass(frozen=True, slots=True)
class Claim:
    """One true sentence about the change.

    `symbols` are the names that the sentence is about; claims with a symbol in common make a step.
    """

    message: Message
    places: tuple[Location, ...]
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """A part of the change that belongs together: its claims, files and symbols.

    `added` and `removed` are numbers of lines.
    """

    name: str
    claims: tuple[Claim, ...]
    files: tuple[str, ...]
    symbols: tuple[str, ...]
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One reason why a file is important.

    `kind` is a message key, `points` what it adds to the score, `detail` the number behind it.
    """

    kind: str
    points: float
    detail: int


@dataclass(frozen=True, slots=True)
class FileCard:
    """A changed file on the page. `category` is core, infrastructure, test, config or docs."""

    path: str
    status: str
    category: str
    module: str
    hardware: str
    added: int
    removed: int
    parts: tuple[ScorePart, ...]
    symbols: tuple[str, ...]

    @property
    def score(self) -> float:
        """The sum of the parts, at most 10."""
        return round(sum(p.points for p in self.parts), 1)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Code worth reading, with the reason. `changed` are the line numbers that the change wrote."""

    location: Location
    symbol: str
    reason: Message
    lines: tuple[str, ...]
    changed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Risk:
    """What can go wrong, with its evidence.

    `reached` is True for code that existed before and that this change is the first to call.
    """

    finding: Finding
    reached: bool = False


@dataclass(frozen=True, slots=True)
class Impact:
    """Who is affected: `users`, `operators` or `developers`."""

    who: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class Dependent:
    """A file that calls functions of a changed file: `place` is its first call, `on` the changed
    file, `names` are the functions."""

    place: Location
    on: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the history. `pull` is the number that its subject ends with, 0 for none."""

    id: str
    subject: str
    pull: int = 0


@dataclass(frozen=True, slots=True)
class BlamedCommit:
    """An earlier commit that wrote lines which this change removed or altered.

    `symbols` are the functions in which those lines stood; `fixes` are later commits that repaired
    the earlier one.
    """

    commit: Commit
    symbols: tuple[str, ...]
    lines: int
    fixes: tuple[Commit, ...] = ()


@dataclass(frozen=True, slots=True)
class PullReference:
    """A pull request or issue that the title, the description or a commit names.

    `how` is cherry-pick, closes (an issue), mentioned or same-patch; `commit` is None where git
    does not know it.
    """

    number: int
    how: str
    commit: Commit | None = None


@dataclass(frozen=True, slots=True)
class ChangeHistory:
    """What git knows of the past, collected by `bot` in a fixed order.

    `unread` are changed files of which git cannot tell who wrote the removed lines: the clone has
    no contents for them.
    """

    subject: str = ""
    message: str = ""
    references: tuple[PullReference, ...] = ()
    earlier: tuple[BlamedCommit, ...] = ()
    fixes_of: tuple[tuple[str, int], ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that the page of a pull request shows.

    `headline` is what the change makes different, for one sentence; `types` are kinds of
    `checks.summary.change_type`.

    `dropped` are cases that the code refused before and accepts now: a risk where nothing else was
    written for them. `discussion` is None where GitHub was not asked.
    """

    facts: Facts
    headline: tuple[Claim, ...]
    types: tuple[str, ...]
    summary: tuple[Claim, ...]
    motivation: tuple[str, ...]
    steps: tuple[ChangeStep, ...]
    files: tuple[FileCard, ...]
    symbols: tuple[str, ...]
    excerpts: tuple[Excerpt, ...]
    risks: tuple[Risk, ...]
    dropped: tuple[Claim, ...]
    impacts: tuple[Impact, ...]
    dependents: tuple[Dependent, ...]
    history: ChangeHistory
    discussion: Discussion | None = None
