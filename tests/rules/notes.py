"""Expectations: the comments at the end of a line, and the lines of an `expect` block."""

from __future__ import annotations

import re
from dataclasses import dataclass

SEVERITIES = ("bug", "suggestion", "question", "convention")
# Of any severity, and told to the pedantic persona alone.
PEDANTIC = "pedantic"
# A place that a finding names as another one of its cause.
ALSO = "also"
WORDS = {"error": "bug", PEDANTIC: PEDANTIC, ALSO: ALSO} | {s: s for s in SEVERITIES}


class RuleFileError(ValueError):
    """A rule test that cannot be read; `line` is where, from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(f"line {line}: {problem}")


@dataclass(frozen=True)
class Expected:
    """A finding that a case expects. `severity` is empty where any will do.

    `kind` is `finding`, or for today's mistakes `todo-error` (should be reported, is not) and
    `todo-ok` (is reported, should not be). `path` is empty for what is said about the pull
    request's own text.
    """

    kind: str
    severity: str
    rule: str
    path: str
    line: int
    side: str
    words: tuple[str, ...]
    at: int


_KINDS = "|".join(("todo-error", "todo-ok", *WORDS))
_NOTE = re.compile(
    rf"""(?P<note>(?P<kind>{_KINDS}):\s*\[(?P<rule>[\w.-]+)\](?P<words>(?:\s*"(?:[^"\\]|\\.)*")*)|ok)\s*(?:-->)?\s*$"""
)


def split_notes(line: str, at: int) -> tuple[str, list[Expected | None]]:
    """(`line` without the expectation comments at its end, what they say; None stands for `ok`)."""
    notes: list[Expected | None] = []
    while True:
        start, note = _last_note(line)
        if note is None:
            break
        kind = note["kind"]
        if kind is None:
            notes.append(None)
        else:
            words = tuple(
                w.replace('\\"', '"')
                for w in re.findall(r'"((?:[^"\\]|\\.)*)"', note["words"] or "")
            )
            todo = kind.startswith("todo")
            severity = "" if todo else WORDS[kind]
            notes.append(
                Expected(kind if todo else "finding", severity, note["rule"], "", 0, "", words, at)
            )
        line = line[:start].rstrip()
    return line, notes[::-1]


def _last_note(line: str) -> tuple[int, re.Match[str] | None]:
    for opening in re.finditer(r"//|#|<!--", line):
        note = _NOTE.match(line, _skip(line, opening.end()))
        if note is not None:
            return opening.start(), note
    return 0, None


def _skip(line: str, start: int) -> int:
    return len(line) - len(line[start:].lstrip())


_EXPECT = re.compile(
    rf"""(?P<kind>{_KINDS})\s+(?P<rule>[\w-]+\.[\w.-]+)\s+(?P<place>\S+)(?P<words>(?:\s+"(?:[^"\\]|\\.)*")*)\s*"""
)


def expect_line(text: str, at: int) -> Expected:
    """`severity rule path:line "words"`; the place is `path` for a whole file, `pull` for the pull
    request's text, and ends in `@base` where it counts in the base."""
    found = _EXPECT.fullmatch(text)
    if found is None:
        raise RuleFileError(at, f"cannot read the expectation {text!r}")
    todo = found["kind"].startswith("todo")
    place, _, side = found["place"].partition("@")
    path, _, line = place.rpartition(":") if re.search(r":\d+$", place) else (place, "", "0")
    if side not in ("", "base", "head"):
        raise RuleFileError(at, f"no such side: {side!r}")
    words = tuple(
        w.replace('\\"', '"') for w in re.findall(r'"((?:[^"\\]|\\.)*)"', found["words"] or "")
    )
    return Expected(
        found["kind"] if todo else "finding",
        "" if todo else WORDS[found["kind"]],
        found["rule"],
        "" if path == "pull" else path,
        int(line),
        side or "head",
        words,
        at,
    )
