"""Lines of a log that tell more of a failure than the line that a rule took."""

from __future__ import annotations

import re
from collections.abc import Sequence

from checks.ci.classify import Match, Scan
from checks.ci.report import LogLine

_RAISED_FROM = "The above exception was the direct cause of the following exception:"
_EXCEPTION = re.compile(r"^(?:[\w.]{1,120}\.)?[A-Z]\w{0,60}(?:Error|Exception): \S")
# A tool speaks for another: that its process was killed, how many tests failed, that packages do
# not fit, that a container's step failed, where a compiler was. The other's own word stands within
# so many lines.
_OWN_WORD = {
    "step-killed": (("killed",), 40),
    "test-tally": (("assertion", "exception"), 2_000),
    "rust-tests": (("rust-panic",), 2_000),
    "lockfile": (("conda-detail",), 10),
    "llvm-dump": (("c-assert",), 40),
    "container-build": (("error-line", "shell"), 40),
}
# What was tested, or installed, while something failed.
_NAMING = ("test-file-failed", "pip")


def own_word(top: Match, scanned: Scan) -> LogLine:
    """The line of `top`, or what the process said for which a tool speaks there."""
    speakers, reach = _OWN_WORD.get(top.rule.name, ((), 0))
    for match in scanned.matches:
        distance = abs(top.line.number - match.line.number)
        if match.rule.name in speakers and distance <= reach:
            return match.line
    return top.line


def naming_line(scanned: Scan, around: Sequence[LogLine]) -> LogLine | None:
    """The line in which a program names the failure itself, or None.

    That is what it raised from other exceptions, which test file it says to have failed, or which
    package could not be built.
    """
    raised = _raised_from(around)
    if raised is not None:
        return raised
    for match in scanned.matches:
        if match.rule.name in _NAMING:
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
