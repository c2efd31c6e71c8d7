"""The target repository's pull-request template: its sections, boxes and title tags."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from checks.core.config import Config
from checks.core.tree import Tree
from checks.domain.pull_text.markdown import (
    Section,
    boilerplate,
    box_text,
    boxes,
    normal,
    split,
    strip_comments,
    written,
)
from checks.domain.pull_text.titles import key

PLACES = (".github", ".", "docs")
STEM = "pull_request_template"
# `docs/pull_request_template/name.md`: a template lies no deeper.
_MOST_PARTS = 3
FEWEST_TAGS = 3
"""Three bracketed names on one line, or three bullets that open with one, are a list of tags."""

_NEW_TAGS = re.compile(
    r"\b(add|use|create|introduce)\b[^.\n]{0,20}\bnew tags?\b|新增(标签|tag)", re.I
)
_TESTS = re.compile(r"\b(unit[ -]?)?tests?\b|测试|单测", re.I)
# A name in brackets that is no link.
_BRACKETED = r"\[([^\[\]\n()`]*\w[^\[\]\n()`]*)\](?!\()"
_BULLET_WITH_TAG = re.compile(rf"\s*[-*+]\s+{_BRACKETED}")
_SPEAKS_OF_TAGS = re.compile(r"\btags?\b[^`]*[:：]", re.I)


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
        """Its lines, in the form that `is_boilerplate` compares with."""
        return boilerplate(self.text)

    @cached_property
    def boxes(self) -> list[str]:
        """The texts of its check boxes."""
        return [box.text for box in boxes(self.text)]

    @cached_property
    def names(self) -> list[str]:
        """The headings that split a body: the template's, and the configured ones that it lacks."""
        own = [section.name for section in self.sections if section.name]
        have = {normal(name) for name in own}
        wanted = (*self.config.description.required, self.config.description.checklist)
        return own + [name for name in wanted if name and normal(name) not in have]

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
        """2 where the template has such headings, else the level of most of them."""
        levels = Counter(section.level for section in self.sections if section.name)
        if 2 in levels:
            return 2
        return max(levels, key=lambda level: (levels[level], -level), default=2)

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
        return _NEW_TAGS.search(self.text) is not None

    @property
    def asks_for_tests(self) -> bool:
        return _TESTS.search(strip_comments(self.text)) is not None


def find_template(tree: Tree, config: Config, body: str = "") -> Template:
    """The template of `tree`: the configured one, else one in GitHub's usual places in any case,
    else an empty one.

    Of a folder of several templates it is the one whose headings `body` has; without such a
    heading, none.
    """
    configured = config.description.template
    paths = [configured] if configured else _usual_paths(tree.paths())
    templates = []
    for path in paths:
        data = tree.read(path)
        if data:
            text = data.decode("utf-8", "replace").replace("\r\n", "\n")
            templates.append(Template(path, text, config))
    if len(templates) == 1:
        return templates[0]
    lines = {normal(line) for line in body.split("\n")}
    best, best_score = Template("", "", config), 0
    for template in templates:
        score = sum(1 for name in template.names if normal(name) in lines)
        if score > best_score:
            best, best_score = template, score
    return best


def _usual_paths(paths: tuple[str, ...]) -> list[str]:
    """The first of the places that has a single template; else all the files of the first template
    folder."""
    near = [PurePosixPath(path) for path in paths if STEM in path.casefold()]
    near = [path for path in near if len(path.parts) <= _MOST_PARTS]
    for place in PLACES:
        single = [str(path) for path in near if _is_single_template(path, place)]
        if single:
            return single[:1]
    for place in PLACES:
        folder = [str(path) for path in near if _is_in_template_folder(path, place)]
        if folder:
            return folder
    return []


def _is_single_template(path: PurePosixPath, place: str) -> bool:
    """`docs/PULL_REQUEST_TEMPLATE.md`, in any case."""
    return path.stem.casefold() == STEM and str(path.parent).casefold() == place


def _is_in_template_folder(path: PurePosixPath, place: str) -> bool:
    """`docs/PULL_REQUEST_TEMPLATE/fix.md`, in any case."""
    if path.suffix != ".md" or path.parent.name.casefold() != STEM:
        return False
    return str(path.parent.parent).casefold() == place


def listed_tags(text: str) -> tuple[str, ...]:
    """The tags that a template lists, in order: names in brackets or backticks, three or more on
    one line that are not links, or opening as many bullets."""
    tags: list[str] = []
    opening: list[str] = []
    for line in text.split("\n"):
        if box_text(line) is not None:
            continue
        for names in _names_on(line):
            if len({key(name) for name in names}) >= FEWEST_TAGS:
                tags += names
        bullet = _BULLET_WITH_TAG.match(_without_backticks(line))
        if bullet:
            opening.append(bullet[1].strip())
    if len(opening) >= FEWEST_TAGS:
        tags += opening
    spelling: dict[str, str] = {}
    for tag in tags:
        if key(tag):
            spelling.setdefault(key(tag), tag.strip("[] "))
    return tuple(spelling.values())


def _names_on(line: str) -> Iterator[list[str]]:
    """The names in brackets, and on a line that speaks of tags those in backticks."""
    yield [name.strip() for name in re.findall(_BRACKETED, _without_backticks(line))]
    if _SPEAKS_OF_TAGS.search(line):
        yield re.findall(r"`([^`\n]+)`", line)


def _without_backticks(line: str) -> str:
    """`line` with `[Tag]` for a tag that stands in backticks."""
    return line.replace("`[", "[").replace("]`", "]")
