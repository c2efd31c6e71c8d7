"""What a command is: a module that satisfies `Command`."""

from __future__ import annotations

from typing import Protocol

from bot.chat.context import Task
from bot.chat.permissions import Permission


class Command(Protocol):
    """A module of `bot.chat.commands`. Its description is `help-<name>` in
    `templates/words/comments.toml`.

    `USAGE` is its arguments as help shows them, and `PERMISSION` what its author must have at the
    least.
    """

    NAME: str
    USAGE: str
    PERMISSION: Permission

    def run(self, task: Task) -> str:
        """Do it and give the answer, as Markdown. Raises `Refusal`. Effects are in steps alone."""
