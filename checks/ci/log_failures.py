"""What a job's log shows to have failed: its tests, where pytest printed them, and what the log
rules saw.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO

from checks.ci.classify import Match, Scan, scan
from checks.ci.frames import frames
from checks.ci.log_blocks import blocks, clean_line
from checks.ci.observed_failures import MOST_LINES, ObservedFailure, observe_failed_test
from checks.ci.report import LogLine

# Lines around the key line that are kept.
BEFORE, AFTER = 40, 12
# Lines of pytest's section of failures: enough for hundreds of tracebacks.
SECTION = 20_000
# Key lines of the whole job: two fewer than may be shown, so that failed tests get theirs.
_MOST_KEY_LINES = MOST_LINES - 2
_HEADING = re.compile(r"^_{3,200} (?:ERROR at (?:setup|teardown) of )?(\S.{0,300}?) _{3,200}$")
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (\S{1,400}?::.{1,300}?)(?: - (.{0,1500}))?$")
_END = re.compile(r"^=+ (?:short test summary info|.{0,80}(?:passed|failed|error)s?\b.{0,120}) =*$")


def lines_between(stream: BinaryIO, first: int, last: int) -> Iterator[LogLine]:
    """The cleaned lines `first` to `last` of a log, both counted from 1 and included."""
    for block in blocks(stream):
        if block.first > last:
            return
        end = block.first + block.data.count(b"\n")
        if end < first:
            continue
        for number, raw in enumerate(block.data.split(b"\n"), block.first):
            if not first <= number <= last:
                continue
            # What follows a block's last line end is no line: the next block begins with it.
            if raw or number < end:
                yield LogLine(number, clean_line(raw))


def failures_in_log(
    stream: BinaryIO, within: tuple[datetime, datetime] | None = None
) -> tuple[tuple[ObservedFailure, ...], Scan]:
    """What failed by the log alone, and what the rules saw.

    `within`: only lines of these times, the failed step's.
    """
    scanned = scan(stream, within)
    tests = tuple(_failed_tests(stream, scanned))
    top = scanned.top
    if top is None or (tests and not top.rule.job):
        return tests, scanned
    return (_failed_job(stream, scanned, top), *tests), scanned


def _failed_job(stream: BinaryIO, scanned: Scan, top: Match) -> ObservedFailure:
    stream.seek(0)
    number = top.line.number
    around = tuple(lines_between(stream, max(1, number - BEFORE), number + AFTER))
    return ObservedFailure(
        category=top.rule.category,
        error=top.line.text.removeprefix("E  ").strip(),
        rule=top.rule.name,
        origin=top.rule.origin,
        whole_job=top.rule.job,
        frames=frames(line.text for line in around if line.number <= number + 2),
        lines=_key_lines(around, scanned, top.line),
        text="\n".join(line.text for line in around),
    )


def _key_lines(around: tuple[LogLine, ...], scanned: Scan, key: LogLine) -> tuple[LogLine, ...]:
    """The key line, the best lines of other rules near it, and the lines just before it."""
    nearby = {line.number for line in around}
    matched = [match.line for match in scanned.matches if match.line.number in nearby]
    before = [line for line in around if line.number < key.number and line.text.strip()]
    picked = {key.number: key}
    for line in [*matched, *reversed(before)]:
        if len(picked) >= _MOST_KEY_LINES:
            break
        picked.setdefault(line.number, line)
    return tuple(picked[number] for number in sorted(picked))


def _failed_tests(stream: BinaryIO, scanned: Scan) -> Iterator[ObservedFailure]:
    """pytest's own failures: the headings of its section FAILURES, with the node ids of its
    summary.
    """
    mark = scanned.marks.get("pytest-failures")
    if mark is None:
        return
    stream.seek(0)
    section = list(lines_between(stream, mark.number + 1, mark.number + SECTION))
    messages = _summary_messages(section)
    node_of_heading = {"::".join(node.split("::")[1:]): node for node in messages}
    for traceback in _tracebacks(section):
        name = traceback.heading
        node = node_of_heading.get("::".join(name.split(".")), node_of_heading.get(name, name))
        message = messages.pop(node, "")
        text = "\n".join(line.text for line in traceback.lines)
        lines = tuple(traceback.lines)
        yield observe_failed_test(node, message, text, lines, structured=False)
    for node, message in messages.items():
        line = LogLine(0, f"{node} - {message}")
        yield observe_failed_test(node, message, "", (line,), structured=False)


def _summary_messages(section: list[LogLine]) -> dict[str, str]:
    """The message of each failed test in pytest's summary, by node id."""
    messages = {}
    for line in section:
        match = _SUMMARY.match(line.text)
        if match is not None:
            messages[match[1]] = match[2] or ""
    return messages


@dataclass
class _Traceback:
    """A heading of pytest's section of failures, and the lines below it."""

    heading: str
    lines: list[LogLine] = field(default_factory=list)


def _tracebacks(section: list[LogLine]) -> Iterator[_Traceback]:
    """The tracebacks with a heading, up to the end of the section or of the log."""
    current = _Traceback("")
    for line in section:
        heading = _HEADING.match(line.text)
        ended = _END.match(line.text) is not None
        if heading is None and not ended:
            current.lines.append(line)
            continue
        if current.heading and current.lines:
            yield current
        if ended:
            return
        current = _Traceback(heading[1] if heading is not None else "")
    if current.heading and current.lines:
        yield current
