"""What GitHub says of a repository now.

What a webhook says was so when it was written, and GitHub sends again for days what did not arrive.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.github.app import App
from bot.github.client import GitHubError, RateLimited

# Gone, not ours any more, or out of our sight; 403 is a suspended installation's.
_HIDDEN = (403, 404, 410, 422, 451)


@dataclass(frozen=True)
class Presence:
    """A repository that an installation of ours has: GitHub's id and name of it, and whether it is
    private."""

    id: int
    name: str
    private: bool


def find_present(app: App, name: str) -> Presence | None:
    """What the name leads to; None where no installation of ours has it. Raises `GitHubError` where
    GitHub does not say."""
    try:
        installation = app.itself.get(f"/repos/{name}/installation")
        found = app.listing(int(installation["id"])).get(f"/repos/{name}")
    except GitHubError as error:
        if is_hidden(error):
            return None
        raise
    return Presence(int(found["id"]), str(found["full_name"]), bool(found["private"]))


def is_hidden(error: GitHubError) -> bool:
    """Whether GitHub says that there is nothing for us to see."""
    return error.status in _HIDDEN and not isinstance(error, RateLimited)
