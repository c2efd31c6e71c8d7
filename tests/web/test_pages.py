"""The pages over HTTP: what they show to whom, in which language, and what keeps them harmless."""

from __future__ import annotations

import itertools
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from pydantic import SecretStr

import bot.i18n.rule_pages
from bot.ci.history import History
from bot.db.commands import GpuRun, Records
from bot.db.engine import engine_for
from bot.db.repositories import KnownRepository, Repositories
from bot.db.sessions import Sessions
from bot.github.app import OAuth
from bot.web.access import Access
from bot.web.page_store import PageReport, PageStore
from bot.web.rule_stats import FindingOutcomes
from checks.registry import RULES
from tests.web.conftest import NOW, archive_at, pull, serve


@pytest.fixture
def client(site):
    with httpx.Client(base_url=site.url) as made:
        yield made


@pytest.mark.parametrize(
    "path", ["/", "/pr/octo/engine/1", "/pr/octo/engine/2", "/rules", "/stats", "/nowhere/else"]
)
def test_no_page_may_run_or_fetch_anything(client, path):
    policy = client.get(path).headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy and "unsafe" not in policy


def test_the_board_shows_what_the_address_asks_for(client):
    page = client.get("/").text
    assert "80 pull requests" in page and "Page 1 of 2" in page
    assert "Hidden work" not in page
    assert "1 pull request<" in client.get("/", params={"q": "#7 word"}).text
    assert "40 pull requests" in client.get("/", params={"state": "merged"}).text
    assert "1 pull request<" in client.get("/", params={"verdict": "block"}).text
    assert "0 pull requests" in client.get("/", params={"q": "100%_"}).text
    last = client.get("/", params={"page": "999999"}).text
    assert last.count("<tr") == 31 and "Page 2 of 2" in last
    second = client.get("/", params={"q": "pack", "page": "2"}).text
    assert "q=pack" in second and "page=1" in second


def test_the_board_says_how_ci_of_the_very_head_stands_and_who_is_waited_for(site, client):
    for number, verdict in ((601, "failed"), (602, "running"), (603, "passed")):
        site.archive.keep_pull(pull(number, title=f"Waits {number}", verdict="discuss"))
        site.archive.keep_report(
            PageReport(
                "octo/engine", number, "ci", f"{number:040x}", NOW, {"zh": "", "en": ""}, verdict
            )
        )
    site.archive.keep_report(
        PageReport("octo/engine", 603, "ci", "e" * 40, NOW + 9, {"zh": "", "en": ""}, "failed")
    )
    waits = {
        name: client.get("/", params={"q": "Waits", "waiting": name}).text
        for name in ("author", "ci", "reviewer")
    }
    for number, name in ((601, "author"), (602, "ci"), (603, "reviewer")):
        assert [n for n, page in waits.items() if f"Waits {number}" in page] == [name]
    assert "Waits 603" in client.get("/", params={"q": "Waits", "ci": "passed"}).text
    site.archive.closed("octo/engine", 601, merged=True)
    assert "Waits 601" not in client.get("/", params={"q": "Waits"}).text
    merged = client.get("/", params={"q": "Waits", "state": "merged"}).text
    assert "Waits 601" in merged and ">the author</td>" not in merged
    # The board is the other tests' too: they count what is open and what was merged.
    for number in (601, 602, 603):
        site.archive.closed("octo/engine", number, merged=False)


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [("zh-CN,zh;q=0.9", "zh"), ("en-US", "en"), ("fr, zh;q=0.5", "zh"), ("de", "en")],
)
def test_the_browsers_language_is_spoken(client, asked, spoken):
    page = client.get("/", headers={"Accept-Language": asked})
    assert f'<html lang="{spoken}">' in page.text


def test_the_switch_is_remembered(client):
    assert '<html lang="zh">' in client.get("/", params={"lang": "zh", "q": "pack"}).text
    assert '<html lang="zh">' in client.get("/rules").text
    assert "lang=en" in client.get("/", params={"q": "pack"}).text


def test_a_pull_request_has_its_reports(client, site):
    page = client.get("/pr/octo/engine/1").text
    assert "The change, step by step" in page
    review = client.get("/pr/octo/engine/1", params={"tab": "review"}).text
    assert "protocol.stale-fixture" in review
    assert "There is no report yet." in client.get("/pr/octo/engine/2", params={"tab": "ci"}).text
    assert "There is no report yet." in client.get("/pr/octo/engine/2").text


