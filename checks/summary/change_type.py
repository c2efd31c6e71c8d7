"""What kind of change this is: a fix, a feature, a speed-up, a refactoring."""

from __future__ import annotations

import re
from collections.abc import Sequence

from checks.domain.change_facts import Facts
from checks.summary.model import Claim

TYPES = ("bug-fix", "feature", "performance", "refactor", "docs", "tests", "ci")
# How titles say it, in the words of the engines' own tags and of the pull requests read.
_IN_TITLE = {
    "bug-fix": r"bug ?fix|hot ?fix|\bfix(?:e[sd])?\b|修复",
    "performance": r"\bopt(?:imi[sz](?:es?|ation))?\b|\bperf(?:ormance)?\b|优化|speed ?up",
    "refactor": r"refactor|\brefine|unif(?:y|ied)|clean ?up|simplif|\bsplit\b|\brename|重构",
    "feature": r"\bfeat(?:ure)?\b|\bsupport|\badd\b|\benable|支持|新增",
    "docs": r"\[docs?\]|\bdocument",
    "tests": r"unit ?test|\btests?\b|单测",
    "ci": r"\[ci\]",
}
_REFACTORINGS = frozenset(
    {"split", "extracted", "moved", "files-moved", "carried", "function-renamed", "file-renamed"}
)
_ADDITIONS = frozenset({"op-added", "class-added", "classes-added", "setting-added"})


def change_types(title: str, facts: Facts, claims: Sequence[Claim]) -> tuple[str, ...]:
    """The kinds of `TYPES` that the title names; where it names none, what the code shows."""
    named = []
    for kind in TYPES:
        if re.search(_IN_TITLE[kind], title, re.IGNORECASE):
            named.append(kind)
    return tuple(named) or tuple(_shown_by_code(facts, claims))


def _shown_by_code(facts: Facts, claims: Sequence[Claim]) -> list[str]:
    kinds = {file.kind for file in facts.files}
    for kind, shown in (("docs", {"docs"}), ("ci", {"ci"}), ("tests", {"test", "e2e"})):
        if kinds and kinds <= shown:
            return [kind]
    keys = {claim.message.key for claim in claims}
    found = []
    if keys & _ADDITIONS:
        found.append("feature")
    if keys & _REFACTORINGS:
        found.append("refactor")
    return found
