"""`specbot app create`, as a person goes through it: the page, GitHub's form, the way back, the
file."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from bot.settings import load
from tests.fake_github import FakeGitHub
from tests.workflows.conftest import ROOT


class Creation:
    """A running `specbot app create`, and a browser."""

    def __init__(self, fake: FakeGitHub, directory: Path, *args: str) -> None:
        env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        env |= {"PYTHONPATH": str(ROOT), "GITHUB_API_URL": fake.url, "GITHUB_SERVER_URL": fake.url}
        command = [
            sys.executable,
            "-m",
            "bot",
            "app",
            "create",
            "--url",
            "https://bot.example",
            *args,
        ]
        pipe = subprocess.PIPE

        # What a shell starts in the background ignores Ctrl-C, and so would what is started from
        # there.
        def heeds():
            return signal.signal(signal.SIGINT, signal.SIG_DFL)

        options = {"env": env, "cwd": directory, "preexec_fn": heeds}
        self.process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, **options)
        assert self.process.stderr is not None
        self.said = self.process.stderr.readline()
        self.address = re.search(r"http://127\.0\.0\.1:\d+/begin/\S+", self.said)[0]
        self.browser = httpx.Client(trust_env=False, verify=False, timeout=60)
        self.page = self.browser.get(self.address)
        self.form = urlsplit(html.unescape(re.search(r'action="([^"]+)"', self.page.text)[1]))
        self.manifest = json.loads(
            html.unescape(re.search(r'name="manifest" value="([^"]+)"', self.page.text)[1])
        )
        self.state = parse_qs(self.form.query)["state"][0]

    def back(self, **query: str) -> httpx.Response:
        """GitHub's redirection after the App is made."""
        return self.browser.get(self.manifest["redirect_url"], params=query)

    def end(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def create(fake, tmp_path) -> Iterator:
    made: list[Creation] = []

    def start(*args: str) -> Creation:
        made.append(Creation(fake, tmp_path, *args))
        return made[-1]

    yield start
    for one in made:
        one.process.kill()
        one.process.communicate()
        one.browser.close()


def test_from_the_page_to_a_file_that_the_service_reads(fake, create, tmp_path, monkeypatch):
    fake.manifest_codes.add("c0de")
    run = create("--org", "octo", "--lang", "en")
    assert (
        f"{run.form.scheme}://{run.form.netloc}{run.form.path}"
        == f"{fake.url}/organizations/octo/settings/apps/new"
    )
    assert run.manifest["hook_attributes"] == {"url": "https://bot.example/webhook", "active": True}
    assert run.manifest["public"] is False
    wanted = {
        "actions": "write",
        "checks": "write",
        "contents": "read",
        "issues": "write",
        "metadata": "read",
    }
    assert run.manifest["default_permissions"] == wanted | {
        "pull_requests": "write",
        "statuses": "read",
    }
    assert {"issue_comment", "pull_request", "workflow_run"} <= set(run.manifest["default_events"])
    assert f"form-action {fake.url};" in run.page.headers["content-security-policy"]

    assert run.back(code="c0de", state="stolen").status_code == 400
    assert run.back(code="../../app", state=run.state).status_code == 400
    wrong = run.back(code="another", state=run.state)
    assert (
        wrong.status_code == 502
        and "did not hand over the credentials of the new App: 404" in wrong.text
    )
    assert run.browser.get(run.manifest["redirect_url"].replace("/created", "/")).status_code == 404
    assert fake.manifest_codes == {"c0de"}

    done = run.back(code="c0de", state=run.state)
    assert done.status_code == 200 and f"{fake.url}/apps/specbot/installations/new" in done.text
    code, out, err = run.end()
    assert code == 0 and f"{fake.url}/apps/specbot/installations/new" in out
    for secret in (
        fake.webhook_secret,
        "c11ent-s3cret",
        fake.private_key.splitlines()[1],
        "c0de",
        run.state,
    ):
        assert all(secret not in text for text in (run.said, out, err, done.text))

    file = tmp_path / "specbot.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    monkeypatch.setenv("SPECBOT_CONFIG_FILE", str(file))
    settings = load(None)
    assert (settings.app_id, settings.client_id) == (fake.app_id, "Iv23abc")
    assert settings.private_key.get_secret_value() == fake.private_key
    assert [s.get_secret_value() for s in settings.webhook_secrets] == [fake.webhook_secret]
    assert (settings.github_api_url, settings.github_server_url) == (fake.url, fake.url)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_gives_up_leaves_nothing_behind(create, tmp_path, number):
    run = create("-o", "mine.toml")
    assert run.form.path == "/settings/apps/new"
    assert (tmp_path / "mine.toml").exists()
    run.process.send_signal(number)
    assert run.end()[0] == 130
    assert not (tmp_path / "mine.toml").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--url", "http://bot.example"], "begins with https://"),
        (["--url", "https://user:pass@bot.example"], "begins with https://"),
        (["--url", "https://[bot"], "begins with https://"),
        (["--url", "https://bot.example", "--org", "../octo"], "no name of an organization"),
        (["--url", "https://bot.example", "-o", "there.toml"], "`there.toml` exists"),
        (["--url", "https://bot.example", "-o", "no/where.toml"], "no/where.toml"),
        (["--url", "https://bot.example", "--port", "70000"], "70000"),
    ],
)
def test_a_mistake_is_one_sentence_and_no_file(specbot, tmp_path, monkeypatch, args, said):
    monkeypatch.chdir(tmp_path)
    Path("there.toml").write_text("kept")
    code, _, err = specbot("app", "create", *args)
    assert code == 2 and said in err and len(err.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["there.toml"] and Path(
        "there.toml"
    ).read_text() == "kept"


@pytest.fixture
def specbot(capsys):
    from bot.cli.main import main

    def run(*args: str) -> tuple[int, str, str]:
        code = main([*args, "--lang=en"])
        return code, *capsys.readouterr()

    return run
