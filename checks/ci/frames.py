"""Stack frames and compilers' places in the text of a failure, and which files of the repository
they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from checks.ci.report import Frame

MOST = 60
# Characters of a line that are looked at: its time must not depend on a stranger's log.
_LONGEST_LINE = 1000
_PATH = r"(?P<path>[^\s:\"'()]{1,300}\.(?:py|pyi|pyx|cu|cuh|h|hpp|hh|cc|cpp|cxx|c|xpu|hip|inl))"
_LINE = r"(?P<line>\d{1,7})"
_IN_FUNCTION = r"in (?P<function>\S{1,200})"
_SHAPES = (
    # Python: tracebacks, pytest's short and long ones, linters.
    re.compile(
        rf'^[^"\n]{{0,80}}File "(?P<path>[^"\n]{{1,300}})", line {_LINE}(?:, {_IN_FUNCTION})?'
    ),
    re.compile(rf"^(?:E\s{{1,8}})?{_PATH}:{_LINE}(?=:|$)(?:: {_IN_FUNCTION})?"),
    # Compilers, ruff, CMake, and the places that engines print behind an error.
    re.compile(rf"^(?:In file included from )?{_PATH}\({_LINE}\)"),
    re.compile(rf"^\s{{0,8}}(?:-->|CMake Error at|at|from) (?P<path>[^\s:\"'()]{{1,300}}):{_LINE}"),
    re.compile(rf"(?:\(at |\bin ){_PATH}:{_LINE}\)?$"),
)


def frames(lines: Iterable[str]) -> tuple[Frame, ...]:
    """The frames in `lines`, in their order, each place once; the last `MOST` of them."""
    by_place: dict[tuple[str, int], Frame] = {}
    for line in lines:
        frame = _frame(line[:_LONGEST_LINE])
        if frame is None:
            continue
        place = (frame.path, frame.line)
        if frame.function or place not in by_place:
            by_place[place] = frame
    return tuple(by_place.values())[-MOST:]


def _frame(line: str) -> Frame | None:
    for shape in _SHAPES:
        match = shape.search(line)
        if match is not None:
            groups = match.groupdict()
            return Frame(groups["path"], int(groups["line"]), groups.get("function") or "")
    return None


def in_repository(frames: Iterable[Frame], paths: frozenset[str]) -> tuple[Frame, ...]:
    """The same frames.

    One in a file of the repository gets the file's path there, and is `known`.
    """
    return tuple(_place(frame, paths) for frame in frames)


def _place(frame: Frame, paths: frozenset[str]) -> Frame:
    for path in _endings(frame.path):
        if path in paths:
            return replace(frame, path=path, known=True)
    return frame


def _endings(path: str) -> Iterator[str]:
    """The path as it is, then without its leading folders, down to two parts.

    One part is not tried: a bare `utils.py` proves nothing.
    """
    path = path.replace("\\", "/").removeprefix("./")
    yield path
    parts = [part for part in path.split("/") if part]
    for start in range(1, len(parts) - 1):
        yield "/".join(parts[start:])
