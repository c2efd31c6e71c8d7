"""The App-manifest flow: a page here sends the person to GitHub, and GitHub sends them back with a
code for the credentials of the App that they made."""

from __future__ import annotations

import html
import json
import re
import secrets
import signal
import socket
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from bot.app.permissions import events, permissions
from bot.errors import UserError
from bot.i18n.catalog import Catalog

_CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")
# GitHub's own limit on the name of an App.
_LONGEST_NAME = 34


@dataclass(frozen=True)
class AppPlan:
    """The App to be: where its service will be reached (`https://specbot.example`), whose it is,
    its name."""

    url: str
    organization: str
    name: str
    api: str
    server: str

    @property
    def form(self) -> str:
        """Where GitHub takes a manifest."""
        owner = f"/organizations/{self.organization}" if self.organization else ""
        return f"{self.server}{owner}/settings/apps/new"

    def manifest(self, here: str) -> dict[str, Any]:
        """What GitHub is asked to make; it answers to the address `here`."""
        return {
            "name": (self.name or f"SpecBot {urlsplit(self.url).hostname}")[:_LONGEST_NAME],
            "url": self.url,
            "hook_attributes": {"url": f"{self.url}/webhook", "active": True},
            "redirect_url": f"{here}/created",
            "callback_urls": [f"{self.url}/login/back"],
            "public": False,
            "default_permissions": permissions(),
            "default_events": events(),
        }


@dataclass
class ManifestFlow:
    """One run of it. The page's address and the `state` are secret: who knows neither cannot hand
    us an App of theirs."""

    plan: AppPlan
    here: str
    words: Catalog
    begin: str = field(default_factory=lambda: f"/begin/{secrets.token_urlsafe(16)}")
    state: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    made: dict[str, Any] | None = None
    server: uvicorn.Server | None = None

    def application(self) -> Starlette:
        return Starlette(routes=[Route(self.begin, self._begin), Route("/created", self._created)])

    async def _begin(self, _: Request) -> Response:
        address = f"{self.plan.form}?{urlencode({'state': self.state})}"
        manifest = json.dumps(self.plan.manifest(self.here))
        form = (
            f'<form method="post" action="{html.escape(address)}">'
            f'<input type="hidden" name="manifest" value="{html.escape(manifest)}">'
            f"<button>{html.escape(self.words('app.page-button'))}</button></form>"
        )
        return self._page(self.words("app.page-begin", url=self.plan.url), form)

    async def _created(self, request: Request) -> Response:
        code, state = (request.query_params.get(name, "") for name in ("code", "state"))
        if not secrets.compare_digest(state.encode(), self.state.encode()) or not _CODE.fullmatch(
            code
        ):
            return self._page(self.words("app.page-stranger"), status=400)
        try:
            self.made = await _conversion(self.plan.api, code)
        except UserError as error:
            return self._page(self.words(f"errors.{error.key}", **error.args_), status=502)
        assert self.server is not None
        self.server.should_exit = True
        address = html.escape(f"{self.made['html_url']}/installations/new")
        link = f'<p><a href="{address}">{html.escape(self.words("app.page-install"))}</a></p>'
        return self._page(self.words("app.page-done"), link)

    def _page(self, sentence: str, more: str = "", status: int = 200) -> Response:
        text = (
            f'<!doctype html><html lang="{self.words.language}"><meta charset="utf-8">'
            f"<title>SpecBot</title><p>{html.escape(sentence)}</p>{more}</html>"
        )
        policy = (
            f"default-src 'none'; form-action {self.plan.server}; frame-ancestors 'none'; "
            "base-uri 'none'"
        )
        headers = {
            "content-security-policy": policy,
            "cache-control": "no-store",
            "referrer-policy": "no-referrer",
        }
        return HTMLResponse(text, status, headers)


async def _conversion(api: str, code: str) -> dict[str, Any]:
    """The new App with its secrets. GitHub gives them once, for a code that lives an hour."""
    headers = {"accept": "application/vnd.github+json"}
    try:
        async with httpx.AsyncClient(timeout=30) as client:
            answer = await client.post(f"{api}/app-manifests/{code}/conversions", headers=headers)
        if answer.status_code != 201:
            raise UserError("app-conversion", reason=str(answer.status_code))
        data = answer.json()
        wanted = ("id", "html_url", "pem", "webhook_secret", "client_id", "client_secret")
        made = {name: data[name] for name in wanted}
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        raise UserError("app-conversion", reason=type(error).__name__) from None
    if not made["webhook_secret"] or not str(made["html_url"]).startswith(("https://", "http://")):
        raise UserError("app-conversion", reason="webhook_secret, html_url")
    return made


def open_listener(port: int) -> socket.socket:
    """A socket on this machine's own address. Raises `UserError` where `port` cannot be had."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError("no-port", host="127.0.0.1", port=port, reason=reason) from None


def wait_for_app(listener: socket.socket, flow: ManifestFlow) -> dict[str, Any]:
    """Serve on `listener` until the App is made; gives GitHub's description of it.

    Raises `KeyboardInterrupt` where the person gives up.
    """
    # uvicorn ends in good order at the signal, and then sends it once more for the rest of us.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config = uvicorn.Config(flow.application(), log_config=None, access_log=False, lifespan="off")
    flow.server = uvicorn.Server(config)
    flow.server.run([listener])
    if flow.made is None:
        raise KeyboardInterrupt
    return flow.made


def credentials(made: dict[str, Any], plan: AppPlan) -> dict[str, Any]:
    """The settings of the new App, by the names that `bot.settings` reads."""
    return {
        "github_api_url": plan.api,
        "github_server_url": plan.server,
        "app_id": int(made["id"]),
        "client_id": str(made["client_id"]),
        "client_secret": str(made["client_secret"]),
        "webhook_secrets": [str(made["webhook_secret"])],
        "private_key": str(made["pem"]),
    }
