"""What the author wrote, next to what the template asks for: all convention rules work on this."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config, matches
from checks.domain.change_facts import Facts, change_facts
from checks.domain.pull_text.markdown import Section, normal, split, strip_comments, written
from checks.domain.pull_text.template import Template, find_template
from checks.domain.pull_text.titles import (
    ParsedTitle,
    is_slip,
    key,
    nearest,
    parse,
    same,
    without_references,
)
from checks.rules.convention import _tags
from checks.rules.convention._changed_code import changed_sources, changed_tests

_TEST = re.compile(r"\b(unit[ -]?)?(tests?|tested)\b|\bUTs?\b|单测|测试|用例", re.I)
_OTHER_TESTS = re.compile(r"accura|精度|perf|bench", re.I)
_REASON = re.compile(
    r"\bno\b|\bnot\b|n['’]t\b|\bwithout\b|\bunnecessary\b|\bcover(s|ed|age)?\b|\bexisting\b"
    r"|\balready\b|\bbecause\b|\bsince\b|\bskip|\bmanual|\bn/?a\b"
    r"|无|不|没|未|已有|现有|覆盖|手动|因为|由于",
    re.I,
)
_BOX = re.compile(r"\s*[-*+]\s+\[[ xX]\]")
# `#1234` that is no HTML entity and no part of a word, or the end of a pull request's address.
_REFERENCE = re.compile(r"(?:(?<![\w&])#|/pull/)(\d{1,6})\b")
_UNKNOWN_NUMBER = "NNNN"


@dataclass(frozen=True, slots=True)
class TitleParts:
    """A title to paste: its tags in brackets, its words, and the reference behind them."""

    lead: str
    words: str
    ending: str


@dataclass(frozen=True)
class Draft:
    """The pull request as written.

    The five rules ask for different parts of it, each of which is made once when it is asked for.
    """

    change: ChangeSet
    config: Config

    @cached_property
    def template(self) -> Template:
        """The target's template, empty where it has none."""
        return find_template(self.change.base, self.config, self.change.pull.body)

    @cached_property
    def title(self) -> ParsedTitle:
        return parse(self.change.pull.title, self.template.tags)

    @cached_property
    def facts(self) -> Facts:
        return change_facts(self.change, self.config)

    @cached_property
    def sources(self) -> list[FileChange]:
        """Product code in which more than comments changed."""
        return changed_sources(self.change, self.config)

    @cached_property
    def tests(self) -> list[FileChange]:
        """Tests added or changed."""
        return changed_tests(self.change, self.config)

    @cached_property
    def sections(self) -> list[Section]:
        """The body's sections, those of the template under its names."""
        return split(self.change.pull.body, self.template.names)

    def section(self, name: str) -> Section | None:
        """The section called `name`, its parts joined where the body has it twice."""
        same_name = [s for s in self.sections if normal(s.name) == normal(name)]
        if not same_name:
            return None
        first = same_name[0]
        lines = tuple(line for section in same_name for line in section.lines)
        return Section(first.name, first.level, first.title, lines)

    def says(self, section: Section) -> list[str]:
        """What the author wrote under `section`."""
        return written(section.lines, self.template.boilerplate)

    @cached_property
    def own_lines(self) -> list[str]:
        """Every line of the body that is the author's own."""
        return written(self.change.pull.body.split("\n"), self.template.boilerplate)

    @property
    def to_release(self) -> bool:
        """Whether the target is a release branch."""
        return matches(self.change.pull.target_branch, self.config.branches.release)

    @property
    def is_pick(self) -> bool:
        """Whether the title must have the cherry-pick form: it says so, or the target is a release
        branch."""
        return self.to_release or bool(self.title.picks(self.config))

    @property
    def impact_tags(self) -> list[str]:
        return self.title.impact(self.config)

    @cached_property
    def official_tags(self) -> list[str]:
        """The title's tags that the target knows; all of them where it lists none.

        Where the target takes new tags, those count that are no misspelt old ones.
        """
        allowed = self.template.tags
        if not allowed:
            return self.impact_tags
        official = []
        for tag in self.impact_tags:
            is_new = self.template.takes_new_tags and not is_slip(tag, allowed)
            if tag in allowed or is_new:
                official.append(tag)
        return official

    @property
    def reason_for_no_tests(self) -> str:
        """The author's line that says why there is no test, or how it was tested.

        Empty where there is none.
        """
        for section in self.sections:
            if not _TEST.search(section.name) or _OTHER_TESTS.search(section.name):
                continue
            lines = self.says(section)
            if lines and normal(lines[0]) not in ("n/a", "na", "无"):
                return lines[0].strip()
        for line in self.own_lines:
            # A box that was ticked is no reason.
            if _TEST.search(line) and _REASON.search(line) and not _BOX.match(line):
                return line.strip()
        return ""

    @cached_property
    def shares(self) -> dict[str, float]:
        """How much of the change, 0 to 1, lies in files that belong to each tag."""
        tags = self.template.tags or tuple(self.impact_tags)
        return _tags.shares_by_tag(self.change, self.config, tags)

    @cached_property
    def only(self) -> str:
        """`docs` or `ci` where the change is nothing else, else empty.

        Tests and their machinery are `ci`.
        """
        paths = [file.path for file in self.change.files]
        if not paths:
            return ""
        if all(_tags.is_docs(path) for path in paths):
            return "docs"
        if all(_tags.is_ci(path) or self.config.is_test(path) for path in paths):
            return "ci"
        return ""

    @cached_property
    def source_number(self) -> int | None:
        """The pull request this one was picked from: the title's, else the only one that the body
        names."""
        if self.title.numbers:
            return self.title.numbers[-1]
        text = strip_comments("\n".join(self.own_lines))
        numbers = set(_REFERENCE.findall(text))
        return int(numbers.pop()) if len(numbers) == 1 else None

    @cached_property
    def better_title(self) -> str:
        """A title to paste: the author's words, with tags and reference as the target wants them.

        Empty where there are no words; `#NNNN` stands for a number that is not known.
        """
        parts = self.title_parts
        return f"{parts.lead} {parts.words}{parts.ending}".strip() if parts.words else ""

    @cached_property
    def title_parts(self) -> TitleParts:
        """The tags, the author's words and the reference of a title as the target wants it."""
        words, ending = self.title.words, self.title.ending
        if self.is_pick and not ending:
            number = self.source_number or _UNKNOWN_NUMBER
            words, ending = without_references(words), f" (#{number})"
        tags = self._better_tags()
        if self.is_pick:
            tags = [self.config.title.cherry_pick_tag, *tags]
        return TitleParts("".join(f"[{tag}]" for tag in tags), words, ending)

    def _better_tags(self) -> list[str]:
        """The author's tags in the target's spelling; at most as many as it wants, and one where
        it wants one."""
        allowed, most = self.template.tags, self.config.title.most_tags
        known = [self._known_tag(tag, allowed) for tag in self.impact_tags]
        kept = list(dict.fromkeys(filter(None, known)))
        if len(kept) > most:
            return _tags.choose_tags(kept, allowed, self.shares, most)
        if not kept and self.config.title.require_tag:
            tag = _tags.propose_tag(self.title.words, allowed, self.shares, self.only)
            return [tag] if tag else []
        return kept

    def _known_tag(self, tag: str, allowed: tuple[str, ...]) -> str:
        """The tag that the target has for `tag`, or `tag` itself where it takes any; else empty."""
        if not allowed:
            return tag
        known = same(tag, allowed) or nearest(tag, allowed)
        if not known and self.template.takes_new_tags and key(tag):
            return tag
        return known


def draft(change: ChangeSet, config: Config) -> Draft:
    """The draft of `change`, made once for all the rules."""
    return change.memo((Draft, config), lambda: Draft(change, config))
