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
    """A command that is not done, with the reason: a key of `templates/words/comments.toml` and its arguments."""

    def __init__(self, key: str, /, **args: Any) -> None:
        super().__init__(key, args)
        self.key = key
        self.args_ = args


class Steps(Protocol):
    """Runs one step of the durable workflow: its result, JSON, is recorded, and not made again after a crash."""

    def __call__(self, name: str, act: Callable[[], T]) -> T:
        """What GitHub or the network spoiled is tried again, so `act` must have its effect once."""


@dataclass(frozen=True)
class Task:
    """One command of one comment. `number` counts the comment's commands from 0."""

    order: CommentJob
    number: int
    said: ParsedCommand
    context: ServiceContext
    step: Steps

    @property
    def id(self) -> str:
        """The same for the same command, however often it is delivered or taken up again."""
        return f"{self.order.id}-{self.number}"

    def client(self, permissions: Mapping[str, str]) -> Client:
        """GitHub with a token for this repository that may do just that."""
        return self.context.app.client(
            self.order.installation, self.order.repository_id, permissions
        )

    def words(self, key: str, /, **args: Any) -> str:
        """A sentence, as Markdown in which every argument is escaped."""
        return self.context.words(key, **args)

    def pull(self) -> Json:
        """The pull request as it is now. Raises `Refusal` where it is closed."""
        found: Json = self.client(ANALYSE).get(self.order.place.path)
        if found["state"] != "open":
            raise Refusal("closed")
        return found

    def level(self) -> Permission:
        """What the comment's author may do now."""
        return permission_of(
            self.client(METADATA), self.order.repository, self.order.login, self.order.user
        )

    def needs(self, wanted: Permission) -> None:
        """Raises `Refusal` where the author may do less than `wanted`."""
        if self.level() < wanted:
            raise Refusal("needs-write" if wanted is Permission.WRITE else "needs-read")
