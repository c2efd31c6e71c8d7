"""GitHub: the only place that knows its API."""

from __future__ import annotations

from bot.github.app import App, Endpoint, OAuth
from bot.github.client import Client, GitHubError, RateLimited, UncertainWrite

__all__ = ["App", "Client", "Endpoint", "GitHubError", "OAuth", "RateLimited", "UncertainWrite"]
