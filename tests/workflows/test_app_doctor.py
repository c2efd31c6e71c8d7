"""`specbot app doctor`: each thing that can be missing is missed, by name, and what is fine is
fine."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bot.cli.main import main
from tests.fake_github import Answer, people
from tests.workflows.conftest import ended, free_port, until


class Service(BaseHTTPRequestHandler):
    """What the webhook's address answers: `/healthz` as the service does, and webhooks with
    `status`."""

    status = 202

    def do_GET(self) -> None:
        self.answer(200 if self.path == "/healthz" else 404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.answer(self.status)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service(fake) -> Iterator[type[Service]]:
    kind = type("OneService", (Service,), {})
    server = HTTPServer(("127.0.0.1", 0), kind)
    Thread(target=server.serve_forever, daemon=True).start()
    fake.webhook_url = f"http://127.0.0.1:{server.server_port}/webhook"
    yield kind
    server.shutdown()
    server.server_close()


@pytest.fixture
def doctor(fake, repo, service, tmp_path, monkeypatch, capsys) -> Callable[..., tuple[int, str]]:
    """Run it over settings in a file; `more` lines go in, and a name in `less` is left out."""
    monkeypatch.setenv("GITHUB_API_URL", fake.url)
    monkeypatch.setenv("GITHUB_SERVER_URL", fake.url)
    monkeypatch.setenv("SPECBOT_CONFIG_FILE", "")

    def run(lang: str = "en", mode: int = 0o600, **settings: str) -> tuple[int, str]:
        known = {
            "app_id": str(fake.app_id),
            "private_key": f'"""{fake.private_key}"""',
            "webhook_secrets": '["0123456789abcdef"]',
            "client_id": '"Iv23abc"',
            "client_secret": '"s"',
            "data_dir": f'"{tmp_path / "data"}"',
        }
        file = tmp_path / "specbot.toml"
        file.write_text("".join(f"{k} = {v}\n" for k, v in (known | settings).items() if v))
        file.chmod(mode)
        code = main(["app", "doctor", "--config", str(file), f"--lang={lang}"])
        out, err = capsys.readouterr()
        assert fake.private_key.splitlines()[1] not in out + err
        return code, out + err

    return run


def missed(text: str) -> list[str]:
    return [line[2:] for line in text.splitlines() if line.startswith("✗")]


@pytest.mark.parametrize(("lang", "verdict"), [("en", "Nothing is missing"), ("zh", "什么也不缺")])
def test_nothing_is_missing(fake, repo, doctor, lang, verdict):
    people.open_pull(fake, repo, "feature")
    code, said = doctor(lang)
    assert (code, missed(said)) == (0, [])
    assert said.endswith(f"\n\n{verdict}\n") and said.count("✓") == 10


def test_what_the_app_was_not_given(fake, doctor):
    del fake.app_permissions["checks"], fake.installations[0].permissions["actions"]
    fake.app_permissions["issues"] = "read"
    fake.app_events.remove("issue_comment")
    fake.installations[0].suspended = False
    code, said = doctor()
    assert code == 1
    assert missed(said) == [
        "The App lacks the permissions `checks: write`, `issues: write`: add them in its settings",
        "The App does not listen to the events `issue_comment`: add them in its settings",
        "`octo` has not agreed to the permissions `actions: write` yet",
    ]


def test_an_app_that_is_installed_nowhere(fake, doctor):
    fake.installations.clear()
    assert missed(doctor()[1]) == ["The App is installed nowhere yet"]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (500, "Of the last 1 webhook 1 did not arrive, with status `500` (0: no connection)"),
        (
            401,
            "refused for their signature: the App's webhook secret is not the one of the settings",
        ),
    ],
)
def test_webhooks_that_failed(fake, repo, service, doctor, status, said):
    service.status = status
    people.open_pull(fake, repo, "feature")
    code, text = doctor()
    assert code == 1 and len(missed(text)) == 1 and said in missed(text)[0]
    old = (datetime.now(UTC) - timedelta(days=4)).strftime("%Y-%m-%dT%H:%M:%SZ")
    fake.deliveries[0].delivered_at = old
    assert doctor()[0] == 0


def test_a_webhook_that_nobody_answers(fake, doctor):
    fake.webhook_url = f"http://127.0.0.1:{free_port()}/webhook"
    assert re.search(
        "Nothing answers at the webhook's address .*ConnectError", missed(doctor()[1])[0]
    )
    fake.webhook_url = fake.webhook_url.replace("/webhook", "/hook")
    assert "should end in /webhook" in missed(doctor()[1])[0]


def test_a_webhook_with_wrong_settings(fake, doctor):
    fake.webhook_config = {"content_type": "form", "insecure_ssl": "1"}
    said = missed(doctor()[1])
    assert [re.search("json|no secret|TLS", line)[0] for line in said] == [
        "json",
        "no secret",
        "TLS",
    ]


@pytest.mark.parametrize("offset", [-90, 90])
def test_a_clock_that_is_wrong(fake, doctor, offset):
    told = format_datetime(datetime.now(UTC) + timedelta(seconds=offset), usegmt=True)
    fake.fault("GET", "/rate_limit$", Answer(200, {}, {"date": told}))
    (said,) = missed(doctor()[1])
    assert re.match(
        rf"Clock is (8[5-9]|9[0-5]) s {'behind' if offset > 0 else 'ahead of'} GitHub's", said
    )


def test_secrets_that_are_weak_open_or_not_the_apps(fake, doctor):
    code, said = doctor(
        mode=0o644, webhook_secrets='["0123456789abcdef", "short"]', app_id="7", client_secret=""
    )
    assert code == 1
    open_, weak, refused = missed(said)
    assert "others can read it" in open_ and "fewer than 16 characters" in weak
    assert refused.startswith("GitHub does not take the private key for App 7: 401")
    assert "– No OAuth client is set" in said


def test_databases(fake, doctor, tmp_path):
    (tmp_path / "file").write_text("")
    assert (
        "the folder is not writable"
        in missed(doctor(data_dir=f'"{tmp_path / "file" / "data"}"')[1])[0]
    )
    assert not (tmp_path / "data").exists()
    url = f'"postgresql://specbot:pa55word@127.0.0.1:{free_port()}/specbot"'
    code, said = doctor(database_url=url)
    assert code == 1 and "Database does not answer: " in missed(said)[0] and "pa55word" not in said
    Path(tmp_path / "data").mkdir()
    (tmp_path / "data" / "specbot.sqlite").write_text("no database" * 100)
    assert "Database does not answer" in missed(doctor()[1])[0]


def test_github_that_does_not_answer_ends_its_part(fake, doctor, monkeypatch):
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{free_port()}")
    code, said = doctor()
    assert (
        code == 1 and len(missed(said)) == 1 and "does not answer: ConnectError" in missed(said)[0]
    )


def test_settings_that_cannot_be_used_are_the_persons_mistake(doctor):
    code, said = doctor(webhook_secrets="[]")
    assert code == 2 and said.count("\n") == 1 and "webhook secret" in said


def live(fake, bot) -> tuple[int, list[str]]:
    """`doctor --live` beside the service itself, with its settings; only the lines of its life."""
    process = bot.run("app", "doctor", "--live", "--lang", "en", stdout=True)
    said, _ = process.communicate(timeout=120)
    return process.returncode, said.decode().split("No OAuth client", 1)[1].splitlines()[1:]


def test_a_service_that_lives(fake, bot, repo):
    bot.start()
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: ended(repo, pull.head_sha))
    _, said = live(fake, bot)
    assert [line[:2] for line in said[:4]] == ["✓ "] * 4
    assert "sent again was answered within" in said[3]
    assert [d.redelivery for d in fake.deliveries] == [False, True]
    assert len(pull.live_reviews()) == 1


def test_a_service_without_a_worker(fake, bot, repo):
    bot.start("--role", "web")
    code, said = live(fake, bot)
    assert code == 1 and "✗ No worker is alive: start `specbot worker`" in said
    assert "– There was no webhook in the last three days" in said
