"""The routes of the pages."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable

from anyio import CapacityLimiter, to_thread
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from bot.i18n.rule_pages import rule_page
from bot.reports.html import body, style, words_for
from bot.web import documentation
from bot.web.access import COOKIE, STATE_COOKIE, Access
from bot.web.ci_grid import CommitJobs, Grid
from bot.web.html_response import HEADERS, language, page
from bot.web.page_store import HISTORY, KINDS, BoardQuery, BoardRow, PageStore, ReportMeta
from bot.web.publicity import Publicity
from bot.web.statistics import StatisticsReader
from checks.core.rule_ids import ids_meant
from checks.registry import RULES, rule

# Of a search, in characters.
_LONGEST = 200
_QUESTIONS_AT_ONCE = 8
# Seconds between two looks at CI that runs.
_REFRESH = 30
_HEADING = re.compile(r'<h2 id="([^"]*)"[^>]*>(.*?)</h2>')
# Of a pull request: what is larger fits no column.
_LARGEST_NUMBER = (1 << 31) - 1
_TABS = (*KINDS, HISTORY)
_STATES = ("open", "merged", "closed")
_VERDICTS = ("block", "discuss", "pass")
_CI = ("failed", "running", "passed")
_WAITING = ("author", "reviewer", "ci")
Endpoint = Callable[[Request], Awaitable[Response]]


def routes(
    store: PageStore, access: Access, server: str, publicity: Publicity | None = None
) -> list[Route]:
    """Board, pull requests, rules, statistics, signing in, and the style sheet.

    `server` is GitHub's address. Without `publicity` what was public stays so.
    """
    pages = Pages(store, access, server, publicity)

    def known(endpoint: Endpoint) -> Endpoint:
        """The endpoint, which is told who asks."""

        async def answer(request: Request) -> Response:
            await access.recognise(request)
            return await endpoint(request)

        return answer

    return [
        Route("/", known(pages.board)),
        Route("/pr/{owner}/{repo}/{number:int}", known(pages.pull)),
        Route("/rules", known(pages.rules)),
        Route("/rules/{id}", known(pages.rule)),
        Route("/stats", known(pages.stats)),
        Route("/login", known(pages.login)),
        Route("/login/back", known(pages.back)),
        Route("/logout", pages.logout, methods=["POST"]),
        Route("/style.css", pages.style),
        # The last one: what no address above is.
        Route("/{path:path}", known(pages.nowhere)),
    ]


class Pages:
    """What answers at each address."""

    def __init__(
        self, store: PageStore, access: Access, server: str, publicity: Publicity | None
    ) -> None:
        self._server = server
        self._publicity = publicity
        self._store = store
        self._access = access
        # Questions to GitHub, which may be slow: who waits for one takes no thread from others.
        self._asking = CapacityLimiter(_QUESTIONS_AT_ONCE)
        self._statistics = StatisticsReader(store)
        self._commit_jobs = CommitJobs(store.engine)

    async def board(self, request: Request) -> Response:
        """Open pull requests, or those that the address asks for."""
        params = request.query_params
        state = _known_or(params.get("state", "open"), (*_STATES, "all"), "open")
        query = BoardQuery(
            search=params.get("q", "")[:_LONGEST],
            state="" if state == "all" else state,
            verdict=_known_or(params.get("verdict", ""), _VERDICTS),
            ci=_known_or(params.get("ci", ""), _CI),
            waiting=_known_or(params.get("waiting", ""), _WAITING),
            page=_page_number(params.get("page", "1")),
        )
        await to_thread.run_sync(self._close_what_is_private, limiter=self._asking)
        board = await run_in_threadpool(self._store.board, query, self._access.readable(request))
        choices = {"state": _STATES, "verdict": _VERDICTS, "ci": _CI, "waiting": _WAITING}
        return self._page(request, "board.html", board=board, wanted=query, choices=choices)

    async def pull(self, request: Request) -> Response:
        """One pull request: the tab that the address names, of the newest report or of the one
        named."""
        path, params = request.path_params, request.query_params
        repository = f"{path['owner']}/{path['repo']}"
        pull = await self._visible_pull(request, repository, path["number"])
        if pull is None:
            return self._missing(request)
        entries = await run_in_threadpool(self._store.entries, repository, pull.number)
        newest = _newest(entries)
        first_tab = next((kind for kind in KINDS if kind in newest), HISTORY)
        tab = _known_or(params.get("tab", ""), _TABS, first_tab)
        entry = newest.get(tab)
        for listed in entries:
            if str(listed.id) == params.get("report"):
                entry = listed
                break
        body = None
        if entry is not None and entry.kind == tab:
            body = await run_in_threadpool(
                self._store.body, repository, pull.number, entry.id, language(request)
            )
        grid = Grid((), ())
        if tab == "ci":
            grid = await run_in_threadpool(self._commit_jobs.grid, repository, pull.number)
        response = self._page(
            request,
            "pull.html",
            grid=grid,
            pull=pull,
            headings=_headings(body or ""),
            entries=[listed for listed in entries if listed.kind != HISTORY],
            newest=newest,
            tab=tab,
            tabs=_TABS,
            entry=entry,
            body=Markup(body) if body is not None else None,
            address=f"{self._server}/{repository}/pull/{pull.number}",
            commits=f"{self._server}/{repository}/commit/",
        )
        if tab == "ci" and pull.ci == "running":
            # No script is needed to look again. A header, so that it is no part of the document.
            response.headers["Refresh"] = str(_REFRESH)
        return response

    async def _visible_pull(
        self, request: Request, repository: str, number: int
    ) -> BoardRow | None:
        """The pull request; None where there is none or this person may not see it."""
        if number > _LARGEST_NUMBER:
            return None
        pull = await run_in_threadpool(self._store.pull, repository, number)
        if pull is None:
            return None
        public = not pull.private and await to_thread.run_sync(
            self._is_public, repository, limiter=self._asking
        )
        if not public and not await self._access.may_read(request, repository):
            return None
        return pull

    def _is_public(self, repository: str) -> bool:
        return self._publicity is None or self._publicity.is_public(repository)

    def _close_what_is_private(self) -> None:
        """Ask about every repository that the board shows to everybody."""
        if self._publicity is not None:
            self._publicity.public(self._store.public_repositories())

    async def rules(self, request: Request) -> Response:
        """Every rule with its summary."""
        return self._rule_list(request, [listed.ID for listed in RULES])

    def _rule_list(self, request: Request, ids: Iterable[str]) -> Response:
        words = words_for(language(request))
        summaries = [(name, Markup(words.summary(name))) for name in ids]
        return self._page(request, "rules.html", rules=summaries)

    async def rule(self, request: Request) -> Response:
        """One rule's page; for an id that a rule had before, the list of what it is called now."""
        name = request.path_params["id"]
        check = rule(name)
        if check is None:
            new_ids = ids_meant(name, [listed.ID for listed in RULES])
            return self._rule_list(request, new_ids) if new_ids else self._missing(request)
        words = words_for(language(request))
        documented = rule_page(check, words.language)
        blocks = documentation.parse_blocks(documented.text)
        return self._page(
            request,
            "rule.html",
            rule=check.ID,
            summary=Markup(words.summary(check.ID)),
            text_language=documented.language,
            text=Markup(body(blocks)),
        )

    async def stats(self, request: Request) -> Response:
        """How often reports were right, how fast they were there, and what they cost."""
        statistics = await run_in_threadpool(self._statistics.statistics)
        return self._page(request, "stats.html", numbers=statistics)

    async def login(self, request: Request) -> Response:
        """Send the person to GitHub to sign in."""
        if self._access.oauth is None:
            return self._missing(request)
        address, browser = self._access.begin(request.query_params.get("back", "/"))
        response = RedirectResponse(address, 303, headers=HEADERS)
        secure = request.url.scheme == "https"
        response.set_cookie(STATE_COOKIE, browser, httponly=True, samesite="lax", secure=secure)
        return response

    async def back(self, request: Request) -> Response:
        """Where GitHub sends a person who signed in."""
        session = await self._access.finish(request)
        if session is None:
            return self._missing(request)
        name, address = session
        response = RedirectResponse(address, 303, headers=HEADERS)
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, name, httponly=True, samesite="lax", secure=secure)
        response.delete_cookie(STATE_COOKIE)
        return response

    async def logout(self, request: Request) -> Response:
        """End the session."""
        await self._access.end(request)
        response = RedirectResponse("/", 303, headers=HEADERS)
        response.delete_cookie(COOKIE)
        return response

    async def style(self, _: Request) -> Response:
        """The style sheet of every page."""
        cached = HEADERS | {"Cache-Control": "public, max-age=3600"}
        return PlainTextResponse(style(), media_type="text/css", headers=cached)

    async def nowhere(self, request: Request) -> Response:
        """An address that is none."""
        return self._missing(request)

    def _missing(self, request: Request) -> Response:
        """The same for what does not exist and for what this person may not see."""
        return self._page(request, "missing.html", 404)

    def _page(
        self, request: Request, template: str, status: int = 200, **values: object
    ) -> Response:
        who, can_sign_in = self._access.who(request), self._access.oauth is not None
        return page(request, template, status, who=who, can_sign_in=can_sign_in, **values)


def _headings(body: str) -> list[tuple[str, Markup]]:
    """The sections of a report, as (id, text), for a table of contents."""
    found = []
    for identifier, text in _HEADING.findall(body):
        found.append((identifier, Markup(re.sub(r"<[^>]*>", "", text))))
    return found


def _newest(entries: tuple[ReportMeta, ...]) -> dict[str, ReportMeta]:
    """The newest report of each kind; `entries` have the newest first."""
    return {entry.kind: entry for entry in reversed(entries)}


def _known_or(value: str, known: tuple[str, ...], default: str = "") -> str:
    return value if value in known else default


def _page_number(text: str) -> int:
    """A page of the board; the first where the text is no number that we would count to."""
    if text.isascii() and text.isdigit() and len(text) < 7:
        return int(text)
    return 1
