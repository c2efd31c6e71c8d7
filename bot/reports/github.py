"""The payload of one GitHub review (`POST /repos/{owner}/{repo}/pulls/{number}/reviews`).

Its comments stand at lines that the diff shows; every other finding is in the body. Fixes that were proved to work and
that replace exactly the lines of their comment become suggestions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from bot.comment_text import finding_mark, review_mark
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown, fence, visible
from bot.reports import Report
from bot.reports.blocks import Block, Heading
from bot.reports.diff_anchors import Anchor, Anchors
from bot.reports.document import (
    closing_blocks,
    convention_blocks,
    detail_blocks,
    opening_blocks,
    verdict_blocks,
)
from bot.reports.findings import detail, technical
from bot.reports.truncate import fit
from checks.core.finding import Edit, Finding

# GitHub refuses a body of 65,536 characters or more; it counts UTF-16 units, and some room is left for its own marks.
LARGEST = 65_000
# A review with hundreds of comments is not read, and each comment counts against GitHub's limits on writing.
MOST_COMMENTS = 40


def render(report: Report, language: str) -> str:
    """The payload as JSON."""
    return json.dumps(payload(report, language), ensure_ascii=False, indent=2) + "\n"


def payload(report: Report, language: str) -> dict[str, Any]:
    """`commit_id`, `event`, `body` and `comments`. The body and the comments begin with the marks of `marks`."""
    words = Catalog(language, Markdown())
    anchors = Anchors(report.review.change)
    placed: list[tuple[Finding, Anchor]] = []
    left: list[Finding] = []
    for finding in technical(report.review.findings):
        anchor = _anchor(finding, anchors)
        if anchor is None or len(placed) == MOST_COMMENTS:
            left.append(finding)
        else:
            placed.append((finding, anchor))
    made: dict[str, Any] = {
        "commit_id": report.review.change.head_rev,
        "event": "COMMENT",
        "body": fit(_body(report, left, words), LARGEST, words),
        "comments": [_comment(f, a, anchors, report, words) for f, a in placed],
    }
    return made | {"body": review_mark(made) + made["body"]}


def _anchor(finding: Finding, anchors: Anchors) -> Anchor | None:
    """The lines of the finding's suggestion where that is about its own line, or the only place there is; else its
    own lines."""
    own = anchors.of(finding)
    edit = _suggestion(finding)
    if edit is None:
        return own
    about = (
        edit.path == finding.location.path
        and edit.start_line <= finding.location.start_line <= edit.end_line
    )
    return anchors.of_edit(edit) or own if about or own is None else own


def _suggestion(finding: Finding) -> Edit | None:
    """The single edit of a proved fix, where it can be shown as it is: an edit with invisible characters cannot."""
    fix = finding.fix
    if fix is None or not fix.verified or len(fix.edits) != 1 or not fix.edits[0].lines:
        return None
    edit = fix.edits[0]
    return edit if all(visible(line, keep="\t") == line for line in edit.lines) else None


def _comment(
    finding: Finding, anchor: Anchor, anchors: Anchors, report: Report, words: Catalog
) -> dict[str, Any]:
    edit = _suggestion(finding)
    exact = edit is not None and anchors.of_edit(edit) == anchor
    blocks: list[Block] = [Heading(3, words(f"report.severity-{finding.level}"))]
    blocks += detail(finding, report.review.change, words, patch=not exact)
    tail = fence(edit.lines, "suggestion") if edit is not None and exact else ""
    comment: dict[str, Any] = {
        "path": anchor.path,
        "line": anchor.line,
        "side": anchor.side,
        "body": finding_mark(finding.fingerprint) + fit(blocks, LARGEST, words, tail=tail),
    }
    if anchor.start < anchor.line:
        comment |= {"start_line": anchor.start, "start_side": anchor.side}
    return comment


def _body(report: Report, left: list[Finding], words: Catalog) -> Iterable[Block]:
    """The report, with the details that stand in no comment at its end, where a cut hurts least."""
    yield from opening_blocks(report, words)
    yield from convention_blocks(report, words)
    yield from verdict_blocks(report, words)
    yield from closing_blocks(report, words)
    if left:
        yield Heading(2, words("report.heading-inline"))
        yield from detail_blocks(left, report, words)
