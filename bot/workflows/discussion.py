"""The durable renewal of a page: people went on discussing a pull request whose analysis is kept."""

from __future__ import annotations

from typing import Any

from dbos import DBOS

from bot.service import keeping
from bot.service.machine import machine
from bot.service.orders import DiscussionOrder
from bot.service.retrying import step

Json = dict[str, Any]


@DBOS.workflow(name="discussion")
def note_discussion(stored: Json) -> None:
    """Write the analysis of the pull request of a stored `DiscussionOrder` anew."""
    renew(stored)


@step
def renew(stored: Json) -> None:
    """As often as it is done, the page shows what was said last."""
    keeping.renew(machine(), DiscussionOrder(**stored))
