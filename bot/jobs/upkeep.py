"""What is to be done where access to repositories has changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from bot.jobs.requests import JobRequest

QUEUE = "upkeep"


@dataclass(frozen=True)
class AccessJob:
    """Repositories that changed hands or sight. Stored as JSON.

    `what`: `close` (what is kept is shown to those alone whom GitHub lets read it), `purge` (it is
    deleted) or `rename` (to `new_name`). `repositories` are GitHub's ids and names; an `account`
    stands for all that belongs to it, and an `installation` for all that it has.
    """

    id: str
    what: str
    repositories: list[tuple[int, str]] = field(default_factory=list)
    account: str = ""
    installation: int = 0
    new_name: str = ""

    def request(self) -> JobRequest:
        """Done at once: no review is before it."""
        return JobRequest("access", QUEUE, self.id, (asdict(self),))
