"""Dialogues about kernels that run on the bot's own machine: real processes, real git, code that
looks around."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from bot.chat import artifact_archive
from bot.db.commands import GpuRun
from bot.kernels import confine
from bot.sandbox import client
from bot.sandbox.client import JobFailed, JobStopped, run_job
from bot.workflows import local_kernels
from tests.fake_github import FakeGitHub, people
from tests.fake_github.state import CheckRun, Pull, Repository
from tests.workflows.conftest import Bot, started, until, watched
from tests.workflows.test_commands import answers, ask, fork_pull, kernels

if find_spec("torch") is None or find_spec("triton") is None:
    pytest.skip("torch and triton are not installed", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("fork_server")

# A harness as small as can be: one op, which gives one number, and no torch.
HARNESS = """
import argparse, json, struct
from importlib import import_module
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("op")
parser.add_argument("--device")
parser.add_argument("--reference", action="store_true")
parser.add_argument("-o", "--out", type=Path)
given = parser.parse_args()


def note(event, **more):
    with (given.out / "events.jsonl").open("a") as file:
        file.write(json.dumps({"event": event, **more}) + "\\n")


def save(folder, number):
    (given.out / folder).mkdir(exist_ok=True)
    head = json.dumps({"y": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    data = struct.pack("<Q", len(head)) + head + struct.pack("<f", number)
    (given.out / folder / "small.safetensors").write_bytes(data)


note("start", versions={"torch": "none"}, device={"gpu": "cpu"})
if given.reference:
    note("case", case="small", tolerance={"y": 0.0})
    save("reference", 2.0)
note("begin", case="small")
try:
    save("outputs", import_module(f"kernels.{given.op}").double(1.0))
    note("done", case="small", how="cpu", seconds=[0.1])
except Exception as error:
    note("error", case="small", error=str(error))
note("end")
"""
GOOD = "def double(x):\n    return 2 * x\n"
WRONG = "def double(x):\n    return 3 * x\n"
# Says what it found by the number it gives: 2 where it found nothing.
LOOKS_AROUND = """
import os, resource, socket

MOST = {
    resource.RLIMIT_FSIZE: 1 << 30,
    resource.RLIMIT_NPROC: 4096,
    resource.RLIMIT_AS: 24 << 30,
    resource.RLIMIT_CORE: 0,
}


def double(x):
    found = sum(1 for name in os.environ if name.startswith(("SPECBOT", "GITHUB")))
    for kind, most in MOST.items():
        for limit in resource.getrlimit(kind):
            found += 10 * (not 0 <= limit <= most)
    try:
        socket.create_connection(("127.0.0.1", PORT), timeout=2).close()
        found += 100
    except OSError:
        pass
    return 2 + found
"""
# More than may be written, in files that each may be so large, when it was kept from writing one
# that may not.
MANY_FILES = """
import errno, time


def double(x):
    try:
        open("too-large", "wb").truncate((1 << 30) + 1)
    except OSError as error:
        for n in range(3 * (error.errno == errno.EFBIG)):
            open(f"large-{n}", "wb").truncate(900 << 20)
        time.sleep(3600)
"""
# bubblewrap's options and how many arguments each has, as far as they are used here.
BWRAP = """#!{python}
import json, os, sys

TAKES = {{"--ro-bind": 2, "--dev-bind": 2, "--bind": 2, "--proc": 1, "--dev": 1, "--dir": 1, "--tmpfs": 1,
         "--remount-ro": 1}}
given, bound, masked = sys.argv[1:], [], []
while given[0].startswith("--"):
    option, *rest = given
    count = TAKES.get(option, 0)
    if option == "--tmpfs" or rest[:1] == ["/dev/null"]:
        masked.append(rest[count - 1])
    elif "bind" in option:
        bound.append(rest[count - 1])
    given = rest[count:]
with open({record!r}, "a") as file:
    file.write(json.dumps([bound, masked]) + "\\n")
os.execvp(given[0], given)
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bot]:
    """A bot that runs kernels on its own machine, an hour for each pull request and a minute
    more."""
    settings = {"SPECBOT_LOCAL_KERNELS": "cpu", "SPECBOT_GPU_MINUTES_PER_PULL": "61"}
    with started(tmp_path_factory.mktemp("here"), **settings) as made, watched(made.fake):
        yield made


@pytest.fixture
def ours(here: Bot) -> Repository:
    return with_kernels(here.fake)


@pytest.fixture
def engine(fake: FakeGitHub) -> Repository:
    return with_kernels(fake)


def with_kernels(fake: FakeGitHub) -> Repository:
    """A repository with kernels, but without any workflow."""
    made = fake.repository(f"octo/engine{len(fake.repositories) or ''}")
    files = {
        "kernels/cases/twice.py": "",
        "kernels/run/__main__.py": HARNESS,
        "kernels/run/__init__.py": "",
    }
    made.git.commit("main", files | {"kernels/__init__.py": "", "kernels/twice/__init__.py": GOOD})
    made.roles |= {"ada": "write", "mallory": "read"}
    return made


@pytest.fixture
def bubblewrap(tmp_path: Path) -> Callable[[str], str]:
    """A PATH on which `bwrap` comes first and is this program."""

    def path(program: str) -> str:
        (tmp_path / "bin").mkdir()
        made = tmp_path / "bin/bwrap"
        made.write_text(program)
        made.chmod(made.stat().st_mode | stat.S_IXUSR)
        return f"{made.parent}{os.pathsep}{os.environ['PATH']}"

    return path


def pull_with(fake: FakeGitHub, repo: Repository, source: str) -> Pull:
    repo.git.commit("own", {"kernels/twice/__init__.py": source}, parent="main")
    return people.open_pull(fake, repo, "own", send=False)


def ended(repo: Repository, pull: Pull) -> CheckRun:
    """The last check run of the kernels, when it has ended and the answer says the same."""

    def over() -> bool:
        known = kernels(repo, pull)
        return (
            bool(known)
            and known[-1].status == "completed"
            and (known[-1].title or "") in pull.comments[-1].body
        )

    until(over)
    return kernels(repo, pull)[-1]


def test_from_the_command_to_the_result(here, ours):
    fake, engine = here.fake, ours
    pull = pull_with(fake, engine, WRONG)
    assert "Asked for a comparison" in ask(fake, engine, pull, "/kernels twice")
    check = ended(engine, pull)
    assert (check.conclusion, check.title) == ("failure", "A kernel got worse")
    assert "`twice/small`" in pull.comments[-1].body and engine.dispatches == []
    # Of the sixty minutes that were reserved one was used.
    assert "Asked for a comparison" in ask(fake, engine, pull, "/kernels nosuch")
    until(lambda: len(kernels(engine, pull)) == 2)
    assert (
        "did not end well" in (ended(engine, pull).title or "")
        and "`nosuch`" in pull.comments[-1].body
    )
    assert "no GPU time left for 60 minutes, of 61 in all" in ask(fake, engine, pull, "/kernels")


def test_the_code_has_neither_our_settings_nor_a_network(here, ours):
    """By people who may write, so that it may run where nothing hides files."""
    fake, engine = here.fake, ours
    pull = pull_with(fake, engine, LOOKS_AROUND.replace("PORT", str(here.port)))
    ask(fake, engine, pull, "/kernels")
    confined = confine.confinement("cpu").tool != "none"
    assert ended(engine, pull).title == (
        "No kernel got worse" if confined else "A kernel got worse"
    )


def test_what_writes_too_much_is_ended(here, ours):
    fake, engine = here.fake, ours
    pull = pull_with(fake, engine, MANY_FILES)
    ask(fake, engine, pull, "/kernels")
    assert ended(engine, pull).title == "A kernel got worse"
    assert f"crashed: signal {signal.SIGXFSZ:d}" in pull.comments[-1].body


def test_results_larger_than_an_artifact_are_not_taken(tmp_path):
    with open(tmp_path / "outputs.safetensors", "wb") as file:
        file.truncate(artifact_archive.LARGEST)
    (tmp_path / "results.json").write_text("{}")
    assert local_kernels.pack(tmp_path) == b""
    os.truncate(tmp_path / "outputs.safetensors", 10)
    taken = artifact_archive.members(local_kernels.pack(tmp_path), re.compile(".*"))
    assert taken.keys() == {"outputs.safetensors", "results.json"}


def test_a_strangers_code_waits_for_bubblewrap(fake, bot, engine, bubblewrap):
    bot.start(SPECBOT_LOCAL_KERNELS="cpu", PATH=bubblewrap("#!/bin/sh\nexit 1\n"))
    pull = fork_pull(fake, engine)
    assert "name the commit" in ask(fake, engine, pull, "/kernels")
    ask(fake, engine, pull, f"/kernels {pull.head_sha}")
    check = ended(engine, pull)
    assert check.conclusion == "failure" and "no bubblewrap" in (check.title or "")
    assert len(answers(fake, pull, pull.comments[-2])) == 1


def test_a_strangers_code_sees_nothing_of_ours(fake, bot, engine, bubblewrap, tmp_path):
    record = tmp_path / "record"
    program = BWRAP.format(python=sys.executable, record=str(record))
    bot.start(SPECBOT_LOCAL_KERNELS="cpu", PATH=bubblewrap(program))
    pull = fork_pull(fake, engine)
    ask(fake, engine, pull, f"/kernels {pull.head_sha}")
    assert ended(engine, pull).title == "No kernel got worse"
    runs = [json.loads(line) for line in record.read_text().splitlines()]
    ours = [bot.directory.resolve() / name for name in ("data", "key.pem")]
    assert runs
    for bound, masked in runs:
        shown = [path for path in ours if any(path.is_relative_to(folder) for folder in bound)]
        assert all(str(path) in masked for path in shown)


def test_a_push_before_its_turn(fake, bot, engine):
    config = '[[gpu_job]]\nname = "here"\nworkflow = "local"\nminutes = 1\n'
    engine.git.commit("main", {".specbot.toml": config})
    bot.start("--role", "web")
    bot.run("worker", "--queues", "comments", SPECBOT_LOCAL_KERNELS="cpu")
    pull = pull_with(fake, engine, GOOD)
    ask(fake, engine, pull, "/kernels here")
    people.push(fake, engine, pull, engine.git.commit("own", {"a.py": "x = 1\n"}), send=False)
    bot.run("worker", "--queues", "gpu", SPECBOT_LOCAL_KERNELS="cpu")
    until(lambda: "had a newer commit" in pull.comments[-1].body)


def test_a_run_that_is_ended_leaves_nothing(engine, tmp_path, monkeypatch):
    """Where nobody wants it any more, and where it takes longer than its minutes."""
    forever = {
        "kernels/cases/forever.py": "",
        "kernels/forever/__init__.py": "import time\ntime.sleep(3600)\n",
    }
    head = engine.git.commit("main", forever)
    job = {
        "clone": str(engine.git.directory),
        "base": head,
        "head": head,
        "ops": ["forever"],
        "device": "cpu",
    }
    job |= {"folder": str(tmp_path), "language": "en", "trusted": True, "hidden": []}

    def runs() -> bool:
        return any(
            b"\0forever\0" in commandline(process) for process in Path("/proc").glob("[0-9]*")
        )

    with pytest.raises(JobStopped):
        run_job("kernels", job, lambda: not runs())
    until(lambda: not runs())

    class Clock:
        """An hour later, as soon as the code runs."""

        @staticmethod
        def monotonic() -> float:
            return time.monotonic() + 3600 * runs()

    monkeypatch.setattr(client, "time", Clock)
    told = GpuRun("r", 1, 1, head, head, "local", 59, 0.0, None, {}, 0)
    settings = SimpleNamespace(local_kernels="cpu", language="en", hidden=())
    with pytest.raises(JobFailed, match="took more than 3540 s"):
        local_kernels.run_and_archive(
            engine.git.directory, told, ["forever"], settings, trusted=True
        )
    monkeypatch.undo()
    until(lambda: not runs())


def commandline(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_no_worker_of_that_kind(live):
    engine = with_kernels(live)
    engine.git.commit("main", {".specbot.toml": '[[gpu_job]]\nname = "here"\nworkflow = "local"\n'})
    pull = pull_with(live, engine, GOOD)
    assert "SPECBOT_LOCAL_KERNELS" in ask(live, engine, pull, "/kernels here")
