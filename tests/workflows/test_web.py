"""The door: nobody gets in without the secret, nothing is lost or done twice, and the process stays
up."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
import time_machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.testclient import TestClient

from bot.cli.serve import open_listener, web_server
from bot.db.deliveries import PullKey, Store
from bot.jobs.ci import CommitCIJob
from bot.jobs.requests import Delivery
from bot.webhooks.app import application
from bot.webhooks.handlers import HANDLERS
from tests.fake_github import FakeGitHub, people, webhooks
from tests.workflows.databases import missing, postgres

SECRETS = (SecretStr("old"), SecretStr("new"))
LARGEST = 100_000


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database with its tables; making them takes a second."""
    path = tmp_path_factory.mktemp("database") / "specbot.sqlite"
    Store(f"sqlite:///{path}").close()
    with sa.create_engine(f"sqlite:///{path}").connect() as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    return path.read_bytes()


@pytest.fixture
def store(empty: bytes, tmp_path: Path):
    path = tmp_path / "specbot.sqlite"
    path.write_bytes(empty)
    made = Store(f"sqlite:///{path}")
    yield made
    made.close()


def served(store: Store, data_dir: Path = Path()) -> Starlette:
    return application(store, SECRETS, LARGEST, data_dir)


@pytest.fixture
def web(store: Store) -> TestClient:
    return TestClient(served(store), raise_server_exceptions=True)


@pytest.fixture
def opened(tmp_path: Path) -> bytes:
    """The payload of a pull request that was opened."""
    fake = FakeGitHub(tmp_path / "github")
    repo = fake.repository("octo/engine")
    repo.git.commit("main", {"a": "1"})
    repo.git.commit("feature", {"a": "2"}, parent="main")
    pull = people.open_pull(fake, repo, "feature", send=False)
    return people.say(fake, repo, pull, "opened", send=False).payload


def send(
    web: TestClient,
    payload: bytes,
    *,
    event: str = "pull_request",
    guid: str = "",
    secret: str = "new",
    **more: object,
):
    fields = webhooks.headers(event, guid or str(uuid.uuid4()), payload, secret) | more
    return web.post("/webhook", content=payload, headers=fields)


def orders(store: Store) -> list[str]:
    return [w.workflow_id for w in store.client.list_workflows()]


def changed(payload: bytes, **changes: object) -> bytes:
    return json.dumps(json.loads(payload) | changes).encode()


def test_a_delivery_is_stored_and_enqueued(web, store, opened):
    answer = send(web, opened, guid="one")
    assert (answer.status_code, answer.json()) == (202, {"outcome": "accepted"})
    (workflow,) = store.client.list_workflows()
    assert (workflow.workflow_id, workflow.status, workflow.queue_name) == (
        "review-one",
        "ENQUEUED",
        "reviews",
    )
    assert workflow.input["args"][0]["repository"] == "octo/engine"
    assert store.received("one")


def test_the_same_delivery_again_is_nothing(web, store, opened):
    send(web, opened, guid="one")
    assert send(web, opened, guid="one").json() == {"outcome": "duplicate"}
    assert orders(store) == ["review-one"]


def test_both_secrets_open_while_they_are_rotated(web, opened):
    assert send(web, opened, secret="old").status_code == 202
    assert send(web, opened, secret="new").status_code == 202


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("x-hub-signature-256", ""),
        ("x-hub-signature-256", "sha256=" + "0" * 64),
        ("x-hub-signature-256", "sha1=" + "0" * 40),
        ("x-hub-signature-256", b"sha256=\xe9"),
    ],
)
def test_who_does_not_know_the_secret_stays_out(web, store, opened, header, value):
    assert send(web, opened, guid="one", **{header: value}).status_code == 401
    assert orders(store) == [] and not store.received("one")


def test_a_signature_is_of_these_bytes(web, store, opened):
    fields = webhooks.headers("pull_request", "one", opened, "new")
    assert web.post("/webhook", content=opened + b" ", headers=fields).status_code == 401
    assert send(web, opened, secret="guess").status_code == 401
    assert orders(store) == []


