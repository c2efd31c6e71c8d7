"""What each check box of a template asks for, and whether the change bears it out."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from enum import StrEnum

from checks.rules.convention._draft import Draft
from checks.rules.convention._markdown import Box, boxes, normal

SAME_BOX = 0.8


class Kind(StrEnum):
    """The claim a box makes. `OTHER` is one that nothing here can judge."""

    RELEASE = "release"
    TAG = "tag"
    ACCURACY = "accuracy"
    FORMAT = "format"
    TESTS = "tests"
    DOCS = "docs"
    OTHER = "other"


_PATTERNS: tuple[tuple[Kind, str], ...] = (
    (Kind.RELEASE, r"\brelease\b.*\bbranch|\bcherry[- ]?pick"),
    (Kind.TAG, r"\b(tags?|prefix)\b.*\btitle\b|\btitle\b.*\b(tags?|prefix)\b|标题.*标签"),
    (Kind.ACCURACY, r"\baccuracy\b|\bprecision\b|精度"),
    (Kind.FORMAT, r"\bpre-?commit\b|\bformat|\blint"),
    # A box on a test plan or on test results says nothing about new tests.
    (
        Kind.TESTS,
        r"\bunit[ -]?tests?\b|\b(add|added|write|new)\b[^.]{0,30}\btests?\b|单测|(添加|补充|新增).{0,6}测试",
    ),
    (Kind.DOCS, r"\bdocs?\b|\bdocumentation\b|文档"),
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A box of the template. `ticked` is None where the body lacks it. `applies`: it asks something
    of this change; `proved` is True or False where the facts decide, else None."""

    text: str
    kind: Kind
    ticked: bool | None
    applies: bool
    proved: bool | None


def kind(text: str) -> Kind:
    """What a box asks for, by its words."""
    return next((k for k, p in _PATTERNS if re.search(p, text, re.I)), Kind.OTHER)


def claims(draft: Draft) -> list[Claim]:
    """The template's boxes in order, against the body and the facts."""
    present = boxes(draft.change.pull.body)
    return [_claim(text, present, draft) for text in draft.template.boxes]


def _claim(text: str, present: list[Box], draft: Draft) -> Claim:
    box = max(present, key=lambda b: _likeness(b.text, text), default=None)
    ticked = box.ticked if box is not None and _likeness(box.text, text) >= SAME_BOX else None
    what = kind(text)
    return Claim(text, what, ticked, _applies(text, what, draft), _proved(what, draft))


def _likeness(one: str, other: str) -> float:
    a, b = normal(one), normal(other)
    if a and b and (a.startswith(b) or b.startswith(a)):
        return 1.0
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def _applies(text: str, what: Kind, draft: Draft) -> bool:
    match what:
        case Kind.RELEASE:
            return draft.is_pick
        case Kind.TESTS:
            return bool(draft.sources) and not draft.reason_for_no_tests
        case Kind.ACCURACY:
            return bool(draft.sources) and not accuracy_waived(draft)
        case _:
            return not re.match(r"\s*(if|when)\b|如果|若", text, re.I)


def _proved(what: Kind, draft: Draft) -> bool | None:
    match what:
        case Kind.RELEASE if draft.to_release:
            return draft.source_number is not None
        case Kind.TAG:
            return bool(draft.official_tags)
        case Kind.TESTS if draft.sources:
            return bool(draft.tests) or (None if draft.reason_for_no_tests else False)
        case Kind.ACCURACY:
            said = _accuracy(draft)
            return None if said is None or accuracy_waived(draft) else bool(said)
        case _:
            return None


def _accuracy(draft: Draft) -> list[str] | None:
    """What stands under the section on accuracy; None where the template has no such section."""
    names = [n for n in draft.template.names if re.search(r"accura|precision|精度", n, re.I)]
    if not names:
        return None
    section = draft.section(names[0])
    return draft.says(section) if section else []


def accuracy_waived(draft: Draft) -> bool:
    """Whether the author says that accuracy does not apply (`N/A`, with or without a reason)."""
    said = _accuracy(draft)
    return bool(said and re.match(r"\s*\W*(n/?a\b|none\b|no\b|not\b|无|不)", said[0], re.I))
