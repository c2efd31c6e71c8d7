"""The durable renewal of a page: people went on discussing a pull request whose analysis is
kept."""

from __future__ import annotations

from typing import Any

from dbos import DBOS

from bot.context.retries import step
from bot.context.service_context import current_context
from bot.jobs.requests import DiscussionJob
from bot.workflows import publish_pages

Json = dict[str, Any]


@DBOS.workflow(name="discussion")
def note_discussion(stored: Json) -> None:
    """Write the analysis of the pull request of a stored `DiscussionOrder` anew."""
    renew(stored)


@step
def renew(stored: Json) -> None:
    """As often as it is done, the page shows what was said last."""
    publish_pages.renew_analysis(current_context(), DiscussionJob(**stored))
