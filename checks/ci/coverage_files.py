"""Coverage reports: Cobertura XML (coverage.py, gcovr) and lcov, streamed, as line counts by file.

diff-cover reads the same formats, but by running git in the current folder; a test holds these numbers against its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import BinaryIO
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

# Hits of each line, by the file's name as the report has it.
Lines = dict[str, dict[int, int]]


class CoverageError(ValueError):
    """A file that is no coverage report, or ends early: half a report would count what it lost as not executed."""


def read(stream: BinaryIO) -> Lines:
    """The lines of a report, told from its first byte. Raises `CoverageError`."""
    start = stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    stream.seek(0)
    if start.startswith(b"<"):
        return _xml(stream)
    if start[:3] in (b"TN:", b"SF:"):
        return _lcov(stream)
    raise CoverageError(start[:20])


def _xml(stream: BinaryIO) -> Lines:
    found: Lines = {}
    sources: list[str] = []
    names: list[str] = []
    try:
        for event, element in iterparse(stream, events=("start", "end")):
            if event == "start":
                if element.tag == "class":
                    names.append(element.get("filename", ""))
                continue
            if element.tag == "source":
                sources.append((element.text or "").strip().rstrip("/"))
            elif element.tag == "line" and names:
                number, hits = element.get("number", ""), element.get("hits", "")
                if number.isdecimal() and hits.isdecimal():
                    lines = found.setdefault(names[-1], {})
                    lines[int(number)] = max(int(hits), lines.get(int(number), 0))
            elif element.tag == "class" and names:
                found.setdefault(names.pop(), {})
                element.clear()
    except (ParseError, DefusedXmlException, LookupError) as error:
        raise CoverageError(str(error)) from None
    return {_full(name, sources): lines for name, lines in found.items()}


def _full(name: str, sources: list[str]) -> str:
    """`name` under the report's one source folder; with several the report does not say which."""
    return f"{sources[0]}/{name}" if len(sources) == 1 and sources[0] not in ("", ".") else name


def _lcov(stream: BinaryIO) -> Lines:
    found: Lines = {}
    lines: dict[int, int] | None = None
    for raw in stream:
        key, _, value = raw.decode("utf-8", "replace").strip().partition(":")
        if key == "SF":
            lines = found.setdefault(value, {})
        elif key == "DA" and lines is not None:
            number, _, rest = value.partition(",")
            hits = rest.split(",")[0]
            if number.isdecimal() and hits.isdecimal():
                lines[int(number)] = lines.get(int(number), 0) + int(hits)
        elif key == "end_of_record":
            lines = None
    if lines is not None:
        raise CoverageError("end_of_record")
    return found


def merged(reports: Iterable[Mapping[str, Mapping[int, int]]]) -> Lines:
    """Several reports as one: a line is executed where any of them says so."""
    found: Lines = {}
    for report in reports:
        for name, lines in report.items():
            own = found.setdefault(name, {})
            for number, hits in lines.items():
                own[number] = max(hits, own.get(number, 0))
    return found
