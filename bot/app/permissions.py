"""What the App asks for when it is made, and what it must have: both follow from what the service
does."""

from __future__ import annotations

from bot.github.app import ANALYSE, COMMENT, PUBLISH, READ_CI, RUN
from bot.webhooks.handlers import ALWAYS_SENT, HANDLERS

_LEVELS = ("", "read", "write", "admin")


def permissions() -> dict[str, str]:
    """The largest level of each permission that a task needs; not `RESOLVE`, which the service can
    do without."""
    made = {"metadata": "read"}
    for task in (ANALYSE, PUBLISH, READ_CI, COMMENT, RUN):
        for name, level in task.items():
            made[name] = max(made.get(name, ""), level, key=_LEVELS.index)
    return dict(sorted(made.items()))


def events() -> list[str]:
    """The webhooks that something is done about."""
    return sorted(HANDLERS.keys() - ALWAYS_SENT)


def missing_permissions(granted: dict[str, str]) -> list[str]:
    """Permissions that are wanted and not among those `granted`, as `checks: write`."""
    return [
        f"{name}: {level}"
        for name, level in permissions().items()
        if _LEVELS.index(granted.get(name, "")) < _LEVELS.index(level)
    ]
