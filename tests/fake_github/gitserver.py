"""git over HTTP, for tokens that may read the contents."""

from __future__ import annotations

import base64
import re

from starlette.requests import Request

from tests.fake_github.app import allowed, reachable
from tests.fake_github.server import Answer, FakeGitHub

_PATH = re.compile(r"/([^/]+/[^/]+)\.git(/info/refs|/git-upload-pack)")


def answer(fake: FakeGitHub, request: Request, path: str, body: bytes) -> Answer:
    match = _PATH.fullmatch(path)
    repo = fake.repositories.get(match[1]) if match else None
    if match is None or repo is None:
        return Answer(404, b"Repository not found.")
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return Answer(401, b"", {"www-authenticate": 'Basic realm="GitHub"'})
    user, _, secret = base64.b64decode(value).decode().partition(":")
    token = fake.token(secret)
    if user != "x-access-token" or token is None:
        return Answer(401, b"Invalid username or token.")
    if not reachable(fake, token, repo) or not allowed(token, "contents", "read"):
        return Answer(403, b"Write access to repository not granted.")
    status, headers, content = repo.git.http(
        request.method, match[2], request.url.query, request.headers, body
    )
    return Answer(status, content, {"content-type": headers.get("Content-Type", "text/plain")})
