"""`issue_comment`: the commands of a comment that a person has just written on a pull request, or
what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.chat.commands import COMMANDS
from bot.chat.comment_job import CommentJob
from bot.chat.parser import parse_comment
from bot.jobs.requests import JobRequest
from bot.webhooks.handlers import discussion

_ACTIONS = ("created", "edited", "deleted")


def job_request(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """What a comment asks for; one without commands is a part of the discussion, whatever became of
    it."""
    commands = _commands_in(payload)
    if commands is None and _is_discussion(payload):
        return discussion.job_request(delivery, payload)
    return commands


def _is_discussion(payload: Mapping[str, Any]) -> bool:
    """Whether the page of the pull request quotes it: words for bots are left out there."""
    if payload["action"] not in _ACTIONS or "pull_request" not in payload["issue"]:
        return False
    body = str(payload["comment"]["body"] or "").strip()
    return body != "" and not body.startswith("/")


def _commands_in(payload: Mapping[str, Any]) -> JobRequest | None:
    """The commands of a comment that was just written by the person who sent it.

    An edited comment has none, for whoever may edit it would speak in its author's name; nor has
    one of an App.
    """
    comment, issue = payload["comment"], payload["issue"]
    author = comment["user"]
    if payload["action"] != "created" or "pull_request" not in issue:
        return None
    if author and payload["sender"]["id"] != author["id"]:
        return None
    installation = int(payload["installation"]["id"])
    return commands_request(comment, payload["repository"], int(issue["number"]), installation)


def commands_request(
    comment: Mapping[str, Any], repository: Mapping[str, Any], number: int, installation: int
) -> JobRequest | None:
    """The commands of GitHub's `comment` on pull request `number`; None where a person gave none.

    The job is known by the comment, not by the delivery: the id of a delivery is not signed, so
    that anybody who saw one could send it again under another.
    """
    author = comment["user"]
    if not author or author["type"] != "User" or comment.get("performed_via_github_app"):
        return None
    parsed = parse_comment(str(comment["body"] or ""), COMMANDS)
    if not parsed.commands:
        return None
    return CommentJob(
        id=f"comment-{int(repository['id'])}-{int(comment['id'])}",
        installation=installation,
        repository_id=int(repository["id"]),
        repository=str(repository["full_name"]),
        number=number,
        comment=int(comment["id"]),
        created=str(comment["created_at"]),
        login=str(author["login"]),
        user=int(author["id"]),
        said=[[command.name, command.text] for command in parsed.commands],
        left_out=parsed.left_out,
    ).request()
