"""`/help`: every command, with what its author must be allowed to do."""

from __future__ import annotations

from bot.chat.context import Task
from bot.chat.parser import MOST_COMMANDS
from bot.chat.permissions import Permission
from bot.i18n.escape import cell

NAME = "help"
USAGE = ""
LEVEL = Permission.READ


def run(task: Task) -> str:
    """A table made from the registry."""
    from bot.chat.commands import COMMANDS

    words, code = task.words, task.context.words.style.code
    header = [words(f"comments.column-{name}") for name in ("command", "does", "who")]
    rows = [
        (
            code(f"/{c.NAME} {c.USAGE}".rstrip()),
            words(f"comments.help-{c.NAME}"),
            words(f"comments.level-{c.LEVEL.name.lower()}"),
        )
        for c in COMMANDS.values()
    ]
    lines = [header, ["---"] * 3, *rows]
    table = "\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines)
    return f"{words('comments.help-intro', most=MOST_COMMANDS)}\n\n{table}"
