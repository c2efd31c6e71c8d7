"""Pull requests and reviews. A comment stands only where GitHub's view of the diff shows a line."""

from __future__ import annotations

from typing import Any

import githubkit_schemas.v2026_03_10.models as m

from tests.fake_github import shapes, state
from tests.fake_github.app import Call, handles, invalid
from tests.fake_github.git import ShownHunk
from tests.fake_github.issues import check_size
from tests.fake_github.server import Answer


@handles("pulls/get", pull_requests="read")
def get(call: Call) -> Answer:
    return Answer(200, shapes.pull(call.repo, call.pull))


@handles("pulls/list", pull_requests="read")
def list_(call: Call) -> Answer:
    wanted = call.query.get("state", "open")
    found = [p for p in reversed(call.repo.pulls.values()) if wanted in (p.state, "all")]
    page, link = call.page([shapes.pull(call.repo, p, m.PullRequestSimple) for p in found])
    return Answer(200, page, link)


@handles("repos/list-pull-requests-associated-with-commit", pull_requests="read")
def of_commit(call: Call) -> Answer:
    """GitHub looks in the repository's own branches: a commit of a fork leads to nothing."""
    found = [
        p
        for p in call.repo.pulls.values()
        if p.head_sha == call.values["commit_sha"] and p.head_repo is call.repo
    ]
    page, link = call.page([shapes.pull(call.repo, p, m.PullRequestSimple) for p in found])
    return Answer(200, page, link)


@handles("pulls/list-reviews", pull_requests="read")
def list_reviews(call: Call) -> Answer:
    page, link = call.page([shapes.review(call.pull, r) for r in call.pull.reviews])
    return Answer(200, page, link)


@handles("pulls/list-review-comments", pull_requests="read")
def list_comments(call: Call) -> Answer:
    made = [shapes.review_comment(c) for t in call.pull.threads for c in t.comments]
    page, link = call.page(made)
    return Answer(200, page, link)


@handles("pulls/create-review", pull_requests="write")
def create_review(call: Call) -> Answer:
    """One comment in a wrong place and GitHub takes nothing of it."""
    body, pr = call.body, call.pull
    commit = body.get("commit_id", pr.head_sha)
    event = body.get("event")
    if event != "APPROVE" and not body.get("body") and not body.get("comments"):
        raise invalid("Unprocessable Entity", "Review body is required")
    if not _is_commit(call, commit):
        raise invalid("Unprocessable Entity", "Commit is not part of the pull request")
    check_size(body.get("body", ""))
    comments = body.get("comments", [])
    shown = call.repo.git.shown(pr.base_sha, commit) if comments else {}
    for one in comments:
        check_size(one["body"])
        check_anchor(shown, one)
    made = state.Review(call.fake.bot, body.get("body", ""), _STATES[event], commit, [], body)
    for one in comments:
        made.comments.append(_comment(call, made, commit, one))
        pr.threads.append(state.Thread([made.comments[-1]]))
    pr.reviews.append(made)
    return Answer(200, shapes.review(pr, made))


_STATES = {
    "COMMENT": "COMMENTED",
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    None: "PENDING",
}


def _comment(
    call: Call, review: state.Review, commit: str, one: dict[str, Any]
) -> state.ReviewComment:
    return state.ReviewComment(
        call.fake.bot,
        one["body"],
        one["path"],
        one["line"],
        one.get("side", "RIGHT"),
        one.get("start_line"),
        one.get("start_side"),
        commit,
        review.id,
    )


def _is_commit(call: Call, sha: str) -> bool:
    """Whether `sha` is one of the pull request's commits."""
    pr = call.pull
    listed = call.repo.git.run("rev-list", pr.head_sha, f"^{pr.base_sha}").split()
    return sha in listed


def check_anchor(shown: dict[str, list[ShownHunk]], one: dict[str, Any]) -> None:
    """Refuse a comment where the diff shows no line."""
    path, line, side = one["path"], one.get("line"), one.get("side", "RIGHT")
    start, start_side = one.get("start_line"), one.get("start_side", side)
    if not one["body"].strip():
        raise invalid("Unprocessable Entity", "Body can't be blank")
    if path not in shown:
        raise invalid("Unprocessable Entity", "Path could not be resolved")
    if line is None:
        raise invalid("Unprocessable Entity", "Line could not be resolved")
    hunk = next((h for h in shown[path] if line in (h.right if side == "RIGHT" else h.left)), None)
    if hunk is None:
        raise invalid("Unprocessable Entity", "Line could not be resolved")
    if start is None:
        return
    if start not in (hunk.right if start_side == "RIGHT" else hunk.left):
        raise invalid(
            "Unprocessable Entity", "Start line must be part of the same hunk as the line."
        )
    if start_side == side and start >= line:
        raise invalid("Unprocessable Entity", "Start line must precede the end line.")