def test_what_was_said_at_an_earlier_head_stays(site, client):
    bodies = {"zh": "<p>早</p>", "en": "<p>said before</p>"}
    site.archive.keep_report(
        PageReport("octo/engine", 9, "review", "e" * 40, NOW - 50, bodies, verdict="block")
    )
    site.archive.keep_report(
        PageReport("octo/engine", 9, "review", f"{9:040x}", NOW, {"zh": "晚", "en": "said now"})
    )
    assert "said now" in client.get("/pr/octo/engine/9?tab=review").text
    history = client.get("/pr/octo/engine/9?tab=history").text
    old = next(e for e in site.archive.entries("octo/engine", 9) if e.head == "e" * 40)
    assert f"report={old.id}" in history
    page = client.get(f"/pr/octo/engine/9?tab=review&report={old.id}").text
    assert "said before" in page and "an earlier commit" in page


def test_a_report_is_shown_under_its_own_pull_request_only(site, client):
    (entry, *_) = site.archive.entries("octo/secret", 500)
    page = client.get(f"/pr/octo/engine/1?tab=review&report={entry.id}").text
    assert "secret" not in page


def test_a_private_pull_request_looks_like_none(client):
    hidden = client.get("/pr/octo/secret/500")
    missing = client.get("/pr/octo/secret/501")
    assert hidden.status_code == missing.status_code == 404
    assert hidden.text.replace("500", "501") == missing.text


