"""What a service leaves of its temporary files, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bot.tempdir import private_tempdir
from tests.workflows.conftest import ROOT

LIFE = """
import sys, tempfile
from pathlib import Path
from bot.tempdir import private_tempdir

with private_tempdir(Path(sys.argv[1])):
    print(tempfile.mkdtemp(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lives(tmp_path):
    """Starts processes that have a temporary folder each."""
    started = []

    def live() -> tuple[subprocess.Popen[str], Path]:
        command = [sys.executable, "-c", LIFE, str(tmp_path)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        started.append(process)
        return process, Path(process.stdout.readline().strip())

    yield live
    for process in started:
        process.kill()
        process.communicate()


def test_who_is_killed_is_swept_and_who_lives_is_not(lives, tmp_path):
    (killed, its), (_, kept) = lives(), lives()
    killed.kill()
    killed.wait()
    assert its.is_dir()
    _, new = lives()
    assert not its.exists() and kept.is_dir() and new.is_dir()
    assert {kept.parent, new.parent} == set((tmp_path / "scratch").glob("specbot-*"))


def test_who_ends_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)  # what Python remembers of the variable
    with pytest.raises(KeyboardInterrupt), private_tempdir(tmp_path):
        own = tempfile.mkdtemp()
        assert os.environ["TMPDIR"] == tempfile.gettempdir() == str(Path(own).parent)
        raise KeyboardInterrupt
    assert not Path(own).exists() and not list((tmp_path / "scratch").glob("specbot-*"))
    assert os.environ["TMPDIR"] == tempfile.gettempdir() == str(tmp_path)
