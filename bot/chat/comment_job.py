"""A comment with commands, on its way to the workers."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bot.chat.parser import ParsedCommand
from bot.db.deliveries import PullKey
from bot.github.own_comments import PullPlace
from bot.jobs.requests import JobRequest

QUEUE = "comments"


@dataclass(frozen=True)
class CommentJob:
    """Who said what where, as the comment was when it was written. Stored as JSON; `said` are names and arguments.

    `comment` is 0 where nobody had to say it.
    """

    id: str
    installation: int
    repository_id: int
    repository: str
    number: int
    comment: int
    created: str
    login: str
    user: int
    said: list[list[str]]
    left_out: int

    def order(self) -> JobRequest:
        return JobRequest("comment", QUEUE, self.id, (asdict(self),))

    @property
    def place(self) -> PullPlace:
        return PullPlace(self.repository, self.number)

    @property
    def key(self) -> PullKey:
        return PullKey(self.repository_id, self.number)

    @property
    def commands(self) -> list[ParsedCommand]:
        return [ParsedCommand(*one) for one in self.said]
