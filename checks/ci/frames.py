"""Stack frames and compilers' places in the text of a failure, and which files of the repository they are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from checks.ci.report import Frame

MOST = 60
_PATH = r"(?P<path>[^\s:\"'()]{1,300}\.(?:py|pyi|pyx|cu|cuh|h|hpp|hh|cc|cpp|cxx|c|xpu|hip|inl))"
_SHAPES = (
    # Python: tracebacks, pytest's short and long ones, linters.
    re.compile(
        r'^[^"\n]{0,80}File "(?P<path>[^"\n]{1,300})", line (?P<line>\d{1,7})(?:, in (?P<function>\S{1,200}))?'
    ),
    re.compile(
        rf"^(?:E\s{{1,8}})?{_PATH}:(?P<line>\d{{1,7}})(?=:|$)(?:: in (?P<function>\S{{1,200}}))?"
    ),
    # Compilers, ruff, CMake, and the places that engines print behind an error.
    re.compile(rf"^(?:In file included from )?{_PATH}\((?P<line>\d{{1,7}})\)"),
    re.compile(
        r"^\s{0,8}(?:-->|CMake Error at|at|from) (?P<path>[^\s:\"'()]{1,300}):(?P<line>\d{1,7})"
    ),
    re.compile(rf"(?:\(at |\bin ){_PATH}:(?P<line>\d{{1,7}})\)?$"),
)


def frames(lines: Iterable[str]) -> tuple[Frame, ...]:
    """The frames in `lines`, in their order, without repetitions; the last `MOST` of them."""
    found: dict[tuple[str, int], Frame] = {}
    for line in lines:
        for shape in _SHAPES:
            hit = shape.search(line[:1000])
            if hit is not None:
                named = hit.groupdict()
                frame = Frame(named["path"], int(named["line"]), named.get("function") or "")
                key = (frame.path, frame.line)
                found[key] = frame if frame.function or key not in found else found[key]
                break
    return tuple(found.values())[-MOST:]


def in_repository(found: Iterable[Frame], paths: frozenset[str]) -> tuple[Frame, ...]:
    """The same frames; those in a file of the repository have its path there (`known`)."""
    return tuple(_placed(frame, paths) for frame in found)


def _placed(frame: Frame, paths: frozenset[str]) -> Frame:
    for path in _endings(frame.path):
        if path in paths:
            return replace(frame, path=path, known=True)
    return frame


def _endings(path: str) -> Iterator[str]:
    """The path as it stands, then without leading folders, down to two parts: a bare `utils.py` proves nothing."""
    path = path.replace("\\", "/").removeprefix("./")
    yield path
    parts = [p for p in path.split("/") if p]
    for start in range(1, len(parts) - 1):
        yield "/".join(parts[start:])
