"""`/help`: every command, with what its author must be allowed to do."""

from __future__ import annotations

from bot.chat.context import Task
from bot.chat.parser import MOST_COMMANDS
from bot.chat.permissions import Permission
from bot.i18n.escape import cell

NAME = "help"
USAGE = ""
PERMISSION = Permission.READ


def run(task: Task) -> str:
    """A table made from the registry."""
    # Not at the top: the registry imports this module.
    from bot.chat.commands import COMMANDS

    words, code = task.words, task.context.words.style.code
    lines = [
        [words(f"comments.column-{name}") for name in ("command", "does", "who")],
        ["---", "---", "---"],
    ]
    for command in COMMANDS.values():
        usage = code(f"/{command.NAME} {command.USAGE}".rstrip())
        description = words(f"comments.help-{command.NAME}")
        level = command.PERMISSION.name.lower()
        most = task.context.settings.author_reruns_per_hour
        who = words(f"comments.level-{level}", most=most)
        lines.append([usage, description, who])
    table = "\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in lines)
    return f"{words('comments.help-intro', most=MOST_COMMANDS)}\n\n{table}"
