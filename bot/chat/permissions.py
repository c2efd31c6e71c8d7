"""What a person may do in a repository.

GitHub is asked each time. `author_association` is not used: it calls a private member a
contributor.
"""

from __future__ import annotations

from enum import IntEnum
from urllib.parse import quote

from bot.github import Client, GitHubError

METADATA = {"metadata": "read"}


class Permission(IntEnum):
    """`READ` may ask for reports; `WRITE` may start what runs, and decide.

    `AUTHOR` is who reads the repository and has opened the pull request at hand: GitHub has no such
    level, `Task.permission` gives it.
    """

    NONE = 0
    READ = 1
    AUTHOR = 2
    WRITE = 3


# GitHub says `write` of the role maintain, and `read` of triage.
_BY_NAME = {"admin": Permission.WRITE, "write": Permission.WRITE, "read": Permission.READ}


def permission_of(client: Client, repository: str, login: str, user: int) -> Permission:
    """The permission of the account `user`, now called `login`. Whatever GitHub does not say
    clearly is `NONE`.

    Raises what may pass: a limit, a broken connection.
    """
    name = quote(login, safe="")
    try:
        answer = client.get(f"/repos/{repository}/collaborators/{name}/permission")
    except GitHubError as error:
        is_refusal = type(error) is GitHubError and error.status in (401, 403, 404)
        if not is_refusal:
            raise
        return Permission.NONE
    # A name that was given up may be another's by now.
    if (answer.get("user") or {}).get("id") != user:
        return Permission.NONE
    return _BY_NAME.get(answer["permission"], Permission.NONE)