def test_what_is_too_large_is_not_read_to_its_end(web, store):
    read = []

    def body():
        for _ in range(1000):
            read.append(1)
            yield b"x" * 10_000

    fields = webhooks.headers("push", "one", b"", "new")
    assert web.post("/webhook", content=body(), headers=fields).status_code == 413
    assert send(web, b'"' + b"x" * LARGEST + b'"').status_code == 413
    assert orders(store) == []


@pytest.mark.hostile("webhooks")
@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 90_000, b'{"a":' * 15_000),
        *(b'{"a": NaN}', b'{"a": [Infinity]}', b'{"a": -Infinity}'),
    ],
)
def test_what_is_signed_and_no_payload(web, store, body):
    assert send(web, body).status_code == 400
    assert orders(store) == []


@pytest.mark.parametrize(
    "headers", [{"x-github-delivery": ""}, {"x-github-event": ""}, {"x-github-delivery": "x" * 65}]
)
def test_a_delivery_has_a_name(web, opened, headers):
    assert send(web, opened, **headers).status_code == 400


def test_unknown_events_and_actions_are_taken_and_ignored(web, store, opened):
    assert send(web, b'{"zen": "Keep it logically awesome."}', event="ping").json() == {
        "outcome": "ignored"
    }
    assert send(web, changed(opened, action="labeled")).json() == {"outcome": "ignored"}
    assert send(web, changed(opened, action="edited", changes={})).json() == {"outcome": "ignored"}
    draft = json.loads(opened)["pull_request"] | {"draft": True}
    assert send(web, changed(opened, pull_request=draft)).json() == {"outcome": "ignored"}
    assert orders(store) == []


@pytest.mark.parametrize("key", ["action", "pull_request", "repository", "installation"])
def test_a_payload_that_lacks_something_is_no_crash(web, store, opened, key):
    payload = json.loads(opened)
    del payload[key]
    assert send(web, json.dumps(payload).encode()).status_code == 202
    assert send(web, changed(opened, **{key: 7})).status_code == 202
    assert orders(store) == []


@given(body=st.binary(max_size=200), signature=st.text(max_size=80), event=st.text(max_size=20))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_bytes_from_outside_get_in(web, body, signature, event):
    fields = {
        "x-hub-signature-256": signature.encode(),
        "x-github-event": event.encode(),
        "x-github-delivery": b"d",
    }
    try:
        request = web.build_request("POST", "/webhook", content=body, headers=fields)
    except (ValueError, httpx.InvalidURL):
        return
    assert web.send(request).status_code in (400, 401)


def test_a_later_order_supersedes_an_earlier(web, store, opened):
    send(web, opened, guid="one")
    send(web, changed(opened, action="synchronize"), guid="two")
    key = PullKey(json.loads(opened)["repository"]["id"], 1)
    assert [store.is_latest(key, f"review-{guid}") for guid in ("one", "two")] == [False, True]
    send(web, opened, guid="one")
    assert store.is_latest(key, "review-two")


def test_both_or_neither_is_stored(web, store, opened, monkeypatch):
    def broken(*_: object) -> None:
        raise sa.exc.OperationalError("enqueue", {}, Exception("disk full"))

    monkeypatch.setattr(store.client, "enqueue_in_transaction", broken)
    assert send(web, opened, guid="one").status_code == 503
    assert not store.received("one")
    monkeypatch.undo()
    assert send(web, opened, guid="one").json() == {"outcome": "accepted"}


def test_health(web, store):
    assert web.get("/healthz").status_code == 200
    assert web.get("/readyz").status_code == 200
    send(web, b"{}", event="ping", secret="guess")
    assert 'specbot_deliveries_total{outcome="refused"}' in generate_latest().decode()
    # Numbers are the operators' alone, at a port of their own.
    assert web.get("/metrics").status_code == 404
    assert web.get("/webhook").status_code == 405


def test_not_ready_without_a_database(web, store, monkeypatch):
    monkeypatch.setattr(store, "engine", sa.create_engine("sqlite:////nowhere/at/all.sqlite"))
    assert web.get("/readyz").status_code == 503


