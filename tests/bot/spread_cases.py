"""Work shared out over two processes gives what one would have given, whatever becomes of the other.

`test_spread.py` runs this in a process of its own: where threads are left from other tests, nothing is shared out.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot import drawer as drawing
from bot import spread as module
from bot.drawer import drawer
from bot.reports.charts import stacked_bars
from bot.spread import spread
from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.core.tree import MemoryTree
from checks.review import review


@pytest.fixture(autouse=True)
def _cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


def wait_for(path: Path) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, "the other process did not begin"


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(), max_size=40))
def test_every_item_is_done_once_and_in_order(items: list[int]) -> None:
    assert spread(lambda n: (n, n * n), items) == [(n, n * n) for n in items]


def test_two_processes_work(tmp_path: Path) -> None:
    """Each waits until the other has begun: one alone would never end."""
    first, second = tmp_path / "first", tmp_path / "second"

    def work(paths: tuple[Path, Path]) -> int:
        mine, other = paths
        mine.touch()
        wait_for(other)
        return os.getpid()

    done = spread(work, [(first, second), (second, first)])
    assert done[0] == os.getpid() != done[1]


def test_an_error_is_raised_here_wherever_it_happens() -> None:
    def work(n: int) -> int:
        if n == 7:
            raise KeyError(n)
        return n

    for place in range(8):
        items = [n for n in range(7)]
        items.insert(place, 7)
        with pytest.raises(KeyError):
            spread(work, items)


def test_a_child_with_much_to_say_ends_where_nobody_listens(tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def work(n: int) -> bytes:
        if n == 0:
            wait_for(begun)
            raise KeyError(n)
        begun.touch()
        return bytes(1 << 20)  # more than a pipe holds

    with pytest.raises(KeyError):
        spread(work, range(2))


def test_what_a_killed_child_did_is_done_again() -> None:
    parent = os.getpid()

    def work(n: int) -> int:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return n

    assert spread(work, list(range(20))) == list(range(20))


def test_what_a_killed_child_had_done_before_is_kept(tmp_path: Path) -> None:
    parent, begun = os.getpid(), tmp_path / "begun"

    def work(n: int) -> int:
        if os.getpid() != parent and n == 2:
            begun.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if n == 0:
            wait_for(begun)
        return os.getpid()

    done = spread(work, range(5))
    assert done[:3] == [parent] * 3 and done[3] == done[4] != parent


def test_what_cannot_be_pickled_is_done_again() -> None:
    made = spread(lambda n: lambda: n, list(range(20)))
    assert [make() for make in made] == list(range(20))


def test_no_child_and_no_pipe_is_left() -> None:
    before = set(os.listdir("/proc/self/fd"))
    for _ in range(3):
        spread(str, range(10))
        with pytest.raises(ZeroDivisionError):
            spread(lambda n: 1 // n, [0] * 10)
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize("reason", ["one core", "threads", "one item"])
def test_it_stays_in_one_process(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    items = [1] if reason == "one item" else [1, 2, 3]
    ended = threading.Event()
    if reason == "one core":
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    if reason == "threads":
        threading.Thread(target=ended.wait).start()
    try:
        assert set(spread(lambda _: os.getpid(), items)) == {os.getpid()}
    finally:
        ended.set()


def test_a_child_reads_blobs_through_its_own_git(tmp_path: Path) -> None:
    """Two processes on one pipe would get each other's answers."""
    from bot.git import Blobs, Git

    git = ("git", "-C", str(tmp_path))
    subprocess.run([*git, "init", "-q"], check=True)
    oids = {}
    for n in range(40):
        put = subprocess.run(
            [*git, "hash-object", "-w", "--stdin"], input=b"%d" % n, capture_output=True, check=True
        )
        oids[n] = put.stdout.decode().strip()
    with Blobs(Git(tmp_path)) as blobs:
        assert blobs.read(oids[0]) == b"0"  # the parent's git runs
        assert spread(lambda n: blobs.read(oids[n]), list(oids)) == [b"%d" % n for n in oids]


def test_the_limit_is_what_a_pipe_holds() -> None:
    assert spread(abs, range(module._MOST)) == list(range(module._MOST))
    assert spread(abs, range(module._MOST + 1)) == list(range(module._MOST + 1))


def test_what_is_made_beside_the_rules_comes_from_another_process_and_is_not_made_again(
    tmp_path: Path,
) -> None:
    begun = tmp_path / "begun"

    def beside(change: ChangeSet, config: Config) -> int:
        begun.touch()
        return os.getpid()

    def finds_nothing(change: ChangeSet, config: Config) -> list[Finding]:
        wait_for(begun)
        return []

    change = ChangeSet(MemoryTree({}), MemoryTree({}), ())
    rule: Any = SimpleNamespace(ID="slow", run=finds_nothing)
    review(change, Config(), [rule], spread=spread, beside=[beside])
    assert change.once(beside, lambda: pytest.fail("made again")) != os.getpid()


PICTURE = (["a.py", "b.cu"], [("size", [1.0, 2.0]), ("callers", [0.5, 0.0])], 10.0)


def test_a_picture_comes_from_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with drawer() as draw:
        assert draw(*PICTURE) == stacked_bars(*PICTURE)
    monkeypatch.setattr(drawing, "stacked_bars", lambda *_: str(os.getpid()))
    with drawer() as draw:
        assert draw(*PICTURE) not in ("", str(os.getpid()))


def test_a_picture_that_does_not_come_back_is_drawn_here(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()

    def dies_elsewhere(*_: object) -> str:
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return "drawn here"

    monkeypatch.setattr(drawing, "stacked_bars", dies_elsewhere)
    with drawer() as draw:
        assert draw(*PICTURE) == "drawn here"


def test_a_drawer_leaves_no_child_and_no_pipe() -> None:
    before = set(os.listdir("/proc/self/fd"))
    with drawer() as draw:
        draw(*PICTURE)
    with pytest.raises(KeyError), drawer():
        raise KeyError
    assert set(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
