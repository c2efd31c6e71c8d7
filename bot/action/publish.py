"""The review onto the pull request with the workflow's own token, in the App's way as far as that
token may."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from github import Auth

from bot import urls
from bot.errors import UserError
from bot.github import Client, GitHubError, RateLimited
from bot.github.client import Cache
from bot.github.own_comments import PullPlace
from bot.github.publish import close_outdated, post_review
from bot.github.rate_limit import RateLimiter

Json = dict[str, Any]


def post(place: PullPlace, payload: Json, findings: Iterable[Mapping[str, Any]]) -> str:
    """Post `payload` once and put away what is outdated. How it ended is a key of
    `templates/words/action.toml`.

    Raises `UserError` where GitHub cannot be asked.
    """
    client = _client()
    try:
        now = client.get(place.path)
        if now["head"]["sha"] != payload["commit_id"] or now["state"] != "open":
            return "action.gone-on"
        new = post_review(client, place, payload)
        _tidy(client, place, payload, list(findings))
    except GitHubError as error:
        if error.status == 403 and not isinstance(error, RateLimited):
            return "action.read-only"
        raise UserError("action-not-posted", reason=str(error)) from error
    return "action.posted" if new else "action.there-already"


def _client() -> Client:
    token = os.environ.get("GITHUB_TOKEN")
    if not token:
        raise UserError("action-token")
    return Client(urls.api(), Auth.Token(token), RateLimiter(), Cache())


def _tidy(
    client: Client, place: PullPlace, payload: Json, findings: list[Mapping[str, Any]]
) -> None:
    """Nothing says what a workflow's token may do. Where it may not resolve a conversation, which
    GraphQL tells with status 200, the comment is folded."""
    try:
        close_outdated(client, place, payload, findings, client)
    except GitHubError as error:
        if error.status != 200 or isinstance(error, RateLimited):
            raise
        close_outdated(client, place, payload, findings, None)
