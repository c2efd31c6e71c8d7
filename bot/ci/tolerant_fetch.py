"""Requests of which some may be refused: what is missing becomes a problem of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

from bot.ci.source import Source
from bot.github import GitHubError, RateLimited
from bot.github.client import Json
from bot.safe_zip import BadArchive
from checks.ci.message_keys import Problem

T = TypeVar("T")


class TolerantFetch:
    """The requests of one collection.

    `limited`: GitHub's limits are reached, and nothing optional is requested any more.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.limited = False
        self.problems: set[Problem] = set()

    def listed(
        self, problem: Problem, pages: Callable[[], Iterator[Json]], most: int
    ) -> list[Json]:
        """The first `most` items. `RateLimited` is not caught: without these there is no report."""
        try:
            return list(islice(pages(), most))
        except RateLimited:
            raise
        except GitHubError:
            self.problems.add(problem)
            return []

    def optional(self, problem: Problem, fetch: Callable[[], T], fallback: T) -> T:
        """What `fetch` gives, or `fallback` where it is refused."""
        if not self.limited:
            try:
                return fetch()
            except RateLimited:
                self.limited = True
            except (GitHubError, BadArchive):
                pass
        self.problems.add(problem)
        return fallback
