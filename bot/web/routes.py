"""The routes of the pages."""

from __future__ import annotations

import inspect

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.reports.html import body, style, words_for
from bot.web import documentation
from bot.web.access import COOKIE, Access
from bot.web.html_response import HEADERS, language, page
from bot.web.page_store import HISTORY, KINDS, BoardQuery, PageStore, PullRow, ReportMeta
from bot.web.statistics import StatisticsReader
from checks.registry import RULES, rule

_LONGEST = 200
_TABS = (*KINDS, HISTORY)
_STATES = ("open", "merged", "closed")
_VERDICTS = ("block", "discuss", "pass")
_CI = ("failed", "running", "passed")
_WAITING = ("author", "reviewer", "ci")


def routes(archive: PageStore, access: Access, server: str) -> list[Route]:
    """Board, pull requests, rules, statistics, signing in, and the style sheet. `server` is where GitHub is."""
    pages = Pages(archive, access, server)
    return [
        Route("/", pages.board),
        Route("/pr/{owner}/{repo}/{number:int}", pages.pull),
        Route("/rules", pages.rules),
        Route("/rules/{id}", pages.rule),
        Route("/stats", pages.stats),
        Route("/login", pages.login),
        Route("/login/back", pages.back),
        Route("/logout", pages.logout, methods=["POST"]),
        Route("/style.css", pages.style),
    ]


class Pages:
    def __init__(self, archive: PageStore, access: Access, server: str) -> None:
        self._server = server
        self._archive = archive
        self._access = access
        self._numbers = StatisticsReader(archive)

    async def board(self, request: Request) -> Response:
        """Open pull requests, or those that the address asks for."""
        asked = request.query_params
        wanted = BoardQuery(
            search=asked.get("q", "")[:_LONGEST],
            state=_one_of(asked.get("state", "open"), (*_STATES, "all"), "open").replace("all", ""),
            verdict=_one_of(asked.get("verdict", ""), _VERDICTS),
            ci=_one_of(asked.get("ci", ""), _CI),
            waiting=_one_of(asked.get("waiting", ""), _WAITING),
            page=_count(asked.get("page", "1")),
        )
        found = await run_in_threadpool(self._archive.board, wanted, self._access.readable(request))
        choices = {"state": _STATES, "verdict": _VERDICTS, "ci": _CI, "waiting": _WAITING}
        return self._page(request, "board.html", board=found, wanted=wanted, choices=choices)

    async def pull(self, request: Request) -> Response:
        """One pull request: the tab that the address names, of the newest report or of the one named."""
        parts = request.path_params
        repository, number = f"{parts['owner']}/{parts['repo']}", parts["number"]
        pull = (
            await run_in_threadpool(self._archive.pull, repository, number)
            if number < 1 << 31
            else None
        )
        if pull is None or (pull.private and not await self._access.may_read(request, repository)):
            return self._missing(request)
        entries = await run_in_threadpool(self._archive.entries, repository, number)
        newest = _newest(entries)
        tab = _one_of(
            request.query_params.get("tab", ""),
            _TABS,
            next((k for k in KINDS if k in newest), HISTORY),
        )
        entry = next(
            (e for e in entries if str(e.id) == request.query_params.get("report")), newest.get(tab)
        )
        shown = None
        if entry is not None and entry.kind == tab:
            shown = await self._body(pull, entry, language(request))
        return self._page(
            request,
            "pull.html",
            pull=pull,
            entries=[e for e in entries if e.kind != HISTORY],
            newest=newest,
            tab=tab,
            tabs=_TABS,
            entry=entry,
            body=Markup(shown) if shown is not None else None,
            address=f"{self._server}/{repository}/pull/{number}",
        )

    async def _body(self, pull: PullRow, entry: ReportMeta, spoken: str) -> str | None:
        return await run_in_threadpool(
            self._archive.body, pull.repository, pull.number, entry.id, spoken
        )

    async def rules(self, request: Request) -> Response:
        words = words_for(language(request))
        listed = [(r.ID, Markup(words.summary(r.ID))) for r in RULES]
        return self._page(request, "rules.html", rules=listed)

    async def rule(self, request: Request) -> Response:
        found = rule(request.path_params["id"])
        if found is None:
            return self._missing(request)
        text = Markup(body(documentation.parse_blocks(inspect.cleandoc(found.__doc__ or ""))))
        summary = Markup(words_for(language(request)).summary(found.ID))
        return self._page(request, "rule.html", rule=found.ID, summary=summary, text=text)

    async def stats(self, request: Request) -> Response:
        """How often reports were right, how fast they were there, and what they cost."""
        numbers = await run_in_threadpool(self._numbers.statistics)
        return self._page(request, "stats.html", numbers=numbers)

    async def login(self, request: Request) -> Response:
        if self._access.oauth is None:
            return self._missing(request)
        return RedirectResponse(
            self._access.begin(request.query_params.get("back", "/")), 303, headers=HEADERS
        )

    async def back(self, request: Request) -> Response:
        """Where GitHub sends a person who signed in."""
        asked = request.query_params
        done = await self._access.finish(asked.get("state", ""), asked.get("code", ""))
        if done is None:
            return self._missing(request)
        response = RedirectResponse(done[1], 303, headers=HEADERS)
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, done[0], httponly=True, samesite="lax", secure=secure)
        return response

    async def logout(self, request: Request) -> Response:
        self._access.end(request)
        response = RedirectResponse("/", 303, headers=HEADERS)
        response.delete_cookie(COOKIE)
        return response

    async def style(self, _: Request) -> Response:
        cached = HEADERS | {"Cache-Control": "public, max-age=3600"}
        return PlainTextResponse(style(), media_type="text/css", headers=cached)

    def _missing(self, request: Request) -> Response:
        """The same for what does not exist and for what this person may not see."""
        return self._page(request, "missing.html", 404)

    def _page(
        self, request: Request, template: str, status: int = 200, **values: object
    ) -> Response:
        who, can_sign_in = self._access.who(request), self._access.oauth is not None
        return page(request, template, status, who=who, can_sign_in=can_sign_in, **values)


def _newest(entries: tuple[ReportMeta, ...]) -> dict[str, ReportMeta]:
    """The newest report of each kind."""
    return {e.kind: e for e in reversed(entries)}


def _one_of(value: str, known: tuple[str, ...], otherwise: str = "") -> str:
    return value if value in known else otherwise


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1
