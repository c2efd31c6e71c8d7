"""The grammar of commands: what a comment says, without asking what it means.

comment = *(line end)
line    = "/" name [blank arguments]       ; at the line's very start, in the author's own words
name    = one of the registered names, exactly
blank   = 1*(space / tab)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from bot.chat.authored_lines import authored_lines

MOST_COMMANDS = 5
# Longer than any name of a job.
LONGEST_LINE = 500
# Control, format, surrogate, private, unassigned, and separators.
_ODD_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))
_UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_LINE = re.compile(r"/([a-z]+(?:-[a-z]+)*)(?:[ \t]+(.*?))?[ \t]*")


@dataclass(frozen=True)
class ParsedCommand:
    """One command: its name, and the rest of its line."""

    name: str
    text: str = ""


@dataclass(frozen=True)
class ParsedComment:
    """The commands of a comment, each once; `left_out` counts those beyond `MOST_COMMANDS`."""

    commands: tuple[ParsedCommand, ...] = ()
    left_out: int = 0


def parse_comment(body: str, names: Collection[str]) -> ParsedComment:
    """The commands in `body` whose names are in `names`. Every text is a comment; most have no
    command."""
    if "/" not in body:
        return ParsedComment()
    commands: dict[ParsedCommand, None] = {}
    for line in authored_lines(body):
        command = _parse_line(line)
        if command is not None and command.name in names:
            commands[command] = None
    every = tuple(commands)
    return ParsedComment(every[:MOST_COMMANDS], len(every[MOST_COMMANDS:]))


def _parse_line(line: str) -> ParsedCommand | None:
    if not line.startswith("/") or len(line) > LONGEST_LINE or not _is_visible(line):
        return None
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    return ParsedCommand(match[1], match[2] or "")


def _is_visible(line: str) -> bool:
    """Whether a reader sees all of it, in the order in which it stands: no zero-width or
    bidirectional characters, and no blank but a space and a tab."""
    return not any(_is_odd(char) for char in line)


def _is_odd(char: str) -> bool:
    if char in " \t":
        return False
    return unicodedata.category(char) in _ODD_CATEGORIES or _shows_as_nothing(char)


def _shows_as_nothing(char: str) -> bool:
    """Characters that Unicode calls letters or marks and that show as nothing."""
    return char in _UNSEEN or "\ufe00" <= char <= "\ufe0f" or char > "\U000e0000"
