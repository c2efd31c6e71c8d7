"""The Markdown of templates and pull-request bodies: sections, comments, check boxes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

PROSE_LEVEL = 2
"""The level of a heading without `#`: a bold line, or a known name alone on its line."""

_HEADING = re.compile(r" {0,3}(#{1,6})\s*(.*?)\s*#*\s*")
# `#7884` is a reference and no heading: Markdown wants a space behind the marks.
_SPACED_HEADING = re.compile(r" {0,3}#+\s")
_BOLD = re.compile(r"\s*(\*\*|__)(.+?)\1\s*[:：]?\s*")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_COMMENT = re.compile(
    r"(?P<code>^ {0,3}(?P<mark>`{3,}|~{3,}).*?^ {0,3}(?P=mark)|`[^`\n]+`)|<!--.*?(?:-->|\Z)",
    re.DOTALL | re.MULTILINE,
)
_BOX = re.compile(r"(\s*(?:[-*+]|\d+[.)])\s+)\[([ xX])\](\s+)(.*)")
_LIST_MARK = re.compile(r"^\s*[-+*•·]\s+")
_SECTION_NUMBER = re.compile(r"^\d+[.、)]\s*")
_CONTENT = re.compile(r"\w|!\[|<img")
_ANSWERS = ("n/a", "na", "none", "无", "不涉及")
_PENDING = re.compile(r"(todo|tbd|wip|xxx|待补充|待填写)(?!\w)")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it.

    `title` is the line as written, `name` its text; both are empty before the first heading.
    """

    name: str
    level: int
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """A check box of a list: its text, and whether it is ticked."""

    text: str
    ticked: bool


def normal(text: str) -> str:
    """`text` for comparison: lower case, no Markdown marks, emoji codes or punctuation at its ends,
    single spaces."""
    without_emoji = re.sub(r":[a-z_]+:", " ", text.casefold())
    plain = re.sub(r"[*_`#>]", "", without_emoji)
    return re.sub(r"\s+", " ", plain).strip(" \t-.,:;!?()（）：，。；！？")


def strip_comments(text: str) -> str:
    """`text` without HTML comments; those in code stay.

    GitHub hides everything behind a comment that is never closed, and so do we.
    """
    return _COMMENT.sub(lambda match: match["code"] or "", text.replace("\r\n", "\n"))


@dataclass
class _OpenSection:
    """A section that is still being read."""

    name: str
    level: int
    title: str
    lines: list[str] = field(default_factory=list)

    def ends_at(self, level: int) -> bool:
        """Whether a heading of `level` is no part of this section."""
        return not self.name or level <= self.level


def split(text: str, known: Iterable[str] = ()) -> list[Section]:
    """The sections of `text` without its comments, and the part before the first heading unless it
    is blank.

    `known` names count as headings in bold or bare on a line, and at any level; another heading
    starts a section only where it is not below the one it stands in. Lines in code fences are never
    headings.
    """
    names = {normal(name): name for name in known}
    sections = [_OpenSection("", 0, "")]
    fence = ""
    for line in strip_comments(text).split("\n"):
        current = sections[-1]
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        heading = None if fence or mark else _heading(line, names)
        if heading is None:
            current.lines.append(line)
            continue
        name, level = heading
        if name in names.values() or current.ends_at(level):
            sections.append(_OpenSection(name, level, line))
        else:
            current.lines.append(line)
    if not any(line.strip() for line in sections[0].lines):
        sections = sections[1:]
    return [Section(s.name, s.level, s.title, tuple(s.lines)) for s in sections]


def _heading(line: str, names: dict[str, str]) -> tuple[str, int] | None:
    """(name, level) of a heading; a known name in its own spelling. None for any other line."""
    marked = _HEADING.fullmatch(line)
    if marked is not None:
        marks, text = marked[1], marked[2]
        name = known_name(text, names)
        if name:
            return name, len(marks)
        return (text, len(marks)) if _SPACED_HEADING.match(line) else None
    bold = _BOLD.fullmatch(line)
    name = names.get(normal(bold[2] if bold else line), "")
    return (name, PROSE_LEVEL) if name else None


def known_name(heading: str, names: dict[str, str]) -> str:
    """The known section that `heading` names: alone, numbered, or followed by more text, as in
    `Motivation 背景`. Empty for none."""
    text = _SECTION_NUMBER.sub("", normal(heading))
    if text in names:
        return names[text]
    beginnings = [name for name in names if re.match(rf"{re.escape(name)}(?![a-z0-9])", text)]
    if not beginnings:
        return ""
    return names[max(beginnings, key=len)]


def boxes(text: str) -> list[Box]:
    """The check boxes outside comments, as GitHub renders them (`- [ ]`, `* [x]`, `1. [X]`)."""
    matches = [_BOX.fullmatch(line) for line in strip_comments(text).split("\n")]
    return [Box(match[4].strip(), match[2] != " ") for match in matches if match is not None]


def box_text(line: str) -> str | None:
    """The text of the check box on `line`, None where there is none."""
    match = _BOX.fullmatch(line)
    return match[4].strip() if match else None


def tick(line: str, ticked: bool) -> str:
    """`line`, which holds a check box, with that box ticked or not."""
    mark = "x" if ticked else " "
    return _BOX.sub(lambda match: f"{match[1]}[{mark}]{match[3]}{match[4]}", line)


def boilerplate(template: str) -> frozenset[str]:
    """Every line of a template, in its comments too, in the form that `is_boilerplate` compares.

    An answer that the template already gives (`N/A`) is an answer wherever it stands.
    """
    contents = [_content(re.sub(r"<!--|-->", " ", line)) for line in template.split("\n")]
    return frozenset(content for content in contents if content not in _ANSWERS)


def is_boilerplate(line: str, known: frozenset[str]) -> bool:
    """Whether `line` is one of the template's, ticked or not."""
    return bool(normal(line)) and _content(line) in known


def _content(line: str) -> str:
    """A line for comparison; of a list item or box its text.

    A tick alone does not make a line the author's.
    """
    return normal(box_text(line) or _LIST_MARK.sub("", line))


def written(lines: Iterable[str], known: frozenset[str] = frozenset()) -> list[str]:
    """The lines that say something of the author's own: no comments, headings, punctuation or
    `known` lines.

    `N/A` and `无` are answers, and so is an image; `TODO` is not.
    """
    text = strip_comments("\n".join(lines))
    return [line for line in text.split("\n") if _says_something(line, known)]


def _says_something(line: str, known: frozenset[str]) -> bool:
    if not _CONTENT.search(line) or _PENDING.match(normal(line)):
        return False
    if is_boilerplate(line, known):
        return False
    is_heading = _HEADING.fullmatch(line) and _SPACED_HEADING.match(line)
    return not is_heading
