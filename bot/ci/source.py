"""Where a CI run is collected from: one pull request on GitHub, read with one token."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from github import Auth

from bot import urls
from bot.errors import UserError
from bot.github import Client, GitHubError, download
from bot.github.client import Cache, Json
from bot.github.own_comments import PullPlace
from bot.github.rate_limit import RateLimiter

# The first that is set gives the token. It is never an argument: those are seen by everybody on the
# machine.
TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
LARGEST_LOG = 200 << 20
_ADDRESS = re.compile(r"https?://[^/\s]+/([^/\s]+/[^/\s]+)/pulls?/([0-9]{1,9})(?:[/?#]\S*)?")
LARGEST_ARTIFACT = 100 << 20


@dataclass(frozen=True)
class Source:
    """A client for the API, and what downloads need besides: its address and the token."""

    client: Client
    api: str
    token: str = field(repr=False)
    place: PullPlace

    @property
    def path(self) -> str:
        return f"/repos/{self.place.repository}"

    def log(self, job: int) -> bytes:
        """The raw log of a workflow job.

        Raises `GitHubError`, `Limited` where GitHub wants a pause.
        """
        return self._again(
            lambda: download.job_log(self.api, self.token, self.place.repository, job, LARGEST_LOG)
        )

    def artifact(self, artifact: int) -> bytes:
        """An artifact's zip file. Raises as `log` does."""
        get = download.artifact
        return self._again(
            lambda: get(self.api, self.token, self.place.repository, artifact, LARGEST_ARTIFACT)
        )

    def runs(self, **params: str | int) -> list[Json]:
        """One page of workflow runs, the newest first."""
        found: list[Json] = self.client.get(f"{self.path}/actions/runs", **params)["workflow_runs"]
        return found

    @staticmethod
    def _again(get: Callable[[], bytes]) -> bytes:
        """A second time where the network or GitHub stumbled."""
        try:
            return get()
        except GitHubError as error:
            if 0 < error.status < 500:
                raise
        return get()


def from_environment(place: PullPlace) -> Source:
    """The source that the environment describes. Raises `UserError` where it holds no token."""
    token = next((os.environ[name] for name in TOKENS if os.environ.get(name)), None)
    if token is None:
        raise UserError("ci-token", names=list(TOKENS))
    api = urls.api()
    return Source(Client(api, Auth.Token(token), RateLimiter(), Cache()), api, token, place)


def place_of(text: str) -> PullPlace:
    """`OWNER/REPO#N`, or the address of the pull request's page. Raises `UserError` for anything
    else."""
    address = _ADDRESS.fullmatch(text.strip())
    if address is not None:
        return PullPlace(address[1], int(address[2]))
    repository, _, number = text.rpartition("#")
    owner, _, name = repository.partition("/")
    if not (owner and name and "/" not in name and number.isdecimal() and number.isascii()):
        raise UserError("ci-pull", text=text)
    return PullPlace(repository, int(number))


def day(moment: datetime) -> str:
    """`moment` as GitHub's searches take it."""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
