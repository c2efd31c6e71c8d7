"""Records that tests are about, and a server process to record from."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Process:
    """A running `tests.logprob_server`."""

    process: subprocess.Popen
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def environment(**more: str) -> dict[str, str]:
    """Nobody's proxy stands between these processes, and nobody's key goes out."""
    kept = {n: v for n, v in os.environ.items() if "proxy" not in n.lower() and not n.startswith("SPECBOT_")}
    kept.pop("TRITON_INTERPRET", None)  # the references answer: the server is no test of the kernels
    return kept | more


@contextmanager
def server(*arguments: str, **variables: str) -> Iterator[Process]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.logprob_server", *arguments],
        cwd=ROOT,
        env=environment(**variables),
        stdout=subprocess.PIPE,
    )
    try:
        yield Process(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def vllm() -> Iterator[Process]:
    with server() as running:
        yield running


@pytest.fixture
def specbot(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess]:
    """The command in a process of its own, in an empty folder."""

    def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            command(*arguments), cwd=tmp_path, env=environment(**variables), capture_output=True, text=True
        )

    return run


def command(*arguments: object) -> Sequence[str]:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from bot.cli import main; sys.exit(main())"
    return [sys.executable, "-c", code, "logprobs", *map(str, arguments)]
