"""What a job's log shows to have failed: its tests, where pytest printed them, and what the rules saw."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

from checks.ci.classify import Scan, scan
from checks.ci.frames import frames
from checks.ci.log_blocks import blocks, clean_line
from checks.ci.observed_failures import MOST_LINES, ObservedFailure, test_failure
from checks.ci.report import LogLine

BEFORE, AFTER = 40, 12
# Of pytest's section of failures: enough for hundreds of tracebacks.
SECTION = 20_000
_HEADING = re.compile(r"^_{3,200} (?:ERROR at (?:setup|teardown) of )?(\S.{0,300}?) _{3,200}$")
_SUMMARY = re.compile(r"^(?:FAILED|ERROR) (\S{1,400}?::.{1,300}?)(?: - (.{0,1500}))?$")
_END = re.compile(r"^=+ (?:short test summary info|.{0,80}(?:passed|failed|error)s?\b.{0,120}) =*$")


def lines_between(stream: BinaryIO, first: int, last: int) -> Iterator[LogLine]:
    """The cleaned lines `first`..`last` of a log."""
    for block in blocks(stream):
        if block.first > last:
            return
        end = block.first + block.data.count(b"\n")
        if end < first:
            continue
        for number, raw in enumerate(block.data.split(b"\n"), block.first):
            if first <= number <= last and (raw or number < end):
                yield LogLine(number, clean_line(raw))


def failures_in_log(
    stream: BinaryIO, within: tuple[datetime, datetime] | None = None
) -> tuple[tuple[ObservedFailure, ...], Scan]:
    """What failed by the log alone, and the scan behind it. `within`: the times of the failed step."""
    found = scan(stream, within)
    tests = tuple(_tests(stream, found))
    top = found.top
    if top is None or (tests and not top.rule.job):
        return tests, found
    stream.seek(0)
    number = top.line.number
    around = tuple(lines_between(stream, max(1, number - BEFORE), number + AFTER))
    whole = ObservedFailure(
        category=top.rule.category,
        error=top.line.text.removeprefix("E  ").strip(),
        rule=top.rule.name,
        origin=top.rule.origin,
        whole_job=top.rule.job,
        frames=frames(line.text for line in around if line.number <= number + 2),
        lines=_telling(around, found, top.line),
        text="\n".join(line.text for line in around),
    )
    return (whole, *tests), found


def _telling(around: tuple[LogLine, ...], found: Scan, key: LogLine) -> tuple[LogLine, ...]:
    """The key line, the best line of other rules near it, and the lines just before it."""
    picked = {key.number: key}
    near = {line.number for line in around}
    for match in found.matches:
        if match.line.number in near and len(picked) < MOST_LINES - 2:
            picked.setdefault(match.line.number, match.line)
    for line in reversed(
        [line for line in around if line.number < key.number and line.text.strip()]
    ):
        if len(picked) >= MOST_LINES - 2:
            break
        picked.setdefault(line.number, line)
    return tuple(picked[n] for n in sorted(picked))


def _tests(stream: BinaryIO, found: Scan) -> Iterator[ObservedFailure]:
    """pytest's own failures: headings under FAILURES, with the node ids of the summary."""
    mark = found.marks.get("pytest-failures")
    if mark is None:
        return
    stream.seek(0)
    section = list(lines_between(stream, mark.number + 1, mark.number + SECTION))
    summary = {m[1]: m[2] or "" for line in section if (m := _SUMMARY.match(line.text))}
    ids = {"::".join(node.split("::")[1:]): node for node in summary}
    name, body, left = "", list[LogLine](), dict(summary)
    for line in [*section, LogLine(0, "=== 0 passed ===")]:
        heading = _HEADING.match(line.text)
        ended = _END.match(line.text) is not None
        if heading is None and not ended:
            body.append(line)
            continue
        if name and body:
            node = ids.get("::".join(name.split(".")), ids.get(name, name))
            text = "\n".join(part.text for part in body)
            yield test_failure(node, left.pop(node, ""), text, tuple(body), structured=False)
        if ended:
            break
        name, body = (heading[1] if heading is not None else ""), []
    for node, message in left.items():
        yield test_failure(
            node, message, "", (LogLine(0, f"{node} - {message}"),), structured=False
        )
