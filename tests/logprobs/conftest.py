"""Records that tests are about, and a server process to record from."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from checks.logprobs.record import Record
from tests.logprobs.simulated import Logits, records

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Process:
    """A running `tests.logprob_server`."""

    process: subprocess.Popen
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def environment() -> dict[str, str]:
    """Nobody's proxy stands between these processes, and nobody's key goes out."""
    kept = {
        n: v
        for n, v in os.environ.items()
        if "proxy" not in n.lower() and not n.startswith("SPECBOT_")
    }
    kept.pop(
        "TRITON_INTERPRET", None
    )  # the references answer: the server is no test of the kernels
    return kept


@contextmanager
def server() -> Iterator[Process]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.logprob_server"],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        yield Process(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module", autouse=True)
def references():
    """The references answer, also in a process that has run kernels on the interpreter: nothing
    here is a test of the kernels, and the interpreter takes minutes for what they do in seconds.
    """
    kept = os.environ.pop("TRITON_INTERPRET", None)
    yield
    if kept is not None:
        os.environ["TRITON_INTERPRET"] = kept


@pytest.fixture(scope="module")
def logits() -> Logits:
    return Logits.random(np.random.default_rng(7))


@pytest.fixture(scope="module")
def base(logits: Logits) -> list[Record]:
    return records(logits)


@pytest.fixture(scope="session")
def vllm() -> Iterator[Process]:
    with server() as running:
        yield running


def command(*arguments: object) -> Sequence[str]:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from bot.cli.main import main; "
        f"sys.exit(main())"
    )
    return [sys.executable, "-c", code, "logprobs", *map(str, arguments)]
