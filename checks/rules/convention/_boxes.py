"""What each check box of a template asks for, and whether the change bears it out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from checks.domain.pull_text.markdown import Box, boxes, normal
from checks.rules.convention._draft import Draft

SAME_BOX = 0.8
"""Similarity, 0 to 1, from which a box of the description is one of the template's."""


class BoxKind(StrEnum):
    """What a box claims. `OTHER` is a claim that nothing here can judge."""

    RELEASE = "release"
    TAG = "tag"
    ACCURACY = "accuracy"
    FORMAT = "format"
    TESTS = "tests"
    DOCS = "docs"
    OTHER = "other"


_PATTERNS: tuple[tuple[BoxKind, str], ...] = (
    (BoxKind.RELEASE, r"\brelease\b.*\bbranch|\bcherry[- ]?pick"),
    (BoxKind.TAG, r"\b(tags?|prefix)\b.*\btitle\b|\btitle\b.*\b(tags?|prefix)\b|标题.*标签"),
    (BoxKind.ACCURACY, r"\baccuracy\b|\bprecision\b|精度"),
    (BoxKind.FORMAT, r"\bpre-?commit\b|\bformat|\blint"),
    # A box on a test plan or on test results says nothing about new tests.
    (
        BoxKind.TESTS,
        r"\bunit[ -]?tests?\b|\b(add|added|write|new)\b[^.]{0,30}\btests?\b"
        r"|单测|(添加|补充|新增).{0,6}测试",
    ),
    (BoxKind.DOCS, r"\bdocs?\b|\bdocumentation\b|文档"),
)
_CONDITIONAL = re.compile(r"\s*(if|when)\b|如果|若", re.I)
_ACCURACY_SECTION = re.compile(r"accura|precision|精度", re.I)
_NOT_APPLICABLE = re.compile(r"\s*\W*(n/?a\b|none\b|no\b|not\b|无|不)", re.I)


@dataclass(frozen=True, slots=True)
class BoxClaim:
    """A box of the template.

    `ticked` is None where the body lacks the box. `applies`: it asks something of this change;
    `proved` is True or False where the facts decide, else None.
    """

    text: str
    kind: BoxKind
    ticked: bool | None
    applies: bool
    proved: bool | None


def kind_of(text: str) -> BoxKind:
    """What a box asks for, by its words."""
    for kind, pattern in _PATTERNS:
        if re.search(pattern, text, re.I):
            return kind
    return BoxKind.OTHER


def box_claims(draft: Draft) -> list[BoxClaim]:
    """The template's boxes in order, against the body and the facts."""
    present = boxes(draft.change.pull.body)
    return [_claim(text, present, draft) for text in draft.template.boxes]


def _claim(text: str, present: Sequence[Box], draft: Draft) -> BoxClaim:
    kind = kind_of(text)
    ticked = None
    box = max(present, key=lambda box: _likeness(box.text, text), default=None)
    if box is not None and _likeness(box.text, text) >= SAME_BOX:
        ticked = box.ticked
    return BoxClaim(text, kind, ticked, _applies(text, kind, draft), _proved(kind, draft))


def _likeness(first: str, second: str) -> float:
    """How similar two texts are, 0 to 1; 1 where one is the beginning of the other."""
    a, b = normal(first), normal(second)
    if a and b and (a.startswith(b) or b.startswith(a)):
        return 1.0
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def _applies(text: str, kind: BoxKind, draft: Draft) -> bool:
    match kind:
        case BoxKind.RELEASE:
            return draft.is_pick
        case BoxKind.TESTS:
            return bool(draft.sources) and not draft.reason_for_no_tests
        case BoxKind.ACCURACY:
            return bool(draft.sources) and not accuracy_waived(draft)
        case _:
            return not _CONDITIONAL.match(text)


def _proved(kind: BoxKind, draft: Draft) -> bool | None:
    match kind:
        case BoxKind.RELEASE if draft.to_release:
            return draft.source_number is not None
        case BoxKind.TAG:
            return bool(draft.official_tags)
        case BoxKind.TESTS if draft.sources:
            return _tests_proved(draft)
        case BoxKind.ACCURACY:
            return _accuracy_proved(draft)
        case _:
            return None


def _tests_proved(draft: Draft) -> bool | None:
    if draft.tests:
        return True
    # The box often says "or write the reason": with a reason the facts do not decide.
    return None if draft.reason_for_no_tests else False


def _accuracy_proved(draft: Draft) -> bool | None:
    lines = _accuracy_lines(draft)
    if lines is None or accuracy_waived(draft):
        return None
    return bool(lines)


def _accuracy_lines(draft: Draft) -> list[str] | None:
    """What stands under the section on accuracy; None where the template has no such section."""
    names = [name for name in draft.template.names if _ACCURACY_SECTION.search(name)]
    if not names:
        return None
    section = draft.section(names[0])
    return draft.says(section) if section else []


def accuracy_waived(draft: Draft) -> bool:
    """Whether the author says that accuracy does not apply (`N/A`, with or without a reason)."""
    lines = _accuracy_lines(draft)
    return bool(lines and _NOT_APPLICABLE.match(lines[0]))
