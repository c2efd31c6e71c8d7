"""The Markdown of templates and pull-request bodies: sections, comments, check boxes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

PROSE_LEVEL = 2
"""The level of a heading without marks of its own: a bold line, or a known name alone on its
line.
"""

_ATX = re.compile(r" {0,3}(#{1,6})\s*(.*?)\s*#*\s*")
_BOLD = re.compile(r"\s*(\*\*|__)(.+?)\1\s*[:：]?\s*")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_COMMENT = re.compile(
    r"(?P<code>^ {0,3}(?P<mark>`{3,}|~{3,}).*?^ {0,3}(?P=mark)|`[^`\n]+`)|<!--.*?(?:-->|\Z)",
    re.DOTALL | re.MULTILINE,
)
_BOX = re.compile(r"(\s*(?:[-*+]|\d+[.)])\s+)\[([ xX])\](\s+)(.*)")
_ANSWERS = ("n/a", "na", "none", "无", "不涉及")
_PENDING = re.compile(r"(todo|tbd|wip|xxx|待补充|待填写)(?!\w)")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it. `title` is the line as written; both are empty before the
    first heading.
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
    """`text` for comparison: one case, no Markdown marks, emoji codes or edge punctuation, single
    spaces.
    """
    plain = re.sub(r"[*_`#>]", "", re.sub(r":[a-z_]+:", " ", text.casefold()))
    return re.sub(r"\s+", " ", plain).strip(" \t-.,:;!?()（）：，。；！？")


def strip_comments(text: str) -> str:
    """`text` without HTML comments, those in code stay; GitHub hides one that is never closed to the
    end.
    """
    return _COMMENT.sub(lambda m: m["code"] or "", text.replace("\r\n", "\n"))


def split(text: str, known: Iterable[str] = ()) -> list[Section]:
    """The sections of `text` without its comments, the part before the first heading too where it holds anything.

    `known` names count as headings in bold or bare on a line, and at any level; another heading
    starts a section only where it is not below the one it stands in. Lines in code fences are never
    headings.
    """
    names = {normal(k): k for k in known}
    made: list[tuple[str, int, str, list[str]]] = [("", 0, "", [])]
    fence = ""
    for line in strip_comments(text).split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        found = None if fence or mark else _heading(line, names)
        if found is not None and (found[0] in names.values() or _opens(found[1], made[-1])):
            made.append((found[0], found[1], line, []))
        else:
            made[-1][3].append(line)
    sections = [Section(name, level, title, tuple(lines)) for name, level, title, lines in made]
    return sections if any(x.strip() for x in sections[0].lines) else sections[1:]


def _opens(level: int, current: tuple[str, int, str, list[str]]) -> bool:
    return not current[0] or level <= current[1]


def _heading(line: str, names: dict[str, str]) -> tuple[str, int] | None:
    """(name, level) of a heading; a known name in its own spelling."""
    atx = _ATX.fullmatch(line)
    if atx is not None:
        name = known_name(atx[2], names)
        if name or re.match(r" {0,3}#+\s", line):
            return name or atx[2], len(atx[1])
        return None
    bold = _BOLD.fullmatch(line)
    name = names.get(normal(bold[2] if bold else line), "")
    return (name, PROSE_LEVEL) if name else None


def known_name(heading: str, names: dict[str, str]) -> str:
    """The known section that `heading` names: alone, numbered, or followed by more (`Motivation
    背景`).
    """
    text = re.sub(r"^\d+[.、)]\s*", "", normal(heading))
    if text in names:
        return names[text]
    more = [n for n in names if re.match(rf"{re.escape(n)}(?![a-z0-9])", text)]
    return names[max(more, key=len)] if more else ""


def boxes(text: str) -> list[Box]:
    """The check boxes outside comments, as GitHub renders them (`- [ ]`, `* [x]`, `1. [X]`)."""
    found = (_BOX.fullmatch(line) for line in strip_comments(text).split("\n"))
    return [Box(m[4].strip(), m[2] != " ") for m in found if m is not None]


def box_text(line: str) -> str | None:
    """The text of the check box on `line`, None where there is none."""
    found = _BOX.fullmatch(line)
    return found[4].strip() if found else None


def tick(line: str, ticked: bool) -> str:
    """`line`, which holds a check box, with that box ticked or not."""
    return _BOX.sub(lambda m: f"{m[1]}[{'x' if ticked else ' '}]{m[3]}{m[4]}", line)


def boilerplate(template: str) -> frozenset[str]:
    """Every line of a template, in its comments too, in the form `is_boilerplate` compares with. An answer that the
    template already gives (`N/A`) is one wherever it stands.
    """
    lines = (_content(re.sub(r"<!--|-->", " ", line)) for line in template.split("\n"))
    return frozenset(line for line in lines if line not in _ANSWERS)


def is_boilerplate(line: str, known: frozenset[str]) -> bool:
    """Whether `line` is one of the template's, ticked or not."""
    return bool(normal(line)) and _content(line) in known


def _content(line: str) -> str:
    """A line for comparison; of a list item or box its text, so that a tick alone does not make it the author's."""
    return normal(box_text(line) or re.sub(r"^\s*[-+*•·]\s+", "", line))


def written(lines: Iterable[str], known: frozenset[str] = frozenset()) -> list[str]:
    """The lines that say something of the author's own: no comments, headings, punctuation or
    `known` lines.

    `N/A` and `无` are answers, and so is an image; `TODO` is not.
    """
    text = strip_comments("\n".join(lines))
    return [line for line in text.split("\n") if _says(line, known)]


def _says(line: str, known: frozenset[str]) -> bool:
    text = normal(line)
    if not re.search(r"\w|!\[|<img", line) or _PENDING.match(text) or is_boilerplate(line, known):
        return False
    return _ATX.fullmatch(line) is None or not re.match(r" {0,3}#+\s", line)
