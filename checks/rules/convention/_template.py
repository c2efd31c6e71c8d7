"""The target repository's pull-request template: its sections, boxes and title tags."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from checks.core.config import Config
from checks.core.tree import Tree
from checks.rules.convention._markdown import (
    Section,
    boilerplate,
    box_text,
    boxes,
    normal,
    split,
    strip_comments,
    written,
)
from checks.rules.convention._titles import key

PLACES = (".github", ".", "docs")
STEM = "pull_request_template"
FEWEST_TAGS = 3
"""So many bracketed names on one line, or so many bullets that open with one, are a list of
tags.
"""


@dataclass(frozen=True)
class Template:
    """A template as it stands in the base tree, with what the configuration says on top of it."""

    path: str
    text: str
    config: Config

    @cached_property
    def sections(self) -> list[Section]:
        return split(self.text)

    @cached_property
    def boilerplate(self) -> frozenset[str]:
        return boilerplate(self.text)

    @cached_property
    def boxes(self) -> list[str]:
        return [b.text for b in boxes(self.text)]

    @cached_property
    def names(self) -> list[str]:
        """The headings that split a body: the template's, and the configured ones that it lacks."""
        own = [s.name for s in self.sections if s.name]
        have = {normal(n) for n in own}
        wanted = (*self.config.description.required, self.config.description.checklist)
        return own + [n for n in wanted if normal(n) not in have and n]

    @cached_property
    def required(self) -> list[str]:
        """The sections that must be filled: the configured ones, else every one of the template's
        main level that is not a list of boxes."""
        if self.config.description.required:
            return list(self.config.description.required)
        level = self._main_level
        return [s.name for s in self.sections if s.level == level and not self.is_checklist(s)]

    @property
    def _main_level(self) -> int:
        levels = Counter(s.level for s in self.sections if s.name)
        return 2 if 2 in levels else max(levels, key=lambda n: (levels[n], -n), default=2)

    def is_checklist(self, section: Section) -> bool:
        """Whether `section` is the checklist, or holds nothing but boxes."""
        if normal(section.name).startswith(normal(self.config.description.checklist)):
            return True
        lines = written(section.lines)
        return bool(lines) and all(box_text(line) is not None for line in lines)

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The title tags allowed: the configured ones, else those that the template lists."""
        return self.config.title.tags or listed_tags(self.text)

    @property
    def takes_new_tags(self) -> bool:
        """Whether the template says that other tags than the listed ones may be used."""
        return bool(
            re.search(
                r"\b(add|use|create|introduce)\b[^.\n]{0,20}\bnew tags?\b|新增(标签|tag)",
                self.text,
                re.I,
            )
        )

    @property
    def asks_for_tests(self) -> bool:
        return bool(re.search(r"\b(unit[ -]?)?tests?\b|测试|单测", strip_comments(self.text), re.I))


def find(tree: Tree, config: Config, body: str = "") -> Template:
    """The template of `tree`: the configured one, else one in GitHub's usual places in any case,
    else an empty one.

    Of a folder of several templates it is the one whose headings `body` has; without such a
    heading, none.
    """
    given = config.description.template
    paths = [given] if given else _usual(tree.paths())
    texts = {
        p: data.decode("utf-8", "replace").replace("\r\n", "\n")
        for p in paths
        if (data := tree.read(p))
    }
    templates = [Template(p, text, config) for p, text in texts.items()]
    if len(templates) > 1:
        lines = {normal(line) for line in body.split("\n")}
        scored = [(sum(normal(n) in lines for n in t.names), t) for t in templates]
        best = max(score for score, _ in scored)
        templates = [t for score, t in scored if score == best > 0][:1]
    return templates[0] if templates else Template("", "", config)


def _usual(paths: tuple[str, ...]) -> list[str]:
    """The first of the places that has a single template; else all the files of the first template
    folder.
    """
    near = [PurePosixPath(p) for p in paths if STEM in p.casefold() and p.count("/") <= 2]
    for place in PLACES:
        single = [
            p for p in near if str(p.parent).casefold() == place and p.stem.casefold() == STEM
        ]
        if single:
            return [str(single[0])]
    for place in PLACES:
        folder = [
            p
            for p in near
            if p.parent.name.casefold() == STEM
            and str(p.parent.parent).casefold() == place
            and p.suffix == ".md"
        ]
        if folder:
            return [str(p) for p in folder]
    return []


def listed_tags(text: str) -> tuple[str, ...]:
    """The tags that a template lists, in order: names in brackets or backticks, three or more on
    one line that are not links, or opening as many bullets."""
    found: list[str] = []
    opening: list[str] = []
    for line in text.split("\n"):
        plain = line.replace("`[", "[").replace("]`", "]")
        names = [n.strip() for n in re.findall(r"\[([^\[\]\n()`]*\w[^\[\]\n()`]*)\](?!\()", plain)]
        quoted = (
            re.findall(r"`([^`\n]+)`", line)
            if re.search(r"\btags?\b[^`]*[:：]", line, re.I)
            else []
        )
        for group in (names, quoted):
            if len({key(n) for n in group}) >= FEWEST_TAGS and box_text(line) is None:
                found += group
        bullet = re.match(r"\s*[-*+]\s+\[([^\[\]\n()`]*\w[^\[\]\n()`]*)\](?!\()", plain)
        if bullet and box_text(line) is None:
            opening.append(bullet[1].strip())
    if len(opening) >= FEWEST_TAGS:
        found += opening
    unique: dict[str, str] = {}
    for name in filter(key, found):
        unique.setdefault(key(name), name.strip("[] "))
    return tuple(unique.values())
