"""What a command works with, and how it says no."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from bot.chat.comment_job import CommentJob
from bot.chat.parser import ParsedCommand
from bot.chat.permissions import METADATA, Permission, permission_of
from bot.context.service_context import ServiceContext
from bot.github.app import ANALYSE
from bot.github.client import Client, Json

T = TypeVar("T")


class Refusal(Exception):
    """A command that is not done, with the reason: a key of `templates/words/comments.toml` and its
    arguments."""

    def __init__(self, key: str, /, **args: Any) -> None:
        super().__init__(key, args)
        self.key = key
        self.args_ = args


class Steps(Protocol):
    """Runs one step of the durable workflow.

    Its result, JSON, is recorded, and not made again after a crash.
    """

    def __call__(self, name: str, act: Callable[[], T]) -> T:
        """What failed because of GitHub or the network is tried again, so that doing `act` twice
        must have its effect once."""


@dataclass(frozen=True)
class Task:
    """One command of one comment. `number` counts the comment's commands from 0."""

    job: CommentJob
    number: int
    command: ParsedCommand
    context: ServiceContext
    step: Steps

    @property
    def id(self) -> str:
        """The same for the same command, however often it is delivered or taken up again."""
        return f"{self.job.id}-{self.number}"

    def client(self, permissions: Mapping[str, str]) -> Client:
        """GitHub with a token for this repository that may do just that."""
        return self.context.app.client(self.job.installation, self.job.repository_id, permissions)

    def words(self, key: str, /, **args: Any) -> str:
        """A sentence, as Markdown in which every argument is escaped."""
        return self.context.words(key, **args)

    def pull(self) -> Json:
        """The pull request as it is now. Raises `Refusal` where it is closed."""
        pull: Json = self.client(ANALYSE).get(self.job.place.path)
        if pull["state"] != "open":
            raise Refusal("closed")
        return pull

    def permission(self) -> Permission:
        """What the comment's author may do now."""
        job = self.job
        granted = permission_of(self.client(METADATA), job.repository, job.login, job.user)
        if granted is Permission.READ and self._has_opened_pull():
            return Permission.AUTHOR
        return granted

    def require(self, permission: Permission) -> Permission:
        """What the author may do. Raises `Refusal` where that is less than `permission`."""
        granted = self.permission()
        if granted < permission:
            raise Refusal(f"needs-{permission.name.lower()}")
        return granted

    def _has_opened_pull(self) -> bool:
        author = self.client(ANALYSE).get(self.job.place.path)["user"]
        return author is not None and int(author["id"]) == self.job.user
