"""The HTTP side: every request is checked against the description, authorised, answered, and the
answer checked."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tests.fake_github import enterprise, state
from tests.fake_github.description import (
    Operation,
    Undescribed,
    check_answer,
    check_request,
    operation_of,
)
from tests.fake_github.server import Answer, FakeGitHub, Fault, Seen, secondary

NOT_FOUND = Answer(
    404,
    {"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"},
)
FORBIDDEN = Answer(
    403,
    {
        "message": "Resource not accessible by integration",
        "documentation_url": "https://docs.github.com/rest",
        "status": "403",
    },
)
BAD_CREDENTIALS = Answer(
    401,
    {
        "message": "Bad credentials",
        "documentation_url": "https://docs.github.com/rest",
        "status": "401",
    },
)
_LEVELS = {"read": 1, "write": 2, "admin": 3}


@dataclass
class Call:
    """A request on its way to its handler."""

    fake: FakeGitHub
    operation: Operation
    values: dict[str, str]
    query: dict[str, str]
    body: Any
    token: state.Token | None
    _repo: state.Repository | None = None

    @property
    def repo(self) -> state.Repository:
        assert self._repo is not None
        return self._repo

    @property
    def pull(self) -> state.Pull:
        """The pull request named in the path; raises `Refused` where there is none."""
        name = "pull_number" if "pull_number" in self.values else "issue_number"
        found = self.repo.pulls.get(int(self.values[name]))
        if found is None:
            raise Refused(NOT_FOUND)
        return found

    def page(self, items: list[Any]) -> tuple[list[Any], dict[str, str]]:
        """The asked page of `items`, and the Link header to the next."""
        size, at = int(self.query.get("per_page", "30")), int(self.query.get("page", "1"))
        size = min(size, 100)
        more = at * size < len(items)
        path = self.operation.path.format(**self.values)
        link = (
            {"link": f'<{self.fake.url}{path}?per_page={size}&page={at + 1}>; rel="next"'}
            if more
            else {}
        )
        return items[(at - 1) * size : at * size], link


class Refused(Exception):
    """A handler's refusal, with what is answered."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def invalid(message: str, *errors: str) -> Refused:
    """GitHub's 422."""
    data: dict[str, Any] = {
        "message": message,
        "documentation_url": "https://docs.github.com/rest",
        "status": "422",
    }
    return Refused(Answer(422, data | ({"errors": list(errors)} if errors else {})))


Handler = Callable[[Call], Answer]
_HANDLERS: dict[str, tuple[Handler, dict[str, str], bool]] = {}
_FOR_ANYBODY: set[str] = set()


def handles(
    id_: str, *, app: bool = False, anybody: bool = False, **permissions: str
) -> Callable[[Handler], Handler]:
    """Register the handler of operation `id_`; it needs one of `permissions`, or the App's own JWT
    with `app`, or no token at all where it is for `anybody`."""

    def register(handler: Handler) -> Handler:
        _HANDLERS[id_] = (handler, permissions, app)
        if anybody:
            _FOR_ANYBODY.add(id_)
        return handler

    return register


def operations() -> frozenset[str]:
    """The ids of all that is answered."""
    from tests.fake_github import actions, apps, checks, graphql, issues, pulls, repos  # noqa: F401 - they register

    return frozenset(_HANDLERS)


def application(fake: FakeGitHub) -> Starlette:
    operations()

    async def endpoint(request: Request) -> Response:
        try:
            body = await request.body()
        except ClientDisconnect:
            return Response()
        path = unquote(request.url.path)
        fault = fake.take_fault(request.method, path, "before")
        if fault is not None and (struck := await _strike(fault, request)) is not None:
            return _seen(fake, request, path, "", body, struck)
        answer, operation = await run_in_threadpool(_answer, fake, request, path, body)
        fault = fake.take_fault(request.method, path, "after")
        if fault is not None:
            answer = await _strike(fault, request) or answer
        return _seen(fake, request, path, operation, body, answer)

    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    return Starlette(routes=[Route("/{path:path}", endpoint, methods=methods)])


async def _strike(fault: Fault, request: Request) -> Answer | None:
    import asyncio

    if isinstance(fault.do, Answer):
        return fault.do
    if isinstance(fault.do, float | int):
        await asyncio.sleep(fault.do)
        return None
    if fault.do == "drop":
        # Starlette has no word for this: the transport below it is cut, as when a proxy in between
        # dies.
        request.receive.__self__.transport.abort()  # type: ignore[attr-defined]
        return Answer(500, {})
    assert callable(fault.do)
    return await run_in_threadpool(fault.do)


def _seen(
    fake: FakeGitHub, request: Request, path: str, operation: str, body: bytes, answer: Answer
) -> Response:
    auth = request.headers.get("authorization", "")
    with fake.lock:
        fake.requests.append(
            Seen(
                request.method,
                path,
                operation,
                body,
                answer.status,
                auth.split(" ")[-1],
                dict(request.headers),
            )
        )
    raw = isinstance(answer.data, bytes)
    content = (
        answer.data if raw else b"" if answer.data is None else json.dumps(answer.data).encode()
    )
    headers = {
        "content-type": "application/octet-stream" if raw else "application/json; charset=utf-8"
    }
    return Response(content, answer.status, headers | _limits(fake) | dict(answer.headers))


def _limits(fake: FakeGitHub) -> dict[str, str]:
    return {
        "date": formatdate(usegmt=True),
        "x-ratelimit-limit": str(fake.rate_limit),
        "x-ratelimit-remaining": str(max(0, fake.rate_remaining)),
        "x-ratelimit-reset": str(int(fake.rate_reset) + 1),
        "x-ratelimit-resource": "core",
        "x-github-api-version-selected": "2026-03-10",
    }


