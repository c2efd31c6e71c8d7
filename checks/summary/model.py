"""What an analysis says about a change: claims that code or history shows, never a guess.

A claim is a message key with arguments and the places where it can be checked; `templates/words/analysis.toml` has the
sentences.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.core.finding import Finding, Location, Message
from checks.domain.change_facts import Facts
from checks.summary.discussion import Discussion


@dataclass(frozen=True, slots=True)
class Claim:
    """One true sentence. `symbols` are the names it is about; steps are made of the claims that share them."""

    message: Message
    places: tuple[Location, ...]
    symbols: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """A coherent part of the change: what it does, in which files, and the symbols that hold it together."""

    name: str
    claims: tuple[Claim, ...]
    files: tuple[str, ...]
    symbols: tuple[str, ...]
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Part:
    """One reason for a file's importance: `kind` is a key, `points` what it adds, `detail` the number it comes from."""

    kind: str
    points: float
    detail: int


@dataclass(frozen=True, slots=True)
class FileCard:
    """A changed file. `category`: core, infrastructure, test, config, docs. `score`, at most 10, is the parts' sum."""

    path: str
    status: str
    category: str
    module: str
    hardware: str
    added: int
    removed: int
    parts: tuple[Part, ...]
    symbols: tuple[str, ...]

    @property
    def score(self) -> float:
        return round(sum(p.points for p in self.parts), 1)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Code worth reading, with the reason."""

    location: Location
    symbol: str
    reason: Message
    lines: tuple[str, ...]
    changed: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Risk:
    """What can go wrong, with its evidence. `reached`: in code that stood before and that this change first calls."""

    finding: Finding
    reached: bool = False


@dataclass(frozen=True, slots=True)
class Impact:
    """Who is touched: users, operators or developers."""

    who: str
    claim: Claim


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the history: its id, its subject, and the pull request that its subject ends with (0: none)."""

    id: str
    subject: str
    pull: int = 0


@dataclass(frozen=True, slots=True)
class Earlier:
    """A commit that wrote lines which this change removed or altered, in which functions, and what mended it since."""

    commit: Commit
    symbols: tuple[str, ...]
    lines: int
    fixes: tuple[Commit, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A pull request or issue that the title, the description or a commit names, and its commit where git knows it.
    `how`: cherry-pick, mentioned or same-patch."""

    number: int
    how: str
    commit: Commit | None = None


@dataclass(frozen=True, slots=True)
class History:
    """What git knows of the past: collected by `bot`, in a fixed order. `unread` are changed files of which it cannot
    tell who wrote the lines that went: a clone without their contents."""

    subject: str = ""
    message: str = ""
    references: tuple[Reference, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    fixes_of: tuple[tuple[str, int], ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything the page of a pull request shows. `dropped` are cases that were refused and no longer are, which is a
    risk where nothing else was made for them. `discussion` is None where GitHub was not asked."""

    facts: Facts
    summary: tuple[Claim, ...]
    motivation: tuple[str, ...]
    steps: tuple[Step, ...]
    files: tuple[FileCard, ...]
    symbols: tuple[str, ...]
    excerpts: tuple[Excerpt, ...]
    risks: tuple[Risk, ...]
    dropped: tuple[Claim, ...]
    impacts: tuple[Impact, ...]
    history: History
    discussion: Discussion | None = None
