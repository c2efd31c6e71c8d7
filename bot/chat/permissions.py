"""What a person may do in a repository: asked of GitHub each time, never read from `author_association`, which calls a
private member a contributor."""

from __future__ import annotations

from enum import IntEnum
from urllib.parse import quote

from bot.github import Client, GitHubError

METADATA = {"metadata": "read"}


class Permission(IntEnum):
    """`READ` may ask for reports; `WRITE` may start what runs, and decide."""

    NONE = 0
    READ = 1
    WRITE = 2


# GitHub says `write` of the role maintain, and `read` of triage.
_LEVELS = {"admin": Permission.WRITE, "write": Permission.WRITE, "read": Permission.READ}


def permission_of(client: Client, repository: str, login: str, user: int) -> Permission:
    """The level of the account `user`, now called `login`. Whatever GitHub does not say clearly is `NONE`.

    Raises what may pass: a limit, a broken connection.
    """
    try:
        found = client.get(f"/repos/{repository}/collaborators/{quote(login, safe='')}/permission")
    except GitHubError as error:
        if error.status in (401, 403, 404) and type(error) is GitHubError:
            return Permission.NONE
        raise
    # A name that was given up may be another's by now.
    if (found.get("user") or {}).get("id") != user:
        return Permission.NONE
    return _LEVELS.get(found["permission"], Permission.NONE)
