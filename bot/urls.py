"""Where GitHub is, if the environment says nothing else."""

from __future__ import annotations

import os

API = "https://api.github.com"
SERVER = "https://github.com"


def api() -> str:
    """The address of the API. Workflows of an Enterprise server set it, as people may."""
    return os.environ.get("GITHUB_API_URL") or API


def server() -> str:
    """The address of the pages, and of the repositories for git."""
    return os.environ.get("GITHUB_SERVER_URL") or SERVER


def public() -> str:
    """The address under which people reach the pages of the service, empty where there is none."""
    return os.environ.get("SPECBOT_PUBLIC_URL", "").rstrip("/")
