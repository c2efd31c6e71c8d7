"""How pages are written: their language, their templates, and the headers that keep them harmless."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from bot.i18n.catalog import LANGUAGES
from bot.reports.html import PAGES, words_for

# No script at all, nothing from another host, no frame around it.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
_COOKIE = "specbot_lang"


def language(request: Request) -> str:
    """What `?lang=` says, else the cookie, else the first known of the browser's languages."""
    for said in (request.query_params.get("lang"), request.cookies.get(_COOKIE)):
        if said in LANGUAGES:
            return str(said)
    weighed = []
    for n, part in enumerate(request.headers.get("accept-language", "").split(",")[:20]):
        name, _, weight = part.strip().partition(";q=")
        weighed.append((-_number(weight), n, name.lower()[:2]))
    return next((name for _, _, name in sorted(weighed) if name in LANGUAGES), "en")


def _number(text: str) -> float:
    try:
        return float(text or 1)
    except ValueError:
        return 0.0


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """The page of a template, in the reader's language. Values are escaped unless they are `Markup`."""
    spoken = language(request)
    words = words_for(spoken)

    def say(key: str, **args: Any) -> Markup:
        return Markup(words(key, **args))

    def elsewhere(**changes: Any) -> str:
        """This address with other parameters; an empty one falls away."""
        query = {**request.query_params, **{k: str(v) for k, v in changes.items()}}
        kept = {k: v for k, v in query.items() if v}
        return str(
            request.url.replace(scheme="", netloc="")
            .include_query_params(**kept)
            .remove_query_params([k for k in request.query_params if k not in kept])
        )

    def age(at: float) -> Markup:
        moment = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        said = say("pages.age", **_age(time.time() - at))
        return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(moment, said)

    html = (
        _environment()
        .get_template(template)
        .render(
            say=say, elsewhere=elsewhere, age=age, language=spoken, path=request.url.path, **values
        )
    )
    response = HTMLResponse(html, status, headers=HEADERS)
    if request.query_params.get("lang") in LANGUAGES:
        response.set_cookie(_COOKIE, spoken, max_age=365 * 24 * 3600, httponly=True, samesite="lax")
    return response


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
