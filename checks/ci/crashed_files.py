"""Test files that a script ran one by one and called failed, though pytest could not say why: it
crashed, or was stopped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from checks.ci.log_ranges import LineRange, read_ranges
from checks.ci.report import LogLine
from checks.ci.running_tests import running_test

Sightings = Mapping[str, Sequence[LogLine]]

# Lines before the script's banner in which a crash is looked for, and after it, where scripts print
# the logs of servers.
_BEFORE, _AFTER = 400, 300
_BANNER = re.compile(r"(?i)test failed: (?P<path>\S{1,300}\.py)")
_STARTED = re.compile(r"^(?P<node>\S{1,400}?\.py::\S{1,400})(?P<rest>.{0,200})$")
_RULE_OFF = re.compile(r"^={40,300}$")


@dataclass(frozen=True, slots=True)
class FailedFile:
    """A file that a script called failed.

    `before` are the lines of its session, `after` those that the script printed below its banner.
    `running` is the test that was running when the session ended, if one is known.
    """

    path: str
    banner: LogLine
    before: tuple[LogLine, ...]
    after: tuple[LogLine, ...]

    @property
    def running(self) -> str:
        if not self.before:
            return ""
        found = running_test(self.before, self.before[-1])
        return found.name if found is not None else ""

    @property
    def text(self) -> str:
        """The session without the names of tests that stand before what they print."""
        texts = []
        for line in self.before:
            started = _STARTED.match(line.text)
            texts.append(started["rest"].strip() if started is not None else line.text)
        return "\n".join(texts)


def failed_files(stream: BinaryIO, sightings: Sightings) -> Iterator[FailedFile]:
    """The files that the job's script called failed, each once."""
    banners: dict[str, LogLine] = {}
    for line in sightings.get("file-failed", ()):
        match = _BANNER.search(line.text)
        if match is not None:
            banners.setdefault(match["path"], line)
    starts = [line.number for line in sightings.get("session-start", ())]
    ranges = []
    for banner in banners.values():
        number = banner.number
        begun = max((start for start in starts if start < number), default=1)
        ranges.append(LineRange(max(begun, number - _BEFORE), number - 1))
        ranges.append(LineRange(number + 1, number + _AFTER))
    texts = iter(read_ranges(stream, ranges))
    for path, banner in banners.items():
        yield FailedFile(path, banner, next(texts), _up_to_rule_off(next(texts)))


def _up_to_rule_off(lines: tuple[LogLine, ...]) -> tuple[LogLine, ...]:
    for index, line in enumerate(lines):
        if _RULE_OFF.match(line.text):
            return lines[:index]
    return lines
