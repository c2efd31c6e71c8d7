"""Coverage reports: Cobertura XML (coverage.py, gcovr) and lcov, streamed, as lines by file.

diff-cover reads the same formats, but runs git in the current folder; a test compares these numbers
with its own. It does not look at branches; what a partial line is follows Codecov.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

# `condition-coverage="50% (1/2)"`: ways that were taken, and all of them.
_CONDITIONS = re.compile(r"\((\d{1,9})/(\d{1,9})\)")


@dataclass(frozen=True, slots=True)
class LineCoverage:
    """What a report says of one line.

    `hits` is how often it ran. `branches` counts the ways that lead on from it, 0 where it does not
    branch or the report does not look at branches; `taken` counts those that were gone. `untaken`
    are the names of the others, empty where the report has none; `naming` is the format whose names
    they are.
    """

    hits: int
    branches: int = 0
    taken: int = 0
    untaken: frozenset[str] = frozenset()
    naming: str = ""

    @property
    def missed(self) -> bool:
        """It did not run, or led nowhere, which is what Codecov counts of a line that branches."""
        return self.taken == 0 if self.branches else self.hits == 0

    @property
    def partial(self) -> bool:
        """Some of its ways were gone, and some never."""
        return 0 < self.taken < self.branches

    @property
    def covered(self) -> bool:
        return not self.missed and not self.partial

    def joined(self, other: LineCoverage) -> LineCoverage:
        """What two reports say of the line together.

        A way is gone where either report went it; where they do not name their ways, the report
        that went more of them counts. A report without branches says nothing about them.
        """
        hits = max(self.hits, other.hits)
        if self._names_the_same_ways(other):
            untaken = self.untaken & other.untaken
            taken = self.branches - len(untaken)
            return LineCoverage(hits, self.branches, taken, untaken, self.naming)
        more = max(self, other, key=lambda line: (line.branches, line.taken))
        return replace(more, hits=hits)

    def _names_the_same_ways(self, other: LineCoverage) -> bool:
        if (self.branches, self.naming) != (other.branches, other.naming):
            return False
        return all(len(line.untaken) == line.branches - line.taken for line in (self, other))


# What is known of each line, by the file's name as the report has it.
Lines = dict[str, dict[int, LineCoverage]]


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
            self._add_line(element)
        elif element.tag == "class" and self._open_classes:
            self.lines.setdefault(self._open_classes.pop(), {})
            element.clear()

    def _add_line(self, element: Element) -> None:
        number, hits = element.get("number", ""), element.get("hits", "")
        if number.isdecimal() and hits.isdecimal():
            lines = self.lines.setdefault(self._open_classes[-1], {})
            # A class and its methods both list a line: it counts once.
            _add(lines, int(number), _cobertura_line(int(hits), element))


def _cobertura_line(hits: int, element: Element) -> LineCoverage:
    """A `line` element. coverage.py names where the ways lead that were not gone."""
    conditions = _CONDITIONS.search(element.get("condition-coverage", ""))
    if conditions is None or element.get("branch", "").lower() != "true":
        return LineCoverage(hits)
    taken, branches = int(conditions[1]), int(conditions[2])
    untaken = frozenset(element.get("missing-branches", "").split(",")) - {""}
    return LineCoverage(hits, branches, min(taken, branches), untaken, "missing-branches")


def _add(lines: dict[int, LineCoverage], number: int, line: LineCoverage) -> None:
    """Add what one more place says of a line."""
    known = lines.get(number)
    lines[number] = line if known is None else known.joined(line)


def _full_name(name: str, sources: list[str]) -> str:
    """`name` below the report's one source folder.

    With several, the report does not say which is meant.
    """
    if len(sources) != 1 or sources[0] in ("", "."):
        return name
    return f"{sources[0]}/{name}"


@dataclass
class _LcovFile:
    """The records of one file: hits by line, and whether each way from a line was gone."""

    hits: dict[int, int] = field(default_factory=dict)
    ways: dict[int, dict[str, bool]] = field(default_factory=dict)

    def add_hits(self, value: str) -> None:
        """`DA:line,hits[,checksum]`; several tests of a file add up."""
        number, _, rest = value.partition(",")
        hits = rest.split(",")[0]
        if number.isdecimal() and hits.isdecimal():
            self.hits[int(number)] = self.hits.get(int(number), 0) + int(hits)

    def add_way(self, value: str) -> None:
        """`BRDA:line,block,branch,taken`; `-` is taken of a line that never ran."""
        number, _, rest = value.partition(",")
        name, _, taken = rest.rpartition(",")
        if not number.isdecimal() or not (taken == "-" or taken.isdecimal()):
            return
        ways = self.ways.setdefault(int(number), {})
        is_taken = taken != "-" and int(taken) > 0
        ways[name] = is_taken or ways.get(name, False)

    def lines(self) -> dict[int, LineCoverage]:
        """Every line that either kind of record names."""
        lines = {number: LineCoverage(hits) for number, hits in self.hits.items()}
        for number, ways in self.ways.items():
            untaken = frozenset(name for name, taken in ways.items() if not taken)
            taken = len(ways) - len(untaken)
            hits = self.hits.get(number, taken)
            lines[number] = LineCoverage(hits, len(ways), taken, untaken, "BRDA")
        return lines


def _lcov(stream: BinaryIO) -> Lines:
    """lcov's text: `SF:` begins a file, `DA:` and `BRDA:` are its lines, `end_of_record` ends
    it.
    """
    files: dict[str, _LcovFile] = {}
    file: _LcovFile | None = None
    for raw in stream:
        key, _, value = raw.decode("utf-8", "replace").strip().partition(":")
        if key == "SF":
            file = files.setdefault(value, _LcovFile())
        elif key == "DA" and file is not None:
            file.add_hits(value)
        elif key == "BRDA" and file is not None:
            file.add_way(value)
        elif key == "end_of_record":
            file = None
    if file is not None:
        raise CoverageError("end_of_record")
    return {name: file.lines() for name, file in files.items()}


def merged(reports: Iterable[Lines]) -> Lines:
    """Several reports as one: a line is executed where any of them says so."""
    total: Lines = {}
    for report in reports:
        for name, lines in report.items():
            merged_lines = total.setdefault(name, {})
            for number, line in lines.items():
                _add(merged_lines, number, line)
    return total
