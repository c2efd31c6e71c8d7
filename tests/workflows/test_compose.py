"""What compose.yaml and the Dockerfile say, played without an engine: the services' commands,
environments and health checks, as processes beside a PostgreSQL.

What only an engine does is not seen here: networks, read-only file systems, dropped capabilities.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from bot.settings import Settings
from tests.conftest import ROOT
from tests.fake_github import people
from tests.workflows.conftest import ended, free_port, until
from tests.workflows.databases import missing, postgres

SERVICES = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
OURS = ("web", "worker", "gpu")
PASSWORD = "letters0and1digits"
_VARIABLE = re.compile(r"\$\{(\w+):\?[^}]*\}")


def image_settings() -> dict[str, str]:
    """The settings that the Dockerfile gives every container."""
    return dict(re.findall(r"(SPECBOT_\w+)=(\S+)", DOCKERFILE))


def test_every_variable_is_a_setting() -> None:
    known = {f"SPECBOT_{name}".upper() for name in Settings.model_fields} | {"SPECBOT_CONFIG_FILE"}
    for name in OURS:
        assert set(SERVICES[name]["environment"]) <= known
    assert set(image_settings()) <= known


def test_two_containers_of_a_service_are_two_workers() -> None:
    """A worker is named by its host, which is the container: of two with one name, each would take
    the other's work for its own."""
    for name in OURS:
        assert "SPECBOT_WORKER_ID" not in SERVICES[name]["environment"]
        assert not {"hostname", "container_name"} & SERVICES[name].keys()


def test_the_entry_point_and_the_targets_are_those_of_the_image() -> None:
    assert 'ENTRYPOINT ["specbot"]' in DOCKERFILE
    targets = set(re.findall(r"^FROM \S+ AS (\w+)", DOCKERFILE, re.MULTILINE))
    assert SERVICES["gpu"]["build"]["target"] in targets
    # The last target is the one that is built when none is named.
    assert DOCKERFILE.rstrip().endswith('CMD ["serve"]')


def settings_file(bot, folder: Path) -> Path:
    """What `specbot app create` writes, and the addresses of the GitHub that is not GitHub."""
    file = folder / "specbot.toml"
    of_app = {
        "app_id": bot.settings["SPECBOT_APP_ID"],
        "private_key_file": bot.settings["SPECBOT_PRIVATE_KEY_FILE"],
        "webhook_secrets": bot.settings["SPECBOT_WEBHOOK_SECRETS"],
        "github_api_url": bot.settings["GITHUB_API_URL"],
        "github_server_url": bot.settings["GITHUB_SERVER_URL"],
    }
    file.write_text("".join(f"{name} = {value!r}\n" for name, value in of_app.items()), "utf-8")
    return file


@contextmanager
def running(name: str, here: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The service as a process of this machine; `here` says what stands for the containers'
    places."""
    given = image_settings() | SERVICES[name]["environment"]
    environment = {key: _placed(str(value), here) for key, value in given.items()}
    environment |= {"PYTHONPATH": str(ROOT), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    command = [sys.executable, "-m", "bot", *SERVICES[name]["command"]]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _placed(text: str, here: dict[str, str]) -> str:
    text = _VARIABLE.sub(lambda found: PASSWORD, text)
    for there, place in here.items():
        text = text.replace(there, place)
    return text


def is_healthy(name: str, here: dict[str, str]) -> bool:
    """What the engine would ask the container, asked here."""
    how, program, *arguments = SERVICES[name]["healthcheck"]["test"]
    assert (how, program) == ("CMD", "python")
    command = [sys.executable, *(_placed(one, here) for one in arguments)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_the_services_review_a_pull_request(fake, bot, repo, tmp_path) -> None:
    if why := missing():
        pytest.skip(why)
    port, metrics = str(free_port()), str(free_port())
    fake.webhook_url = f"http://127.0.0.1:{port}/webhook"
    with postgres() as url:
        here = {
            "/run/secrets/specbot.toml": str(settings_file(bot, tmp_path)),
            "@database/": f"@127.0.0.1:{urlsplit(url).port}/",
            "8080": port,
            "9464": metrics,
            "0.0.0.0": "127.0.0.1",
        }
        web, worker = ({**here, "/data": str(tmp_path / name)} for name in ("web", "worker"))
        with running("web", web, tmp_path), running("worker", worker, tmp_path):
            until(lambda: is_healthy("web", web))
            pull = people.open_pull(fake, repo, "feature")
            until(lambda: ended(repo, pull.head_sha))
