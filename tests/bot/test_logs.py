"""Whatever happens, the service's log is one JSON object a line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from bot.sandbox import client

_TROUBLE = """
import threading, warnings
from bot import logs
logs.set_up()
warnings.warn("careful")
thread = threading.Thread(target=lambda: 1 / 0, name="divider")
thread.start()
thread.join()
"""


def test_warnings_and_threads_that_end():
    done = subprocess.run(
        [sys.executable, "-c", _TROUBLE], capture_output=True, text=True, check=True
    )
    warning, end = [json.loads(line) for line in done.stderr.splitlines()]
    assert warning["level"] == "warning"
    assert "careful" in warning["event"]
    assert (end["event"], end["thread"]) == ("thread ended", "divider")
    assert "ZeroDivisionError" in end["exception"]


def test_a_job_that_fails(capfd, monkeypatch):
    own = client.ForkServerClient()
    monkeypatch.setattr(client, "FORK_SERVER", own)
    with pytest.raises(client.JobFailed):
        client.run_job("no such program", {})
    own.close()
    (line,) = capfd.readouterr().err.splitlines()
    assert json.loads(line)["event"] == "job failed"
    assert "no such program" in json.loads(line)["exception"]
