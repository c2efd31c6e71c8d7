"""What the author wrote, next to what the template asks for: the ground all convention rules stand
on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config, matches
from checks.domain.change_facts import Facts, change_facts
from checks.rules.convention import _tags
from checks.rules.convention._effects import changed_sources, changed_tests
from checks.rules.convention._markdown import Section, normal, split, strip_comments, written
from checks.rules.convention._template import Template, find
from checks.rules.convention._titles import (
    Title,
    is_slip,
    key,
    nearest,
    parse,
    same,
    without_references,
)

_TEST = re.compile(r"\b(unit[ -]?)?(tests?|tested)\b|\bUTs?\b|单测|测试|用例", re.I)
_WHY = re.compile(
    r"\bno\b|\bnot\b|n['’]t\b|\bwithout\b|\bunnecessary\b|\bcover(s|ed|age)?\b|\bexisting\b|\balready\b"
    r"|\bbecause\b|\bsince\b|\bskip|\bmanual|\bn/?a\b|无|不|没|未|已有|现有|覆盖|手动|因为|由于",
    re.I,
)


@dataclass(frozen=True)
class Draft:
    """The pull request as written. Everything is computed when first asked for."""

    change: ChangeSet
    config: Config

    @cached_property
    def template(self) -> Template:
        return find(self.change.base, self.config, self.change.pull.body)

    @cached_property
    def title(self) -> Title:
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
        found = [s for s in self.sections if normal(s.name) == normal(name)]
        if not found:
            return None
        lines = tuple(line for s in found for line in s.lines)
        return Section(found[0].name, found[0].level, found[0].title, lines)

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
        branch.
        """
        return self.to_release or bool(self.title.picks(self.config))

    @property
    def impact_tags(self) -> list[str]:
        return self.title.impact(self.config)

    @cached_property
    def official_tags(self) -> list[str]:
        """The title's tags that the target knows; all of them where it lists none or takes new
        ones.
        """
        allowed = self.template.tags
        if not allowed:
            return self.impact_tags
        open_list = self.template.takes_new_tags
        return [
            t for t in self.impact_tags if t in allowed or (open_list and not is_slip(t, allowed))
        ]

    @property
    def reason_for_no_tests(self) -> str:
        """The author's line that says why there is no test, or how it was tested; empty where there
        is none.
        """
        for section in self.sections:
            if _TEST.search(section.name) and not re.search(
                r"accura|精度|perf|bench", section.name, re.I
            ):
                said = self.says(section)
                if said and normal(said[0]) not in ("n/a", "na", "无"):
                    return said[0].strip()
        for line in self.own_lines:
            if (
                _TEST.search(line)
                and _WHY.search(line)
                and not re.match(r"\s*[-*+]\s+\[[ xX]\]", line)
            ):
                return line.strip()
        return ""

    @cached_property
    def shares(self) -> dict[str, float]:
        """How much of the change lies in files that belong to each tag."""
        return _tags.evidence(
            self.change, self.config, self.template.tags or tuple(self.impact_tags)
        )

    @cached_property
    def only(self) -> str:
        """`docs` or `ci` where the change is nothing else: tests and their machinery are `ci`."""
        paths = [f.path for f in self.change.files]
        if all(_tags.is_docs(p) for p in paths):
            return "docs" if paths else ""
        return "ci" if all(_tags.is_ci(p) or self.config.is_test(p) for p in paths) else ""

    @cached_property
    def source_number(self) -> int | None:
        """The pull request this one was picked from: the title's, else the only one that the body
        names.
        """
        if self.title.numbers:
            return self.title.numbers[-1]
        text = strip_comments("\n".join(self.own_lines))
        named = set(re.findall(r"(?:(?<![\w&])#|/pull/)(\d{1,6})\b", text))
        return int(named.pop()) if len(named) == 1 else None

    @cached_property
    def better_title(self) -> str:
        """A title to paste: the author's words, the tags and the reference as the target wants
        them. Empty where there are no words; `#NNNN` stands for a number that is not known."""
        words, ending = self.title.words, self.title.ending
        if self.is_pick and not ending:
            number = str(self.source_number) if self.source_number else "NNNN"
            words, ending = without_references(words), f" (#{number})"
        if not words:
            return ""
        lead = [self.config.title.cherry_pick_tag] if self.is_pick else []
        tagged = "".join(f"[{t}]" for t in (*lead, *self._better_tags()))
        return f"{tagged} {words}{ending}".strip()

    def _better_tags(self) -> list[str]:
        allowed, most = self.template.tags, self.config.title.most_tags
        kept = list(
            dict.fromkeys(filter(None, (self._known_tag(t, allowed) for t in self.impact_tags)))
        )
        if len(kept) > most:
            return _tags.choose(kept, allowed, self.shares, most)
        if not kept and self.config.title.require_tag:
            found = _tags.propose(self.title.words, allowed, self.shares, self.only)
            return [found] if found else []
        return kept

    def _known_tag(self, tag: str, allowed: tuple[str, ...]) -> str:
        if not allowed or same(tag, allowed):
            return same(tag, allowed) or tag
        return nearest(tag, allowed) or (tag if self.template.takes_new_tags and key(tag) else "")


def draft(change: ChangeSet, config: Config) -> Draft:
    """The draft of `change`, made once for all the rules."""
    return change.memo((Draft, config), lambda: Draft(change, config))
