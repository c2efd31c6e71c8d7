"""Lines of a log that tell more of a failure than the line that a rule took."""

from __future__ import annotations

import re
from collections.abc import Sequence

from checks.ci.classify import Match, Scan
from checks.ci.report import LogLine

_RAISED_FROM = "The above exception was the direct cause of the following exception:"
_EXCEPTION = re.compile(r"^(?:[\w.]{1,120}\.)?[A-Z]\w{0,60}(?:Error|Exception): \S")
# A tool reports that its process was killed; the process's own word stands before.
_OWN_WORD = {"step-killed": "killed"}


def own_word(top: Match, scanned: Scan, around: Sequence[LogLine]) -> LogLine:
    """The line of `top`, or what the process said for which a tool speaks there."""
    nearby = {line.number for line in around}
    for match in scanned.matches:
        speaks_for_it = match.rule.name == _OWN_WORD.get(top.rule.name)
        if speaks_for_it and match.line.number in nearby:
            return match.line
    return top.line


def naming_line(scanned: Scan, around: Sequence[LogLine]) -> LogLine | None:
    """The line in which a program names the failure itself, or None.

    That is what it raised from other exceptions, or which test file it says to have failed.
    """
    raised = _raised_from(around)
    if raised is not None:
        return raised
    for match in scanned.matches:
        if match.rule.name == "test-file-failed":
            return match.line
    return None


def _raised_from(around: Sequence[LogLine]) -> LogLine | None:
    found = None
    is_wrapped = False
    for line in around:
        if line.text.strip() == _RAISED_FROM:
            is_wrapped = True
        elif is_wrapped and _EXCEPTION.match(line.text):
            found = line
            is_wrapped = False
    return found
