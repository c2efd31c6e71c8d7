"""The pull request that a workflow runs for, from the file in which GitHub Actions describes the
event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.errors import UserError
from bot.files import read_text
from bot.git import Git, Range, object_id, resolve
from bot.github.own_comments import PullPlace
from checks.core.change import PullRequest


@dataclass(frozen=True)
class Event:
    """A pull request as it was when the event happened. `base` is the tip of its target branch
    then."""

    place: PullPlace
    head: str
    base: str
    pull: PullRequest

    def compared(self, git: Git) -> Range:
        """What is reviewed: the head, and where it left the target branch as the checkout has it.

        Raises `UserError` where the checkout lacks the history for it.
        """
        branch = f"refs/remotes/origin/{self.pull.target_branch}"
        here = object_id(git, f"{branch}^{{commit}}") is not None
        return resolve(git, branch if here else self.base, self.head, merge_base=True)


def read_event(environ: Mapping[str, str]) -> Event:
    """The event of `GITHUB_EVENT_PATH`. Raises `UserError` where that is none of a pull request."""
    name = environ.get("GITHUB_EVENT_PATH")
    if not name:
        raise UserError("action-outside")
    try:
        return _event(json.loads(read_text(name)))
    except (ValueError, RecursionError, KeyError, TypeError):
        raise UserError("action-event", name=environ.get("GITHUB_EVENT_NAME") or "?") from None


def _event(data: Any) -> Event:
    found = data["pull_request"]
    place = PullPlace(str(data["repository"]["full_name"]), int(found["number"]))
    base, head = found["base"], found["head"]
    pull = PullRequest(
        str(found["title"]), str(found["body"] or ""), target_branch=str(base["ref"]), known=True
    )
    return Event(place, str(head["sha"]), str(base["sha"]), pull)