@pytest.mark.parametrize(
    "path",
    [
        "/pr/octo/engine/99999999999",
        "/rules/nothing.here",
        "/login",
        "/login/back?state=x&code=y",
        "/nowhere/else",
    ],
)
def test_what_is_not_there(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html") and 'href="/"' in answer.text


class GitHub(BaseHTTPRequestHandler):
    """Signs `ann` in, who may read octo/secret, and `bob`, who may not. `body` is an answer in
    place of all others. A code that has `-once` at its end is good once, as all of GitHub's are."""

    body = b""
    spent: ClassVar[set[str]] = set()

    def do_POST(self) -> None:
        said = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        code = said["code"][0]
        who = code.removesuffix("-once")
        good = said.get("client_secret") == ["s3cret"] and who in ("ann", "bob")
        good = good and code not in self.spent
        self.spent.update({code} - {who})
        self._answer(
            200,
            {"access_token": f"token-{who}"} if good else {"error": "bad_verification_code"},
        )

    def do_GET(self) -> None:
        who = self.headers.get("Authorization", "").removeprefix("Bearer token-")
        if self.path == "/user":
            self._answer(200, {"login": who})
        else:
            may = who == "ann" and self.path == "/repos/octo/secret"
            self._answer(200 if may else 404, {"id": 7})

    def _answer(self, status: int, data: object) -> None:
        body = self.body or json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def guarded(tmp_path):
    yield from _guarded(tmp_path)


def _guarded(folder):
    with ExitStack() as stack:
        yield _doors(stack, folder, 1)[0]


@pytest.fixture
def two_doors(tmp_path):
    with ExitStack() as stack:
        yield _doors(stack, tmp_path, 2)


def _doors(stack, folder, count):
    """The addresses of so many processes of one service, as far as they share nothing but the
    database."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack.callback(server.shutdown)
    address = f"http://127.0.0.1:{server.server_port}"
    oauth = OAuth("id", SecretStr("s3cret"), address, address)
    archive, _ = archive_at(folder / "p.sqlite")
    archive.keep_pull(pull(500, repository="octo/secret", title="Hidden work", private=True))
    serving = contextmanager(serve)
    made = [archive_at(folder / "p.sqlite")[0] for _ in range(count)]
    return [
        stack.enter_context(
            serving(one, Access(oauth, Sessions(one.engine), Repositories(one.engine)))
        )
        for one in made
    ]


def signed_in(
    url: str, code: str, back: str = "/pr/octo/secret/500"
) -> tuple[httpx.Client, httpx.Response]:
    client = httpx.Client(base_url=url)
    begun = client.get("/login", params={"back": back})
    state = parse_qs(urlsplit(begun.headers["location"]).query)["state"][0]
    return client, client.get("/login/back", params={"state": state, "code": code})


def test_who_may_read_the_repository_sees_its_page(guarded):
    client, back = signed_in(guarded, "ann")
    assert back.headers["location"] == "/pr/octo/secret/500"
    assert (
        "httponly" in back.headers["set-cookie"].lower()
        and "token" not in back.headers["set-cookie"]
    )
    assert "Hidden work" in client.get("/pr/octo/secret/500").text
    assert "Hidden work" in client.get("/").text
    client.post("/logout")
    assert client.get("/pr/octo/secret/500").status_code == 404


@pytest.mark.hostile("logins")
def test_who_took_the_name_of_another_repository_sees_none_of_its_pages(tmp_path):
    """It was renamed or deleted, and ann may read what has the name now."""
    for number, seen in ((7, 200), (8, 404)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with ExitStack() as stack:
            (door,) = _doors(stack, folder, 1)
            known = Repositories(engine_for(f"sqlite:///{folder}/p.sqlite"))
            known.note(KnownRepository(number, "octo/secret", 1))
            client, _ = signed_in(door, "ann")
            assert client.get("/pr/octo/secret/500").status_code == seen
            assert ("Hidden work" in client.get("/").text) == (seen == 200)


def test_who_may_not_sees_none(guarded):
    client, _ = signed_in(guarded, "bob")
    assert client.get("/pr/octo/secret/500").status_code == 404
    assert "Hidden work" not in client.get("/").text


def test_a_state_is_good_once_and_a_wrong_code_never(guarded):
    client, back = signed_in(guarded, "mallory")
    assert back.status_code == 404
    client, back = signed_in(guarded, "ann")
    assert client.get("/login/back", params={"state": "made up", "code": "ann"}).status_code == 404


@pytest.mark.hostile("logins")
@pytest.mark.parametrize("where", ["the same browser", "another"])
def test_a_sign_in_that_is_sent_once_more_lets_nobody_in(guarded, where):
    """With all that the browser sent. Who signed in stays so until they end it, and then all ends."""
    GitHub.spent.clear()
    with httpx.Client(base_url=guarded) as client:
        location = client.get("/login").headers["location"]
        kept = client.cookies["specbot_sign_in"]
        params = {"state": parse_qs(urlsplit(location).query)["state"][0], "code": "ann-once"}
        client.get("/login/back", params=params)
        session = client.cookies["specbot_session"]
        cookies = {"specbot_sign_in": kept}
        if where == "the same browser":
            cookies["specbot_session"] = session
        with httpx.Client(base_url=guarded, cookies=cookies) as again:
            answer = again.get("/login/back", params=params)
            assert answer.status_code == 404 and "set-cookie" not in answer.headers
        assert client.get("/pr/octo/secret/500").status_code == 200
        client.post("/logout")
    with httpx.Client(base_url=guarded, cookies={"specbot_session": session}) as later:
        assert later.get("/pr/octo/secret/500").status_code == 404


def test_a_sign_in_ends_in_the_browser_that_began_it(guarded):
    """Who lures another to the end of their own sign-in does not sign that other in as themselves;
    and who had a session has another one after."""
    begun = httpx.Client(base_url=guarded).get("/login")
    query = parse_qs(urlsplit(begun.headers["location"]).query)
    assert query["code_challenge_method"] == ["S256"] and len(query["code_challenge"][0]) == 43
    params = {"state": query["state"][0], "code": "ann"}
    lured = httpx.Client(base_url=guarded)
    assert lured.get("/login/back", params=params).status_code == 404
    assert "specbot_session" not in lured.cookies
    client, _ = signed_in(guarded, "ann")
    before = client.cookies["specbot_session"]
    again = client.get("/login")
    state = parse_qs(urlsplit(again.headers["location"]).query)["state"][0]
    client.get("/login/back", params={"state": state, "code": "ann"})
    assert client.cookies["specbot_session"] != before
    old = httpx.get(f"{guarded}/pr/octo/secret/500", cookies={"specbot_session": before})
    assert old.status_code == 404


STATES = ["", "made up", "{state}x", "{state} ", " {state}", "{upper}", "{state}\x00", "\udcff"]
CODES = ["", "mallory", "ann\x00", "ANN", "a" * 9000]
BROWSERS = [None, "", "made up", "{browser}x", "{other}", "a" * 3000]


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    """The same for many who knock."""
    yield from _guarded(tmp_path_factory.mktemp("door"))


@pytest.mark.hostile("logins")
@pytest.mark.parametrize(
    ("state", "code", "browser"),
    [
        *((state, "ann", "{browser}") for state in STATES),
        *(("{state}", code, "{browser}") for code in CODES),
        *(("{state}", "ann", browser) for browser in BROWSERS),
        *itertools.product(STATES[:4], CODES, BROWSERS[:3]),
    ],
)
def test_no_other_end_of_a_sign_in_lets_anybody_in(door, state, code, browser):
    with httpx.Client(base_url=door) as began, httpx.Client(base_url=door) as another:
        location = began.get("/login").headers["location"]
        another.get("/login")
        known = parse_qs(urlsplit(location).query)["state"][0]
        own, other = (one.cookies["specbot_sign_in"] for one in (began, another))
    said = {"state": known, "upper": known.upper(), "browser": own, "other": other}
    asked = {"state": state.format(**said), "code": code}
    cookies = {} if browser is None else {"specbot_sign_in": browser.format(**said)}
    with httpx.Client(base_url=door, cookies=cookies) as client:
        answer = client.get(f"/login/back?{urlencode(asked, errors='surrogateescape')}")
        assert answer.status_code in (404, 400)
        assert "specbot_session" not in client.cookies
        assert client.get("/pr/octo/secret/500").status_code == 404


@pytest.mark.hostile("logins")
@pytest.mark.parametrize(
    "name", ["", "made up", "None", "0", "../x", "a" * 3000, "%00", "a; specbot_session=b", "{}"]
)
def test_no_made_up_session_is_anybodys(door, name):
    headers = {"cookie": f"specbot_session={name}"}
    assert httpx.get(f"{door}/pr/octo/secret/500", headers=headers).status_code == 404
    assert "Hidden work" not in httpx.get(door, headers=headers).text


@pytest.mark.hostile("logins")
@pytest.mark.parametrize(
    "back",
    [
        "//evil.example",
        "///evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/\t/evil.example",
        "/\n/evil.example",
        "\t//evil.example",
        " //evil.example",
        "https://evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "evil.example",
        "@evil.example",
        ".evil.example",
        "/%0d%0aSet-Cookie: a=b",
        "/\r\nSet-Cookie: a=b",
        "",
        "?x",
        "#x",
    ],
)
def test_a_sign_in_leads_to_no_other_host(door, back):
    client, answer = signed_in(door, "ann", back)
    client.close()
    assert answer.status_code == 303
    # What browsers make of it: they leave out tabs and line ends, and take `\` for `/`.
    seen = re.sub(r"[\t\r\n]", "", answer.headers["location"]).replace("\\", "/")
    assert seen.startswith("/") and not seen.startswith("//")
    assert all("specbot" in cookie for cookie in answer.headers.get_list("set-cookie"))


def test_who_signed_in_at_one_process_is_known_to_the_others(two_doors):
    """Each request goes to another of them, as behind a balancer."""
    first, second = two_doors
    begun = httpx.get(f"{first}/login", params={"back": "/pr/octo/secret/500"})
    state = parse_qs(urlsplit(begun.headers["location"]).query)["state"][0]
    back = httpx.get(
        f"{second}/login/back", params={"state": state, "code": "ann"}, cookies=begun.cookies
    )
    assert back.headers["location"] == "/pr/octo/secret/500"
    private = [f"{door}/pr/octo/secret/500" for door in two_doors]
    seen = [httpx.get(page, cookies=back.cookies).text for page in private]
    assert all("Hidden work" in text and "ann" in text for text in seen)
    httpx.post(f"{first}/logout", cookies=back.cookies)
    assert [httpx.get(page, cookies=back.cookies).status_code for page in private] == [404, 404]


def test_while_github_is_away_or_is_not_github_nobody_is_let_in(guarded, monkeypatch):
    """And nothing breaks."""
    client, _ = signed_in(guarded, "ann")
    with monkeypatch.context() as broken:
        broken.setattr(GitHub, "do_GET", lambda self: self.connection.close())
        assert client.get("/pr/octo/secret/500").status_code == 404
        assert signed_in(guarded, "ann")[1].status_code == 404
    assert client.get("/pr/octo/secret/500").status_code == 200
    for body in (b"<html>", b"[]", b"7"):
        with monkeypatch.context() as broken:
            broken.setattr(GitHub, "body", body)
            assert signed_in(guarded, "ann")[1].status_code == 404


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "evil"])
def test_nobody_is_sent_elsewhere(guarded, back):
    _, answer = signed_in(guarded, "ann", back)
    assert answer.headers["location"] == "/"


def test_statistics_say_what_became_of_findings_how_fast_reports_were_and_what_gpus_cost(tmp_path):
    archive, engine = archive_at(tmp_path / "p.sqlite")
    outcomes = FindingOutcomes(engine)

    def finding(name: str, *, answered: bool = False) -> dict[str, object]:
        rule = "protocol.unmasked-pack"
        return {"fingerprint": name, "rule": rule, "severity": "bug", "answered": answered}

    outcomes.reviewed("octo/engine", 1, [finding("a"), finding("b"), finding("c"), finding("d")])
    outcomes.reviewed("octo/engine", 1, [finding("b", answered=True), finding("c"), finding("e")])
    outcomes.merged("octo/engine", 1)
    outcomes.reviewed("octo/other", 1, [finding("a")])
    for number, took in enumerate((2.0, 4.0, 30.0), 1):
        archive.keep_report(
            PageReport(
                "octo/engine",
                number,
                "review",
                "a" * 40,
                NOW,
                {"zh": "", "en": ""},
                "pass",
                took=took,
            )
        )
    order = {
        "request": "r",
        "repository_id": 1,
        "number": 1,
        "head": "h",
        "base": "b",
        "workflow": "w",
        "minutes": 7,
    }
    Records(engine).reserve(GpuRun(**order, at=NOW, run=None, order={}, command=0), 60, 60)
    for url in serve(archive, Access(None, Sessions(archive.engine), Repositories(archive.engine))):
        page = httpx.get(f"{url}/stats", headers={"Accept-Language": "en"}).text
    cells = [
        re.findall(r"<td>(?:<[^>]+>)*([^<]*)", row)
        for row in re.findall(r"<tr>(.*?)</tr>", page, re.S)
    ]
    assert ["protocol.unmasked-pack", "6", "2", "1", "2", "40 %"] in cells
    assert ["Review", "3", "4.0 s", "27.4 s"] in cells
    assert ["2026-09", "1", "7"] in cells


def test_what_comes_back_is_open_again(tmp_path):
    _, engine = archive_at(tmp_path / "p.sqlite")
    outcomes = FindingOutcomes(engine)
    one = {"fingerprint": "a", "rule": "sync.op", "severity": "question", "answered": False}
    for found in ([one], [], [one]):
        outcomes.reviewed("octo/engine", 1, found)
    (kept,) = outcomes.by_rule()
    assert (kept.found, kept.acted, kept.precision) == (1, 0, None)


def test_tables_are_made_once_when_several_start_at_once(tmp_path):
    engines = [engine_for(f"sqlite:///{tmp_path / 'p.sqlite'}") for _ in range(6)]
    engines[0].connect().close()
    together = threading.Barrier(len(engines))

    def start(engine):
        with engine.connect():
            together.wait(30)
        for kind in (PageStore, FindingOutcomes, History, Records):
            kind(engine)

    with ThreadPoolExecutor(len(engines)) as pool:
        list(pool.map(start, engines))


def test_a_rule_s_page_comes_in_the_reader_s_language(client, monkeypatch, tmp_path):
    page = client.get("/rules/protocol.unmasked-pack?lang=zh").text
    assert '<div lang="zh">' in page and "高位字段" in page
    assert "What it does" not in page and "尚无中文" not in page
    monkeypatch.setattr(bot.i18n.rule_pages, "TEMPLATES", tmp_path)
    page = client.get("/rules/protocol.unmasked-pack?lang=zh").text
    assert '<div lang="en">' in page and "What it does" in page
    assert page.index("本页尚无中文译文，以下为英文。") < page.index("What it does")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.ID)
def test_a_rule_s_page_has_its_four_parts_and_its_example_as_code(client, rule):
    page = client.get(f"/rules/{rule.ID}").text
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", page) == [
        "What it does",
        "Why it matters",
        "Example",
        "Known limits",
    ]
    assert "<pre" in page.split("Example</h2>")[1].split("<h2")[0]
    assert "```" not in page and "\n## " not in re.sub(r"<pre.*?</pre>", "", page, flags=re.S)


def test_a_page_leads_to_the_pull_request_and_says_when_it_was_made(client, site):
    page = client.get("/pr/octo/engine/1").text
    assert '<a href="https://github.example/octo/engine/pull/1">octo/engine#1</a>' in page
    assert '<time datetime="2026-09-21T14:13:20Z"' in page
