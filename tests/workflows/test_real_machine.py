"""Kernels on the bot's own machine as it is: a stranger's under the real bubblewrap, ours on the
real GPU."""

from __future__ import annotations

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from bot.kernels import package
from tests.bot.test_kernel_runs import WRONG_TOKEN
from tests.fake_github import people
from tests.workflows.test_commands import ask, fork_pull
from tests.workflows.test_local_kernels import ended, engine

__all__ = ["engine"]  # a fixture

TRIED = (
    "bwrap",
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--unshare-net",
    "--unshare-pid",
    "true",
)
WORKS = (
    shutil.which("bwrap")
    and subprocess.run(TRIED, check=False, capture_output=True).returncode == 0
)

# `double` gives 2 x, and a power of two more for each of these things that it could do.
TRIES = """
import os, socket
from pathlib import Path


def reads_the_key():
    return Path(KEY).read_text()


def reads_the_data():
    own = Path.cwd().parent
    return any(path.is_file() and not path.is_relative_to(own) for path in Path(DATA).rglob("*"))


def asks_the_bot():
    socket.create_connection(("127.0.0.1", PORT), timeout=2).close()
    return True


def sees_the_bot():
    return any("\\0bot\\0" in path.read_text() for path in Path("/proc").glob("[0-9]*/cmdline"))


def has_its_settings():
    return any(name.startswith("SPECBOT") for name in os.environ)


def sees_a_home():
    return any(Path(HOME).iterdir())


def sees_a_socket():
    return Path(SOCKET).is_socket()


def leaves_something():
    return Path(OUTSIDE).write_text("was here")


TRIES = (
    reads_the_key,
    reads_the_data,
    asks_the_bot,
    sees_the_bot,
    has_its_settings,
    sees_a_home,
    sees_a_socket,
    leaves_something,
)


def can(what):
    try:
        return bool(what())
    except OSError:
        return False


def double(x):
    return 2 * x + sum(2 ** (n + 2) for n, what in enumerate(TRIES) if can(what))
"""


@pytest.mark.skipif(not WORKS, reason="no bubblewrap that works here")
def test_what_a_stranger_can_do(fake, bot, engine, tmp_path, monkeypatch):
    """Nothing, of what this process can do."""
    outside = tmp_path / "outside"
    source = TRIES.replace("KEY", repr(str(bot.directory / "key.pem"))).replace(
        "PORT", str(bot.port)
    )
    home = tmp_path / "home"
    home.mkdir()
    (home / "notes.txt").write_text("private")
    source = source.replace("SOCKET", repr(str(tmp_path / "socket")))
    source = source.replace("HOME", repr(str(home)))
    source = source.replace("DATA", repr(str(bot.directory / "data"))).replace(
        "OUTSIDE", repr(str(outside))
    )
    bot.start(SPECBOT_LOCAL_KERNELS="cpu")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        _nothing_works(fake, bot, engine, source, outside)
        here: dict[str, object] = {}
        exec(source, here)
        monkeypatch.setenv("SPECBOT_PORT", str(bot.port))
        # What lies beside where code runs is its own: here nothing, wherever the checkout is.
        (tmp_path / "job/work").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / "job/work")
        assert [what.__name__ for what in here["TRIES"] if here["can"](what)] == [
            t.__name__ for t in here["TRIES"]
        ]


def _nothing_works(fake, bot, engine, source, outside):
    pull = fork_pull(fake, engine)
    head = pull.head_repo.git.commit("feature", {"kernels/twice/__init__.py": source})
    people.push(fake, engine, pull, head, send=False)
    ask(fake, engine, pull, f"/kernels {head}")
    assert ended(engine, pull).title == "No kernel got worse", pull.comments[-1].body
    assert not outside.exists()


@pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="no GPU")
def test_on_the_gpu(fake, bot, engine):
    """SpecBot's own kernels, one of them broken, and then mended."""
    kernels = {path: data.decode() for path, data in package.installed().items()}
    engine.git.commit(
        "main", {"kernels/cases/twice.py": None, "kernels/twice/__init__.py": None} | kernels
    )
    path = "kernels/accept/__init__.py"
    engine.git.commit("own", {path: kernels[path] + WRONG_TOKEN}, parent="main")
    pull = people.open_pull(fake, engine, "own", send=False)
    bot.start(SPECBOT_LOCAL_KERNELS="cuda")
    ask(fake, engine, pull, "/kernels accept")
    assert ended(engine, pull).title == "A kernel got worse"
    assert "`accept/index-map`" in pull.comments[-1].body
    people.push(fake, engine, pull, engine.git.commit("own", {path: kernels[path]}), send=False)
    ask(fake, engine, pull, "/kernels accept")
    assert ended(engine, pull).title == "No kernel got worse", pull.comments[-1].body
