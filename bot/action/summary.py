"""What a workflow run shows of a review by itself: its summary page, and annotations on the changed
files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bot.errors import UserError

# GitHub shows nothing at all of a summary of more than 1 MiB.
_LARGEST_SUMMARY = 1_000_000
_COMMANDS = {"failure": "error", "warning": "warning", "notice": "notice"}


def write_summary(name: str, sentence: str, report: str, shorter: str) -> None:
    """Add to the summary file `name`: a sentence, and the report, or a `shorter` one where that is
    too large."""
    text = f"{sentence}\n\n{report}" if sentence else report
    data = text.encode("utf-8", "backslashreplace")
    if len(data) > _LARGEST_SUMMARY:
        data = f"{sentence}\n\n{shorter}\n".encode("utf-8", "backslashreplace")
    try:
        with open(name, "ab") as file:
            file.write(data)
    except OSError as error:
        raise UserError("unwritable", path=name, reason=error.strerror) from error


def workflow_commands(notes: Iterable[Mapping[str, Any]]) -> str:
    """Annotations of the Checks API as workflow commands, one a line."""
    made = []
    for note in notes:
        place = (
            f"file={_property(note['path'])},line={note['start_line']},endLine={note['end_line']}"
        )
        command = _COMMANDS[note["annotation_level"]]
        made.append(
            f"::{command} {place},title={_property(note['title'])}::{_data(note['message'])}\n"
        )
    return "".join(made)


def warning(text: str) -> str:
    """A warning about the whole run as a workflow command."""
    return f"::warning::{_data(text)}\n"


def _data(text: str) -> str:
    """As the runner reads it back: no text of a pull request begins a line, where it could be a
    command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