def test_not_ready_on_a_full_disk_of_its_own(tmp_path, monkeypatch):
    """Whoever keeps clones and reports needs room, wherever the database is."""
    if why := missing():
        pytest.skip(why)
    with postgres() as url:
        made = Store(url)
        web = TestClient(served(made, tmp_path))
        assert web.get("/readyz").status_code == 200
        monkeypatch.setattr("bot.files._LEAST_FREE", 1 << 60)
        assert web.get("/readyz").status_code == 503
        made.close()


def test_of_two_who_find_a_dead_worker_one_takes_over(store):
    store.heartbeat("gone")
    assert store.claim_stale_workers(60, "one") == []
    assert store.claim_stale_workers(-1, "one") == ["gone"]
    assert store.claim_stale_workers(60, "two") == []
    store.remove_worker("gone")
    assert store.claim_stale_workers(-1, "one") == []


def test_a_worker_whose_clock_jumps_takes_nothing_over_from_itself(store):
    with time_machine.travel(time.time(), tick=True):
        store.heartbeat("one")
    with time_machine.travel(time.time() + 3600, tick=True):
        assert store.claim_stale_workers(60, "one") == []
        assert store.claim_stale_workers(60, "two") == ["one"]


def test_a_burst_is_stored_together_and_one_that_fails_fails_alone(store, opened, monkeypatch):
    """Two hundred deliveries at once, some twice, one of which the database does not take."""
    enqueue = store.client.enqueue_in_transaction

    def sometimes(connection, options, *args):
        if options["workflow_id"] == "review-bad":
            raise sa.exc.OperationalError("enqueue", {}, Exception("no"))
        return enqueue(connection, options, *args)

    monkeypatch.setattr(store.client, "enqueue_in_transaction", sometimes)
    commits = []
    sa.event.listen(store.engine, "commit", commits.append)

    async def burst() -> list[int]:
        transport = httpx.ASGITransport(served(store), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://bot") as web:
            guids = [f"d{n % 150}" for n in range(200)]
            guids[70] = "bad"
            sent = [
                web.post(
                    "/webhook",
                    content=opened,
                    headers=webhooks.headers("pull_request", guid, opened, "new"),
                )
                for guid in guids
            ]
            return [answer.status_code for answer in await asyncio.gather(*sent)]

    with ThreadPoolExecutor(
        1
    ) as apart:  # where no loop runs: a browser's tests leave theirs in this thread
        statuses = apart.submit(asyncio.run, burst()).result()
    assert [n for n, status in enumerate(statuses) if status != 202] == [70]
    assert len(orders(store)) == 149
    assert not store.received("bad")
    monkeypatch.undo()
    before = len(commits)
    assert all(store.receive([Delivery(f"e{n}", "push", None) for n in range(100)]))
    assert len(commits) == before + 1


def test_what_came_in_the_second_of_the_first_start_is_not_older_than_it(store):
    """GitHub's times are whole seconds."""
    with store.engine.begin() as connection:
        connection.execute(sa.text("UPDATE specbot_since SET at = 1000000.9"))
    assert store.since == 1_000_000


def test_a_commits_hundred_events_are_one_order(store, monkeypatch):
    """The first of them adds it, in whichever burst the others come; each is stored for itself."""
    enqueue, added = store.client.enqueue_in_transaction, []

    def counted(connection, options, *args):
        added.append(options["workflow_id"])
        return enqueue(connection, options, *args)

    monkeypatch.setattr(store.client, "enqueue_in_transaction", counted)
    monkeypatch.setattr(time, "time", lambda: 1_000_000.0)
    order = CommitCIJob(1, 2, "octo/engine", "a" * 40).request()
    for burst in range(3):
        assert all(
            store.receive([Delivery(f"{burst}-{n}", "workflow_job", order) for n in range(40)])
        )
    assert len(added) == 1 and added == orders(store)
    monkeypatch.setattr(time, "time", lambda: 1_000_060.0)
    assert store.receive([Delivery("later", "workflow_job", order)]) == [True]
    assert len(orders(store)) == 2


@pytest.mark.parametrize(
    ("action", "more", "reviewed"),
    [
        ("opened", {}, True),
        ("synchronize", {}, True),
        ("reopened", {}, True),
        ("ready_for_review", {}, True),
        ("edited", {"changes": {"title": {"from": "a"}}}, True),
        ("edited", {"changes": {"body": {"from": "a"}}}, True),
        ("edited", {"changes": {}}, False),
        ("edited", {}, False),
        ("labeled", {"changes": {"title": {"from": "a"}}}, False),
        ("converted_to_draft", {}, False),
    ],
)
@pytest.mark.parametrize("draft", [False, True])
def test_what_is_new_to_review(action, more, reviewed, draft):
    pull = {"number": 3, "draft": draft, "state": "open", "merged_at": None}
    payload = {"action": action, "pull_request": pull, "installation": {"id": 1}} | more
    order = HANDLERS["pull_request"](
        "d", payload | {"repository": {"id": 2, "full_name": "octo/engine"}}
    )
    assert (order is not None and order.workflow == "review") == (reviewed and not draft)


@pytest.mark.parametrize(
    "bad",
    [{"number": 2**64}, {"number": 10**400}, {"login": "half \ud800"}, {"login": "zero \x00"}],
)
def test_a_bad_delivery_fails_alone(store, opened, bad):
    """It is signed, and no database can hold what it says: those that come with it are stored."""
    payload = json.loads(opened)
    if "number" in bad:
        payload["pull_request"]["number"] = bad["number"]
    else:
        payload["repository"]["full_name"] = bad["login"]
    body = json.dumps(payload).encode()

    async def sent() -> list[int]:
        transport = httpx.ASGITransport(served(store))
        async with httpx.AsyncClient(transport=transport, base_url="http://bot.example") as client:
            answers = []
            for data in (opened, body, opened, opened, body, opened):
                fields = webhooks.headers("pull_request", str(uuid.uuid4()), data, "new")
                answers.append(client.post("/webhook", content=data, headers=fields))
            return [answer.status_code for answer in await asyncio.gather(*answers)]

    assert asyncio.run(sent()) == [202] * 6
    assert len(store.client.list_workflows()) == 4


def test_a_slow_upload_is_not_waited_for(store, monkeypatch):
    """And what is left of it is not read."""
    monkeypatch.setattr("bot.webhooks.app._LONGEST_UPLOAD", 0.1)

    async def drops():
        while True:
            yield b"x"
            await asyncio.sleep(0.02)

    async def sent() -> httpx.Response:
        transport = httpx.ASGITransport(served(store))
        async with httpx.AsyncClient(transport=transport, base_url="http://bot.example") as client:
            fields = webhooks.headers("push", "one", b"", "new")
            return await client.post("/webhook", content=drops(), headers=fields)

    answer = asyncio.run(sent())
    assert (answer.status_code, answer.headers["connection"]) == (408, "close")


def test_a_slow_head_is_not_waited_for(store, monkeypatch):
    """Each byte of it comes in time; and a whole one still is answered."""
    monkeypatch.setattr("bot.webhooks.prompt_protocol._LONGEST_HEAD", 0.5)
    listener = open_listener("127.0.0.1", 0)
    server = web_server(served(store))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), timeout=10) as slow:
            begun = time.monotonic()
            with pytest.raises(OSError, match=r"pipe|reset"):
                while time.monotonic() < begun + 10:
                    slow.sendall(b"G")
                    time.sleep(0.1)
        with httpx.Client(trust_env=False, base_url=f"http://127.0.0.1:{port}") as http:
            for _ in range(2):
                assert http.get("/healthz").status_code == 200
                time.sleep(0.7)
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/nowhere"), ("GET", "/readyz"), ("PUT", "/")]
)
def test_whatever_is_answered_has_the_headers(live, running, method, path):
    with httpx.Client(trust_env=False, base_url=running.url) as http:
        answer = http.request(method, path)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
