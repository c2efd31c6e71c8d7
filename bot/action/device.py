"""Device code of the pull request, run on the workflow's machine before the review."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bot.configuration import load_configuration
from bot.device import actions, shown_again
from bot.errors import UserError
from bot.kernels import confine
from bot.reports.device_run import DeviceReport
from checks.core.change import ChangeSet

ACTIONS = ("test", "compare", "cover")
# The workflow of the target branch, with its token and its secrets, for a stranger's pull request:
# GitHub asks nobody's approval before it.
_PRIVILEGED_EVENT = "pull_request_target"


@dataclass(frozen=True, slots=True)
class DeviceOrder:
    """What the workflow asks for: one of `ACTIONS`, for at most `minutes` minutes."""

    action: str
    minutes: float
    event: str
    profile: str | None = None


def run_device(change: ChangeSet, order: DeviceOrder) -> DeviceReport | None:
    """Run the device code of both sides; None where the change touches none.

    Raises `UserError` where it may not or cannot be run here.
    """
    if order.event == _PRIVILEGED_EVENT:
        raise UserError("device-privileged-event", event=order.event)
    if not confine.confinement("cpu").files:
        raise UserError("device-unconfined")
    request = actions.Request(
        order.action,
        change,
        load_configuration(change.base, None, order.profile),
        shown_again.command(order.action, change.base_rev, change.head_rev, change.pull.title),
    )
    try:
        with _within(order.minutes):
            return actions.run(request, lambda _: None)
    except UserError as error:
        if error.key == "device-no-sources":
            return None
        raise


@contextmanager
def _within(minutes: float) -> Iterator[None]:
    """Raises `UserError` in the body, and so ends its processes, when it takes longer."""

    def stop(*_: object) -> None:
        raise UserError("device-too-long", minutes=f"{minutes:g}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 60.0 * minutes)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
