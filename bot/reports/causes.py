"""Findings that have one cause: what a reader deals with once is said once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bot.i18n.catalog import Catalog
from checks.core.finding import Finding

_CODE = re.compile(r"`([^`]+)`")
# Shorter code (`i`, `int`) stands in sentences that have nothing to do with each other.
_SHORTEST_CODE = 4
_LEAST_SHARED = 1 / 3
# Says only that a name lost its use. Where another rule tells of the same function and name what
# follows from that, it is one more place of that cause: of #7192 two rows told of one lost flag.
_LESSER = "kernel.unused-parameter"


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings that say the same of several places. There is at least one."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that speak of it, that of the first finding first."""
        return tuple(dict.fromkeys(finding.rule for finding in self.findings))


def group_by_cause(findings: Sequence[Finding]) -> list[Cause]:
    """The findings in their order, each beside the first with the same cause.

    One cause: the same rule, level and sentence, and at least a third of the code that the two
    sentences name. A fixture of five tests that was written for the old form is one cause. A
    parameter that lost its use belongs to the cause that says what follows from it.
    """
    plain = Catalog("en")
    groups = _Groups()
    told = {_subject(finding) for finding in findings if finding.rule != _LESSER}
    lesser: list[Finding] = []
    for finding in findings:
        if finding.rule == _LESSER and _subject(finding) in told:
            lesser.append(finding)
        else:
            groups.add(finding, set(_codes(finding, plain)))
    for finding in lesser:
        groups.add_to_teller(finding)
    return [Cause(tuple(group)) for group in groups.members]


def _subject(finding: Finding) -> tuple[str, str, str, str]:
    """What a finding is about: its level, and a name in a function of a file."""
    return finding.level, finding.location.path, finding.symbol, finding.subject


class _Groups:
    """Findings by cause. Groups are found by the code that they name: there may be thousands."""

    def __init__(self) -> None:
        self.members: list[list[Finding]] = []
        # Of the first finding of each group.
        self._codes: list[set[str]] = []
        self._by_code: dict[tuple[str, str, str, str], list[int]] = {}

    def add(self, finding: Finding, codes: set[str]) -> None:
        """Put the finding into the first group with its cause, or into one of its own."""
        shared = Counter[int]()
        for code in codes:
            shared.update(self._by_code.get((*_kind(finding), code), ()))
        for number in sorted(shared):
            shorter = min(len(codes), len(self._codes[number]))
            if shared[number] >= _LEAST_SHARED * shorter:
                self.members[number].append(finding)
                return
        for code in codes:
            self._by_code.setdefault((*_kind(finding), code), []).append(len(self.members))
        self.members.append([finding])
        self._codes.append(codes)

    def add_to_teller(self, finding: Finding) -> None:
        """Put the finding into the first group that tells of the same name and function."""
        about = _subject(finding)
        for group in self.members:
            if any(_subject(member) == about for member in group):
                group.append(finding)
                return


def _kind(finding: Finding) -> tuple[str, str, str]:
    """What findings with one cause have in common before anything else."""
    return finding.rule, finding.level, finding.message.key


def own_codes(finding: Finding, first: Finding) -> list[str]:
    """What the finding's sentence names and the first one's does not, but for places."""
    words = Catalog("en")
    known = set(_codes(first, words))
    own = [code for code in _codes(finding, words) if code not in known]
    path = finding.location.path
    # A test is named by its file and more; the file stands beside it.
    return [code.removeprefix(f"{path}::") for code in own if not _is_place(code)]


def _codes(finding: Finding, words: Catalog) -> list[str]:
    sentence = words.message(finding.rule, finding.message)
    return [code for code in _CODE.findall(sentence) if len(code) >= _SHORTEST_CODE]


def _is_place(code: str) -> bool:
    return re.search(r"\.\w+:\d+(-\d+)?$", code) is not None
