"""Hidden marks by which the bot finds its own words again: HTML comments, the first line of what it posts.

A mark alone proves nothing, since anybody can copy it: who reads one also checks the author.
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
    """`head` is the commit that was reviewed, `digest` stands for all that was said of it."""

    head: str
    digest: str


def finding_mark(fingerprint: str) -> str:
    """The first line of a comment about one finding."""
    return f"<!-- specbot:finding {fingerprint} -->\n\n"


def review_mark(payload: Mapping[str, Any]) -> str:
    """The first line of the body of the review `payload`, made before the line is in it."""
    said = json.dumps(payload, ensure_ascii=True, sort_keys=True)
    digest = hashlib.sha256(said.encode("ascii")).hexdigest()[:16]
    return f"<!-- specbot:review {payload['commit_id']} {digest} -->\n\n"


def fingerprint_in(body: str) -> str | None:
    """The finding that a comment is about."""
    match = _FINDING.match(body)
    return match[1] if match else None


def review_in(body: str) -> ReviewMark | None:
    """The review that a body belongs to."""
    match = _REVIEW.match(body)
    return ReviewMark(match[1], match[2]) if match else None
