"""Coverage reports: Cobertura XML (coverage.py, gcovr) and lcov, streamed, as line counts by file.

diff-cover reads the same formats, but runs git in the current folder; a test compares these numbers
with its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

# Hits of each line, by the file's name as the report has it.
Lines = dict[str, dict[int, int]]


class CoverageError(ValueError):
    """A file that is no coverage report, or that ends early.

    Half a report would count the lines that it lost as not executed.
    """


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
    reader = _CoberturaReader()
    try:
        for event, element in iterparse(stream, events=("start", "end")):
            if event == "start":
                reader.start(element)
            else:
                reader.end(element)
    except (ParseError, DefusedXmlException, LookupError) as error:
        raise CoverageError(str(error)) from None
    return {_full_name(name, reader.sources): lines for name, lines in reader.lines.items()}


class _CoberturaReader:
    """Takes the elements of a Cobertura file as they begin and end."""

    def __init__(self) -> None:
        self.lines: Lines = {}
        self.sources: list[str] = []
        self._open_classes: list[str] = []

    def start(self, element: Element) -> None:
        if element.tag == "class":
            self._open_classes.append(element.get("filename", ""))

    def end(self, element: Element) -> None:
        if element.tag == "source":
            self.sources.append((element.text or "").strip().rstrip("/"))
        elif element.tag == "line" and self._open_classes:
            self._add_line(element.get("number", ""), element.get("hits", ""))
        elif element.tag == "class" and self._open_classes:
            self.lines.setdefault(self._open_classes.pop(), {})
            element.clear()

    def _add_line(self, number: str, hits: str) -> None:
        if number.isdecimal() and hits.isdecimal():
            lines = self.lines.setdefault(self._open_classes[-1], {})
            # A class and its methods both list a line: it counts once.
            lines[int(number)] = max(int(hits), lines.get(int(number), 0))


def _full_name(name: str, sources: list[str]) -> str:
    """`name` below the report's one source folder.

    With several, the report does not say which is meant.
    """
    if len(sources) != 1 or sources[0] in ("", "."):
        return name
    return f"{sources[0]}/{name}"


def _lcov(stream: BinaryIO) -> Lines:
    """lcov's text: `SF:` begins a file, `DA:line,hits` is a line of it, `end_of_record` ends it."""
    lines_by_file: Lines = {}
    lines: dict[int, int] | None = None
    for raw in stream:
        key, _, value = raw.decode("utf-8", "replace").strip().partition(":")
        if key == "SF":
            lines = lines_by_file.setdefault(value, {})
        elif key == "DA" and lines is not None:
            number, _, rest = value.partition(",")
            hits = rest.split(",")[0]
            if number.isdecimal() and hits.isdecimal():
                lines[int(number)] = lines.get(int(number), 0) + int(hits)
        elif key == "end_of_record":
            lines = None
    if lines is not None:
        raise CoverageError("end_of_record")
    return lines_by_file


def merged(reports: Iterable[Mapping[str, Mapping[int, int]]]) -> Lines:
    """Several reports as one: a line is executed where any of them says so."""
    total: Lines = {}
    for report in reports:
        for name, lines in report.items():
            merged_lines = total.setdefault(name, {})
            for number, hits in lines.items():
                merged_lines[number] = max(hits, merged_lines.get(number, 0))
    return total
