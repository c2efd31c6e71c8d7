"""GitHub: the only place that knows its API.

The App's own key and tokens are in `bot.github.app`, which a workflow's token does without.
"""

from __future__ import annotations

from bot.github.client import UNPROCESSABLE, Client, GitHubError, RateLimited, UncertainWrite

__all__ = ["UNPROCESSABLE", "Client", "GitHubError", "RateLimited", "UncertainWrite"]
