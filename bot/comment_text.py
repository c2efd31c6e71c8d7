"""What a comment on GitHub carries besides its words: hidden marks, and its length as GitHub counts
it.

By a mark the bot finds its own comments again: an HTML comment on the first line of what it posts.
A mark alone proves nothing, because anybody can copy it. Code that reads a mark must also check the
author.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_FINDING = re.compile(r"<!-- specbot:finding ([0-9a-f]{16}) -->")
_REVIEW = re.compile(r"<!-- specbot:review ([0-9a-f]{40,64}) ([0-9a-f]{16}) -->")


class ReviewMark(NamedTuple):
    """`head` is the commit that was reviewed; `digest` identifies everything the review said about
    it."""

    head: str
    digest: str


def finding_mark(fingerprint: str) -> str:
    """The first line of a comment about one finding."""
    return f"<!-- specbot:finding {fingerprint} -->\n\n"


def review_mark(payload: Mapping[str, Any]) -> str:
    """The first line of the body of a review. `payload` is the review before this line is added to
    it."""
    text = json.dumps(payload, ensure_ascii=True, sort_keys=True)
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()[:16]
    return f"<!-- specbot:review {payload['commit_id']} {digest} -->\n\n"


def fingerprint_in(body: str) -> str | None:
    """The fingerprint of the finding that a comment is about, or None."""
    match = _FINDING.match(body)
    return match[1] if match else None


def review_in(body: str) -> ReviewMark | None:
    """The mark of the review that a body belongs to, or None."""
    match = _REVIEW.match(body)
    return ReviewMark(match[1], match[2]) if match else None


def utf16_length(text: str) -> int:
    """The length in UTF-16 units, which is how GitHub counts the characters of a comment."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
