"""`issue_comment`: the commands of a comment that a person has just written on a pull request, or what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.chat.commands import COMMANDS
from bot.chat.comment_job import CommentJob
from bot.chat.parser import parse_comment
from bot.jobs.requests import JobRequest
from bot.webhooks.handlers import discussion


def job_request(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """What a comment orders; one without commands is a part of the discussion, whatever became of it."""
    found = _commands(payload)
    return discussion.job_request(delivery, payload) if found is None and _talk(payload) else found


def _talk(payload: Mapping[str, Any]) -> bool:
    """Whether the page of the pull request quotes it: words for bots are left out there."""
    said = str(payload["comment"]["body"] or "").strip()
    told = (
        payload["action"] in ("created", "edited", "deleted") and "pull_request" in payload["issue"]
    )
    return told and said != "" and not said.startswith("/")


def _commands(payload: Mapping[str, Any]) -> JobRequest | None:
    """The order is known by the comment, not by the delivery: its id is not signed, so that anybody who saw a delivery
    could send it again under another.

    An edited comment is none, for whoever may edit it would speak in its author's name; nor is one of an App.
    """
    comment, issue = payload["comment"], payload["issue"]
    person = comment["user"]
    if payload["action"] != "created" or "pull_request" not in issue:
        return None
    if person and payload["sender"]["id"] != person["id"]:
        return None
    return commands_request(
        comment, payload["repository"], int(issue["number"]), int(payload["installation"]["id"])
    )


def commands_request(
    comment: Mapping[str, Any], repository: Mapping[str, Any], number: int, installation: int
) -> JobRequest | None:
    """The commands of GitHub's `comment` on pull request `number`; None where a person gave none."""
    person = comment["user"]
    if not person or person["type"] != "User" or comment.get("performed_via_github_app"):
        return None
    found = parse_comment(str(comment["body"] or ""), COMMANDS)
    if not found.said:
        return None
    return CommentJob(
        id=f"comment-{int(repository['id'])}-{int(comment['id'])}",
        installation=installation,
        repository_id=int(repository["id"]),
        repository=str(repository["full_name"]),
        number=number,
        comment=int(comment["id"]),
        created=str(comment["created_at"]),
        login=str(person["login"]),
        user=int(person["id"]),
        said=[[one.name, one.text] for one in found.said],
        left_out=found.left_out,
    ).order()
