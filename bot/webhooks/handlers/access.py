"""`repository`, `installation`, `installation_repositories`: who may see what has changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.jobs.requests import JobRequest
from bot.jobs.upkeep import AccessJob

_OF_REPOSITORY = {
    "privatized": "close",
    # Closed until GitHub itself says at a later look that everybody may see it.
    "publicized": "close",
    "deleted": "purge",
    # Its new owner has not asked for us.
    "transferred": "purge",
    "renamed": "rename",
}
_OF_INSTALLATION = {"deleted": "purge", "suspend": "close", "unsuspend": "close"}


def repository(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """One repository went from sight, from GitHub, from its owner, or got another name."""
    what = _OF_REPOSITORY.get(str(payload["action"]), "")
    if not what:
        return None
    found = payload["repository"]
    name = str(found["full_name"])
    changes = payload.get("changes") or {}
    owner = name.split("/")[0]
    old, new = name, ""
    if what == "rename":
        old, new = f"{owner}/{changes['repository']['name']['from']}", name
    elif payload["action"] == "transferred":
        old = f"{_old_owner(changes)}/{found['name']}"
    return AccessJob(
        id=f"access-{delivery}",
        what=what,
        repositories=[(int(found["id"]), old)],
        new_name=new,
    ).request()


def _old_owner(changes: Mapping[str, Any]) -> str:
    before = changes["owner"]["from"]
    account = before.get("user") or before["organization"]
    return str(account["login"])


def installation(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """An account took the App away, suspended it, or lets it work again."""
    what = _OF_INSTALLATION.get(str(payload["action"]))
    if what is None:
        return None
    found = payload["installation"]
    account = found.get("account") or {}
    return AccessJob(
        id=f"access-{delivery}",
        what=what,
        repositories=_named(payload.get("repositories") or ()),
        account=str(account.get("login") or ""),
        installation=int(found["id"]),
    ).request()


def installation_repositories(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """An account took some of its repositories from the App."""
    removed = _named(payload["repositories_removed"])
    if payload["action"] != "removed" or not removed:
        return None
    return AccessJob(id=f"access-{delivery}", what="purge", repositories=removed).request()


def _named(repositories: Any) -> list[tuple[int, str]]:
    return [(int(found["id"]), str(found["full_name"])) for found in repositories]
