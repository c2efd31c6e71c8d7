"""A fake GitHub, and real `specbot` processes that serve it."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.example.build import Example, build
from tests.fake_github import FakeGitHub, serving
from tests.fake_github.state import Repository

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    """One that nobody has now, and that the system gives to nobody who asks for any: those are
    higher."""
    while True:
        port = random.randrange(10_240, 32_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def until(what: Callable[[], object], seconds: float = 180.0) -> None:
    """Wait for something that another process brings about."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


class Bot:
    """`specbot` processes of one installation: one database, one directory."""

    def __init__(self, fake: FakeGitHub, directory: Path) -> None:
        self.fake = fake
        self.directory = directory
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.log = directory / "log.jsonl"
        fake.webhook_url = f"{self.url}/webhook"
        key = directory / "key.pem"
        key.write_text(fake.private_key)
        self.settings = {
            "GITHUB_API_URL": fake.url,
            "GITHUB_SERVER_URL": fake.url,
            "SPECBOT_APP_ID": str(fake.app_id),
            "SPECBOT_PRIVATE_KEY_FILE": str(key),
            "SPECBOT_WEBHOOK_SECRETS": f"old-secret,{fake.webhook_secret}",
            "SPECBOT_DATA_DIR": str(directory / "data"),
            "SPECBOT_PORT": str(self.port),
            "SPECBOT_WRITE_GAP": "0",
            "SPECBOT_WRITES_PER_HOUR": "100000",  # one service for all of these tests
            "SPECBOT_HEARTBEAT_EVERY": "0.5",
            # What makes good for lost webhooks would find the pull requests that tests opened
            # without telling.
            "SPECBOT_RECONCILE_EVERY": "100000",
            "SPECBOT_REDELIVER_EVERY": "100000",
        }

    @property
    def database(self) -> str:
        return self.settings.get(
            "SPECBOT_DATABASE_URL", f"sqlite:///{self.directory}/data/specbot.sqlite"
        )

    def run(self, *args: str, stdout: bool = False, **settings: str) -> subprocess.Popen[bytes]:
        """Start `specbot ARGS`; what it prints goes to the log unless `stdout` is wanted."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        env = kept | {"PYTHONPATH": str(ROOT)} | self.settings | settings
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "bot", *args],
                env=env,
                stdout=subprocess.PIPE if stdout else log,
                stderr=log,
                cwd=self.directory,
            )
        self.processes.append(process)
        return process

    def start(self, *args: str, **settings: str) -> subprocess.Popen[bytes]:
        """Start `specbot serve` and wait until it answers."""
        process = self.run("serve", *args, **settings)
        until(lambda: process.poll() is not None or self.ready())
        assert process.poll() is None, self.log.read_text()
        return process

    def ready(self) -> bool:
        try:
            return (
                httpx.get(
                    f"{self.url}/readyz", trust_env=False, verify=False, timeout=5
                ).status_code
                == 200
            )
        except httpx.HTTPError:
            return False

    def clone(self, repo: Repository) -> Path:
        """Where the bot keeps its clone."""
        name = hashlib.sha256(repo.full_name.encode()).hexdigest()[:32]
        return self.directory / "data" / "clones" / name

    def alive(self) -> bool:
        return bool(self.processes) and all(process.poll() is None for process in self.processes)

    def send(self, sent: signal.Signals) -> None:
        """Send each process a signal."""
        for process in self.processes:
            process.send_signal(sent)

    def kill(self) -> None:
        """kill -9 of everything."""
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes.clear()


@contextmanager
def watched(fake: FakeGitHub) -> Iterator[FakeGitHub]:
    """What GitHub's description does not know fails the test, whatever else went well."""
    yield fake
    violations, fake.violations = fake.violations, []
    assert violations == []


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeGitHub]:
    """A GitHub of the test's own."""
    with serving(FakeGitHub(tmp_path / "github")) as made, watched(made):
        yield made


@pytest.fixture
def bot(fake: FakeGitHub, tmp_path: Path) -> Iterator[Bot]:
    """A bot that the test starts and kills."""
    (tmp_path / "bot").mkdir()
    made = Bot(fake, tmp_path / "bot")
    yield made
    made.kill()


@contextmanager
def started(directory: Path, **settings: str) -> Iterator[Bot]:
    """A bot that runs, and a GitHub of its own, for several tests."""
    (directory / "bot").mkdir()
    with serving(FakeGitHub(directory / "github")) as fake:
        made = Bot(fake, directory / "bot")
        made.start(**settings)
        # Its first look for what no webhook brought would find the pull requests of the first test.
        until(lambda: fake.asked("apps/list-installations"))
        yield made
        made.kill()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bot]:
    """A bot that runs for all tests, each with its own repository."""
    with started(tmp_path_factory.mktemp("running")) as made:
        yield made


@pytest.fixture
def live(running: Bot) -> Iterator[FakeGitHub]:
    """The GitHub of the bot that runs.

    The bot stands still between the tests that need it: each of pytest's workers has one, and each
    looks for work several times a second.
    """
    running.send(signal.SIGCONT)
    with watched(running.fake) as fake:
        yield fake
    running.send(signal.SIGSTOP)


SMALL_BASE = "import torch\n\n\ndef step(x):\n    return x\n"
SMALL_HEAD = SMALL_BASE + "\n\ndef other(x):\n    return x + 1\n"


def small(fake: FakeGitHub, owner: str = "octo") -> Repository:
    """A small repository with a branch `feature`."""
    made = fake.repository(f"{owner}/engine{len(fake.repositories) or ''}")
    made.git.commit("main", {"engine/step.py": SMALL_BASE})
    made.git.commit("feature", {"engine/step.py": SMALL_HEAD}, parent="main")
    return made


@pytest.fixture
def repo(fake: FakeGitHub) -> Repository:
    return small(fake)


@pytest.fixture
def engine(live: FakeGitHub) -> Repository:
    """A small repository of the bot that runs."""
    return small(live)


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    """The bundled example's pull request, with bugs in it."""
    return build(tmp_path_factory.mktemp("example") / "repo")


def dry_run(example: Example, directory: Path) -> bytes:
    """What the command line prints of the example's pull request, as a review for GitHub."""
    body = directory / "body.md"
    body.write_text(example.body)
    what = ["--repo", example.repo, "--base", example.base, "--head", example.head]
    words = ["--title", example.title, "--body-file", body, "--target-branch", "main"]
    form = ["--format", "github", "--lang", "en", "--fail-on", "never"]
    command = [sys.executable, "-m", "bot", "review", *what, *words, *form]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout


def ended(repo: Repository, sha: str) -> bool:
    """Whether the check run of commit `sha` has ended."""
    return any(c.head_sha == sha and c.status == "completed" for c in repo.check_runs)
