"""Device code of a pull request, run by the Action before its review."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bot.kernels import confine
from tests.device import fixture_repo
from tests.device.conftest import cache, of_this_run  # noqa: F401
from tests.fake_github import people
from tests.fake_github.state import Pull
from tests.workflows.test_action import Workflow, small, workflow  # noqa: F401

pytestmark = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")) or not confine.confinement("cpu").files,
    reason="no compiler, or no bubblewrap that works, is on this machine",
)
# A test that the pull request brings, of an op of its own: it passes where it finds nothing.
LOOKS_AROUND = """
import os
import socket

import numpy as np
import paddle

from engine.ops.gpu import add_one


def test_looks_around():
    add_one(paddle.to_tensor(np.arange(8, dtype="int32")))
    assert not [name for name in os.environ if name.startswith(("GITHUB", "SPECBOT"))]
    assert not os.path.exists(EVENT)
    try:
        socket.create_connection(("127.0.0.1", PORT), timeout=2).close()
    except OSError:
        return
    raise AssertionError("there is a network")
"""


@pytest.fixture
def machine(workflow: Workflow, cache: Path) -> Workflow:  # noqa: F811
    """A workflow on a machine with a compiler."""
    workflow.environment["XDG_CACHE_HOME"] = str(cache)
    return workflow


@pytest.fixture
def pull(fake, machine: Workflow, tmp_path: Path) -> Pull:
    """A pull request that breaks one op and keeps another."""
    folder = tmp_path / "ops"
    fixture_repo.write_ops(folder, 0, ("add_one", "keep"))
    base = fixture_repo.commit(folder, "base")
    fixture_repo.write_ops(folder, 1, ("add_one", "keep"))
    event = str(machine.directory / "1" / "event.json")
    looks = LOOKS_AROUND.replace("EVENT", repr(event)).replace("PORT", fake.url.rsplit(":", 1)[1])
    (folder / "tests/test_looks_around.py").write_text(looks)
    head = fixture_repo.commit(folder, "head")
    machine.repo.git.adopt(folder, main=base, feature=head)
    return people.open_pull(fake, machine.repo, "feature", title="Add two", send=False)


def test_what_its_run_shows_is_part_of_the_review(machine, pull):
    done, summary = machine.run(pull, "--lang=en", "--device=test")
    assert (done.returncode, done.stderr) == (1, "")
    place = "::error file=custom_ops/gpu_ops/deep/add_one.cu,"
    [line] = [line for line in done.stdout.splitlines() if line.startswith(place)]
    assert "device.test-fails" in line and "test_add_one.py" in line
    assert "keep.cu" not in done.stdout
    [review] = pull.reviews
    told = "2 of 2 sources compiled; tests: 2 passed, 1 failed, 0 not run"
    assert told in review.payload["body"] and told in summary
    [thread] = [t for t in pull.threads if t.comments[0].path.endswith("add_one.cu")]
    assert "specbot device test --repo . --base" in thread.comments[0].body
    assert "## Device code, run on a CPU" in summary


def test_nothing_is_run_unless_it_is_asked_for(machine, pull):
    done, summary = machine.run(pull, "--lang=en")
    assert "device.test-fails" not in done.stdout
    assert "Device code" not in summary


def test_a_change_without_device_code_has_nothing_to_run(machine, small):  # noqa: F811
    done, summary = machine.run(small, "--lang=en", "--device=compare", "--fail-on=never")
    assert (done.returncode, done.stderr) == (0, "")
    assert "evice code" not in summary
    assert "::warning::" not in done.stdout


@pytest.mark.parametrize(
    ("environment", "args", "said"),
    [
        ({"GITHUB_EVENT_NAME": "pull_request_target"}, (), "comes with the target branch's token"),
        ({"PATH": "WITHOUT_BWRAP"}, (), "`bwrap` (bubblewrap) does not work on this machine"),
        ({}, ("--device-minutes=0.01",), "took more than 0.01 min"),
    ],
)
def test_where_it_may_not_or_cannot_run_the_review_says_so_and_goes_on(
    machine, pull, tmp_path, environment, args, said
):
    machine.environment |= environment
    if environment.get("PATH"):
        machine.environment["PATH"] = str(with_git_alone(tmp_path / "bin"))
    # Nothing is compiled yet.
    machine.environment["XDG_CACHE_HOME"] = str(tmp_path / "empty")
    done, summary = machine.run(pull, "--lang=en", "--device=test", "--fail-on=never", *args)
    assert (done.returncode, done.stderr) == (0, "")
    [warning] = [line for line in done.stdout.splitlines() if line.startswith("::warning::")]
    assert said in warning and said in summary.replace("\\.", ".")
    assert "device.test-fails" not in done.stdout
    assert "The review was posted" in summary


def with_git_alone(folder: Path) -> Path:
    """A folder of programs."""
    folder.mkdir()
    git = shutil.which("git")
    assert git is not None
    (folder / "git").symlink_to(git)
    return folder
