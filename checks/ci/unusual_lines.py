"""The most unusual lines of a log that no rule knows: a guess at what went wrong, and called so.

A line counts by how rare its form is (numbers, addresses and folders set aside), by words that
tell of trouble, and by how near it stands to the end of the step that failed. Where a log of the
same job that passed is at hand, only lines whose form is not in it count. Where earlier failed logs
of the job are known, a line counts less the more of them had its form, and not at all if most had.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from checks.ci.earlier_logs import NONE, EarlierLogs, form_id
from checks.ci.log_blocks import Block, blocks, clean_line
from checks.ci.observed_failures import mask_variable_parts
from checks.ci.report import LogLine

MOST = 3
# Lines before the failed step's end that are looked at.
_WINDOW = 4_000
_SHORTEST, _LONGEST = 8, 400
_TROUBLE = re.compile(
    r"(?i)\b(?:error|fail(?:ed|ure)?|cannot|can't|could not|unable|denied|refus\w{1,4}|abort\w{0,3}"
    r"|missing|invalid|mismatch|not found|not supported|unexpected|conflict|exceed\w{0,2}|illegal"
    r"|corrupt\w{0,2}|timed? ?out|panic|fatal)\b|失败|错误|异常|不存在|[✗✖❌]"
)
_FINE = re.compile(r"\b(?:PASSED|[Pp]assed|[Ss]uccess\w{0,4}|OK|DEBUG|INFO|0 errors?|0 failed)\b")
_ENDS = (
    b"Process completed with exit code",
    b"xited with code",
    b"xited with status",
    b"script returned",
)
# What a line of trouble is worth against one line of distance to the end.
_OF_TROUBLE, _OF_RARITY, _OF_EARLIER_LOGS = 2_000, 3_000, 4_000


@dataclass(frozen=True, slots=True)
class UnusualLines:
    """At most `MOST` lines in the log's order.

    `compared`: with a log of the job that passed. `earlier_logs`: with how many others, of which
    `in_earlier_logs` had the most usual of these lines.
    """

    lines: tuple[LogLine, ...] = ()
    compared: bool = False
    earlier_logs: int = 0
    in_earlier_logs: int = 0


def unusual_lines(
    failed: BinaryIO, passed: BinaryIO | None = None, earlier: EarlierLogs = NONE
) -> UnusualLines:
    """The most unusual lines before the end of the step that failed, or of the log."""
    usual = _forms(passed) if passed is not None else Counter[str]()
    window = _last_lines(failed)
    forms = Counter(mask_variable_parts(line.text) for line in window)
    ranked: list[tuple[int, LogLine]] = []
    for distance, line in enumerate(reversed(window)):
        form = mask_variable_parts(line.text)
        if form in usual or not _may_tell(line.text):
            continue
        logs_without = earlier.logs - earlier.count(form)
        if 2 * logs_without < earlier.logs:
            continue
        score = _OF_TROUBLE * (_TROUBLE.search(line.text) is not None)
        score += _OF_RARITY // forms[form] - distance
        if earlier.logs:
            score += _OF_EARLIER_LOGS * logs_without // earlier.logs
        ranked.append((score, line))
    ranked.sort(key=lambda item: (-item[0], -item[1].number))
    best = [line for _, line in ranked[:MOST]]
    best.sort(key=lambda line: line.number)
    seen = [earlier.count(mask_variable_parts(line.text)) for line in best]
    return UnusualLines(tuple(best), passed is not None, earlier.logs, max(seen, default=0))


def form_ids(log: BinaryIO) -> frozenset[str]:
    """The forms of the lines that may tell what went wrong, by `form_id`."""
    forms = {mask_variable_parts(line.text) for line in _last_lines(log) if _may_tell(line.text)}
    return frozenset(form_id(form) for form in forms)


def _may_tell(text: str) -> bool:
    is_of_a_length = _SHORTEST <= len(text.strip()) <= _LONGEST
    return is_of_a_length and _FINE.search(text) is None and text.count(" ") > 0


def _last_lines(stream: BinaryIO) -> list[LogLine]:
    """The last lines up to the first one that says how a step ended, from two blocks at most.

    Only these are cleaned: a log of 50 MiB has half a million others.
    """
    stream.seek(0)
    last: list[Block] = []
    for block in blocks(stream):
        last = [*last[-1:], block]
        if _ends_step(block.data):
            break
    raw_lines = []
    for number, raw in _raw_lines(last):
        if _ends_step(raw):
            break
        raw_lines.append((number, raw))
    return [LogLine(number, clean_line(raw)) for number, raw in raw_lines[-_WINDOW:]]


def _ends_step(data: bytes) -> bool:
    return any(words in data for words in _ENDS)


def _forms(stream: BinaryIO) -> Counter[str]:
    return Counter(mask_variable_parts(line.text) for line in _lines(stream))


def _lines(stream: BinaryIO) -> Iterator[LogLine]:
    stream.seek(0)
    for number, raw in _raw_lines(blocks(stream)):
        yield LogLine(number, clean_line(raw))


def _raw_lines(parts: Iterable[Block]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, with their numbers."""
    for block in parts:
        for number, raw in enumerate(block.data.split(b"\n"), block.first):
            if raw:
                yield number, raw
