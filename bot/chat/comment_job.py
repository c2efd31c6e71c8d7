"""A comment with commands, on its way to the workers."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from bot.chat.parser import ParsedCommand
from bot.db.deliveries import PullKey
from bot.github.own_comments import PullPlace
from bot.jobs.requests import JobRequest, partition

# Its commands wait for each other by account. The queue `comments` has no such order; what an older
# version put there is done too.
QUEUE = "commands"


@dataclass(frozen=True)
class CommentJob:
    """Who said what where, as the comment was when it was written. Stored as JSON.

    `said` are the names and arguments of the commands. `comment` is GitHub's id of the comment, 0
    where nobody had to write one.
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

    def request(self) -> JobRequest:
        """The answer to the commands. The same comment again is the same request."""
        by_account = partition(self.repository, self.number, self.user)
        return JobRequest("comment", QUEUE, self.id, (asdict(self),), partition=by_account)

    @property
    def place(self) -> PullPlace:
        return PullPlace(self.repository, self.number)

    @property
    def key(self) -> PullKey:
        return PullKey(self.repository_id, self.number)

    @property
    def commands(self) -> list[ParsedCommand]:
        return [ParsedCommand(name, text) for name, text in self.said]