def _answer(fake: FakeGitHub, request: Request, path: str, body: bytes) -> tuple[Answer, str]:
    from tests.fake_github import gitserver, graphql

    if path == "/graphql":
        return graphql.answer(fake, _bearer(request), body), "graphql"
    if path.startswith("/_blobs/"):
        return _blob(fake, request, path), "blob"
    if ".git/" in path:
        return gitserver.answer(fake, request, path, body), "git"
    try:
        operation, values = operation_of(request.method, path)
        query = dict(request.query_params)
        check_request(operation, query, body)
        enterprise.check_request(operation.id, query, body)
    except Undescribed as error:
        fake.violations.append(str(error))
        return NOT_FOUND, ""
    spoken = request.headers.get("x-github-api-version", enterprise.SPOKEN)
    if fake.enterprise and spoken != enterprise.SPOKEN:
        return Answer(400, {"message": f"Invalid API version {spoken}"}), operation.id
    with fake.lock:
        answer = _authorised(fake, request, operation, dict(values), query, body)
    try:
        data = (
            b""
            if answer.data is None
            else answer.data
            if isinstance(answer.data, bytes)
            else json.dumps(answer.data).encode()
        )
        check_answer(operation, answer.status, data)
        if fake.enterprise and answer.data is not None and not isinstance(answer.data, bytes):
            shaped = enterprise.answer(fake.enterprise, operation.id, answer.status, answer.data)
            answer = replace(answer, data=shaped)
    except Undescribed as error:
        fake.violations.append(str(error))
    return _cached(request, answer), operation.id


def _cached(request: Request, answer: Answer) -> Answer:
    """304 for a reader who has the same answer already."""
    if request.method != "GET" or answer.status != 200 or isinstance(answer.data, bytes):
        return answer
    tag = f'W/"{hashlib.sha256(json.dumps(answer.data).encode()).hexdigest()}"'
    if request.headers.get("if-none-match") == tag:
        return Answer(304, None, {"etag": tag})
    return Answer(answer.status, answer.data, {"etag": tag, **answer.headers})


def _bearer(request: Request) -> str:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "basic":
        return base64.b64decode(value).decode().partition(":")[2]
    return value


def _authorised(
    fake: FakeGitHub,
    request: Request,
    operation: Operation,
    values: dict[str, str],
    query: dict[str, str],
    body: bytes,
) -> Answer:
    if operation.id not in _HANDLERS:
        fake.violations.append(f"the fake has no {operation.id}")
        return NOT_FOUND
    handler, permissions, by_app = _HANDLERS[operation.id]
    call = Call(fake, operation, values, query, json.loads(body) if body else {}, None)
    if by_app:
        if not fake.app_of(_bearer(request)):
            return BAD_CREDENTIALS
    elif operation.id not in _FOR_ANYBODY:
        refused = _check_token(call, _bearer(request), permissions)
        if refused is not None:
            return refused
    try:
        return handler(call)
    except Refused as refusal:
        return refusal.answer


def _check_token(call: Call, value: str, permissions: dict[str, str]) -> Answer | None:
    call.token = call.fake.token(value)
    if call.token is None:
        return BAD_CREDENTIALS
    if time.time() >= call.fake.rate_reset:
        call.fake.rate_remaining = call.fake.rate_limit
        call.fake.rate_reset = time.time() + 3600
    call.fake.rate_remaining -= 1
    if call.fake.rate_remaining < 0:
        return Answer(
            403,
            {
                "message": "API rate limit exceeded for installation ID 1.",
                "documentation_url": "",
                "status": "403",
            },
        )
    if "owner" in call.values:
        call._repo = call.fake.repositories.get(f"{call.values['owner']}/{call.values['repo']}")
        if call._repo is None or not reachable(call.fake, call.token, call._repo):
            return NOT_FOUND
    if permissions and not any(
        allowed(call.token, name, level) for name, level in permissions.items()
    ):
        return FORBIDDEN
    return _too_quick(call) if "write" in permissions.values() else None


def reachable(fake: FakeGitHub, token: state.Token, repo: state.Repository) -> bool:
    """Whether the token's installation and its repositories include `repo`."""
    installation = next((i for i in fake.installations if i.id == token.installation), None)
    if installation is None or installation.suspended or repo not in installation.repositories:
        return False
    return token.repositories is None or repo.id in token.repositories


def allowed(token: state.Token, name: str, level: str) -> bool:
    return _LEVELS.get(token.permissions.get(name, ""), 0) >= _LEVELS[level]


def _too_quick(call: Call) -> Answer | None:
    """GitHub's limits on what creates content: 80 a minute, 500 an hour."""
    moment = time.time()
    recent = [t for t in call.fake.content_writes if moment - t < 3600]
    if len(recent) >= 500 or sum(moment - t < 60 for t in recent) >= 80:
        return secondary(60)
    call.fake.content_writes = [*recent, moment]
    return None


def _blob(fake: FakeGitHub, request: Request, path: str) -> Answer:
    """Where logs and archives are: another host for GitHub, which must not see our token."""
    if request.headers.get("authorization"):
        fake.violations.append("a token was sent to the host of the logs")
    _, _, kind, id_ = path.split("/")
    for repo in fake.repositories.values():
        for run in repo.runs:
            for job in run.jobs:
                if kind == "log" and job.id == int(id_):
                    return Answer(200, job.log)
            for artifact in run.artifacts:
                if kind == "zip" and artifact.id == int(id_):
                    return Answer(200, artifact.data)
    return Answer(404, b"")
