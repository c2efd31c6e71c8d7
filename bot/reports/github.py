"""The payload of one GitHub review (`POST /repos/{owner}/{repo}/pulls/{number}/reviews`).

Its comments stand at lines that the diff shows; every other finding is in the body. A fix that was
verified and that replaces exactly the lines of its comment becomes a suggestion.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from bot.comment_text import finding_mark, review_mark
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown, fence, visible
from bot.reports.blocks import Block, Folded, Heading
from bot.reports.code_links import CodeLinks
from bot.reports.diff_anchors import Anchor, Anchors
from bot.reports.document import (
    background_blocks,
    closing_blocks,
    convention_blocks,
    detail_blocks,
    opening_blocks,
)
from bot.reports.findings import detail, technical
from bot.reports.report import Report
from bot.reports.truncate import fit
from checks.core.finding import Edit, Finding

# GitHub refuses a body of 65,536 UTF-16 units or more; some room is left for its own marks.
LARGEST = 65_000
# Nobody reads a review with hundreds of comments, and each counts against GitHub's limits on
# writing.
MOST_COMMENTS = 40


def render(report: Report, language: str) -> str:
    """The payload as JSON."""
    return json.dumps(payload(report, language), ensure_ascii=False, indent=2) + "\n"


def payload(report: Report, language: str, links: CodeLinks | None = None) -> dict[str, Any]:
    """`commit_id`, `event`, `body` and `comments`, with `links` to the code where it is known where
    that is.

    The body and the comments begin with the marks of `bot.comment_text`.
    """
    words = Catalog(language, Markdown())
    anchors = Anchors(report.review.change)
    anchored: list[tuple[Finding, Anchor]] = []
    not_anchored: list[Finding] = []
    for finding in technical(report.review.findings):
        anchor = _anchor(finding, anchors)
        if anchor is None or len(anchored) == MOST_COMMENTS:
            not_anchored.append(finding)
        else:
            anchored.append((finding, anchor))
    body = fit(_body(report, not_anchored, words), LARGEST, words)
    review: dict[str, Any] = {
        "commit_id": report.review.change.head_rev,
        "event": "COMMENT",
        "body": body,
        "comments": [
            _comment(finding, anchor, anchors, report, words) for finding, anchor in anchored
        ],
    }
    if links is not None:
        body = links.in_markdown(body, LARGEST)
        review["body"] = body
        for comment in review["comments"]:
            comment["body"] = links.in_markdown(comment["body"], LARGEST)
    # The mark is a digest of the review without it.
    review["body"] = review_mark(review) + body
    return review


def _anchor(finding: Finding, anchors: Anchors) -> Anchor | None:
    """Where the comment goes: to the lines of the suggestion, or to the finding's own.

    The suggestion's lines are taken where they hold the finding's line, or where the diff does not
    show that.
    """
    own = anchors.of(finding)
    edit = _suggestion(finding)
    if edit is None:
        return own
    line = finding.location.start_line
    same_file = edit.path == finding.location.path
    holds_line = same_file and edit.start_line <= line <= edit.end_line
    if holds_line or own is None:
        return anchors.of_edit(edit) or own
    return own


def _suggestion(finding: Finding) -> Edit | None:
    """The single edit of a verified fix, where GitHub can show it as a suggestion.

    An edit with invisible characters cannot be shown as it is.
    """
    fix = finding.fix
    if fix is None or not fix.verified or len(fix.edits) != 1:
        return None
    edit = fix.edits[0]
    if not edit.lines:
        return None
    for line in edit.lines:
        if visible(line, keep="\t") != line:
            return None
    return edit


def _comment(
    finding: Finding, anchor: Anchor, anchors: Anchors, report: Report, words: Catalog
) -> dict[str, Any]:
    tail = ""
    edit = _suggestion(finding)
    if edit is not None and anchors.of_edit(edit) == anchor:
        tail = fence(edit.lines, "suggestion")
    blocks: list[Block] = [Heading(3, words(f"report.severity-{finding.level}"))]
    blocks += detail(finding, report.review.change, words, patch=not tail)
    comment: dict[str, Any] = {
        "path": anchor.path,
        "line": anchor.line,
        "side": anchor.side,
        "body": finding_mark(finding.fingerprint) + fit(blocks, LARGEST, words, tail=tail),
    }
    if anchor.start < anchor.line:
        comment["start_line"] = anchor.start
        comment["start_side"] = anchor.side
    return comment


def _body(report: Report, not_anchored: list[Finding], words: Catalog) -> Iterable[Block]:
    """The report. Details that are in no comment come folded, at its end, where a cut hurts
    least."""
    yield from opening_blocks(report, words)
    yield from convention_blocks(report, words)
    yield from closing_blocks(report, words)
    yield from background_blocks(report, words)
    if not_anchored:
        details = tuple(detail_blocks(not_anchored, report, words))
        yield Folded(words("report.heading-inline"), details)
