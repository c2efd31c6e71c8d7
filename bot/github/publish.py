"""One review of one commit onto GitHub, once.

Every step first looks at what is there already, under our name and with our mark. So a worker that
died after GitHub did something and before it was written down changes nothing when the step runs
again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bot.comment_text import fingerprint_in, review_in, utf16_length
from bot.github import own_comments
from bot.github.client import UNPROCESSABLE, Client, GitHubError, Json
from bot.github.own_comments import PostedThread, PullPlace

# GitHub takes 65,536 UTF-16 units.
_LARGEST = 65_000


def post_review(client: Client, place: PullPlace, payload: Json) -> bool:
    """Post `payload`, as `specbot review --format github` prints it, less the comments that stand
    there already.

    False where that very review is the last that we posted: what was said before another head was
    reviewed is folded. A comment that GitHub does not take moves into the body.
    """
    posted = list(own_comments.reviews(client, place))
    if posted and posted[-1].mark == review_in(payload["body"]):
        return False
    comments = not_posted_yet(payload["comments"], own_comments.threads(client, place))
    path = f"{place.path}/reviews"
    try:
        client.post(path, payload | {"comments": comments}, key="id")
    except GitHubError as error:
        # GitHub refuses the whole review for one comment on a line that it does not show.
        if error.status != UNPROCESSABLE or not comments:
            raise
        body = _with_comments(payload["body"], comments)
        client.post(path, payload | {"comments": [], "body": body}, key="id")
    return True


def not_posted_yet(comments: Iterable[Json], posted: Iterable[PostedThread]) -> list[Json]:
    """Comments on findings without a thread of ours.

    A thread that a person resolved counts as posted. One that we resolved, as fixed, does not: the
    finding came back.
    """
    standing = Counter(thread.fingerprint for thread in posted if not thread.withdrawn)
    new = []
    for comment in comments:
        fingerprint = fingerprint_in(comment["body"]) or ""
        if standing[fingerprint]:
            standing[fingerprint] -= 1
        else:
            new.append(comment)
    return new


def close_outdated(
    client: Client,
    place: PullPlace,
    payload: Json,
    findings: Iterable[Mapping[str, Any]],
    resolver: Client | None,
) -> None:
    """Fold our reviews of what was before, and close the threads of findings that are gone.

    They are resolved where there is a `resolver`, which may do that, and folded as resolved where
    there is none.
    """
    mark = review_in(payload["body"])
    for review in own_comments.reviews(client, place):
        if review.mark != mark and not review.minimized:
            own_comments.fold(client, review)
    current = Counter(str(finding["fingerprint"]) for finding in findings)
    for thread in own_comments.threads(client, place):
        if thread.closed:
            continue
        if current[thread.fingerprint]:
            current[thread.fingerprint] -= 1
        elif resolver is not None:
            own_comments.resolve(resolver, thread)
        else:
            own_comments.withdraw(client, thread)


def _with_comments(body: str, comments: Iterable[Json]) -> str:
    """The body with the comments under it, as many as fit."""
    for comment in comments:
        lines = "-".join(str(comment[key]) for key in ("start_line", "line") if key in comment)
        path = str(comment["path"]).replace("`", "'")
        text = f"\n### `{path}:{lines}`\n\n{comment['body']}"
        if utf16_length(body) + utf16_length(text) > _LARGEST:
            break
        body += text
    return body
