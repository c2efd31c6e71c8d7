"""One stateful GitHub for tests: real HTTP, real git, and every message checked against GitHub's
own description."""

from __future__ import annotations

from tests.fake_github.server import Answer, FakeGitHub, secondary, serving

__all__ = ["Answer", "FakeGitHub", "secondary", "serving"]
