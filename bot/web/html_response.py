"""How pages are written: their language, their templates, and the headers that keep them
harmless."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.i18n.catalog import LANGUAGES
from bot.reports.html import PAGES, words_for

# No script at all, nothing from another host, no frame around it.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_COOKIE = "specbot_lang"
_MOST_LANGUAGES = 20
_YEAR = 365 * 24 * 3600


def with_headers(app: ASGIApp) -> ASGIApp:
    """The app, whose every answer has `HEADERS`: also those that no page of ours wrote."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                written = {name for name, _ in message["headers"]}
                more = [header for header in _RAW_HEADERS if header[0] not in written]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await app(scope, receive, send_with_headers)

    return answer


def language(request: Request) -> str:
    """What `?lang=` says, else the cookie, else the first known of the browser's languages."""
    for name in (request.query_params.get("lang"), request.cookies.get(_COOKIE)):
        if name in LANGUAGES:
            return str(name)
    for name in _accepted_languages(request.headers.get("accept-language", "")):
        if name in LANGUAGES:
            return name
    return "en"


def _accepted_languages(header: str) -> list[str]:
    """The languages of `Accept-Language`, such as `zh-CN,en;q=0.8`, by two letters, the most wanted
    first."""
    weighted = []
    for number, part in enumerate(header.split(",")[:_MOST_LANGUAGES]):
        name, _, weight = part.strip().partition(";q=")
        weighted.append((-_weight(weight), number, name.lower()[:2]))
    return [name for _, _, name in sorted(weighted)]


def _weight(text: str) -> float:
    try:
        return float(text or 1)
    except ValueError:
        return 0.0


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """The page of a template, in the reader's language. Values are escaped unless they are
    `Markup`."""
    chosen = language(request)
    words = words_for(chosen)

    def say(key: str, **args: Any) -> Markup:
        return Markup(words(key, **args))

    def elsewhere(**changes: Any) -> str:
        return _with_parameters(request, changes)

    def age(at: float) -> Markup:
        moment = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        text = say("pages.age", **_age(time.time() - at))
        return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(moment, text)

    html = (
        _environment()
        .get_template(template)
        .render(
            say=say, elsewhere=elsewhere, age=age, language=chosen, path=request.url.path, **values
        )
    )
    response = HTMLResponse(html, status, headers=HEADERS)
    if request.query_params.get("lang") in LANGUAGES:
        response.set_cookie(_COOKIE, chosen, max_age=_YEAR, httponly=True, samesite="lax")
    return response


def _with_parameters(request: Request, changes: Mapping[str, Any]) -> str:
    """The address of the request with other parameters; an empty one falls away."""
    parameters = dict(request.query_params)
    for name, value in changes.items():
        parameters[name] = str(value)
    kept = {name: value for name, value in parameters.items() if value}
    dropped = [name for name in request.query_params if name not in kept]
    url = request.url.replace(scheme="", netloc="")
    return str(url.include_query_params(**kept).remove_query_params(dropped))


def _age(seconds: float) -> dict[str, Any]:
    minutes = max(0, int(seconds // 60))
    if minutes < 60:
        return {"count": minutes, "unit": "minute"}
    if minutes < 48 * 60:
        return {"count": minutes // 60, "unit": "hour"}
    return {"count": minutes // (24 * 60), "unit": "day"}


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
