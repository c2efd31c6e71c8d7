"""What a command is: a module that satisfies `Command`."""

from __future__ import annotations

from typing import Protocol

from bot.chat.context import Task
from bot.chat.permissions import Permission


class Command(Protocol):
    """A module of `bot.chat.commands`. What it does stands in `templates/words/comments.toml` as `help-<name>`.

    `USAGE` is its arguments as help shows them, and `LEVEL` what its author must be allowed to do at the least.
    """

    NAME: str
    USAGE: str
    LEVEL: Permission

    def run(self, task: Task) -> str:
        """Do it and give the answer, as Markdown. Raises `Refusal`. Effects are in steps alone."""
