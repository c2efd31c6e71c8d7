"""`python -m tests.workflows.hostile_hour`: how long a normal author waits for a review, alone and
beside somebody who wants all of the service.

Both are of one installation. The hostile one pushes large files that are full of findings, to
several pull requests at a time, and asks for help under each of them, as fast as the bot answers.
Prints the seconds from event to review for both, and the ratio of their 99th percentiles.

Two bots take turns of some minutes, one for the author alone and one for both authors, and the
other stands still meanwhile: what else the machine does hits both alike. One account may have a
quarter of an hour's writes, which is about 20 reviews, so that the normal author of each turn is
another than that of the turn before.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.fake_github import FakeGitHub, people
from tests.fake_github.state import Pull, Repository
from tests.workflows.conftest import SMALL_HEAD, Bot, ended, small, until
from tests.workflows.crashes import stage

_NORMAL = ("ada", "bea", "cyd", "dan")
_CALM = 10.0
_HOSTILE_PULLS = 6
_HOSTILE_FUNCTIONS = 4000
_STEP = "\n\ndef step_{0}(accept_num):\n    return accept_num + unknown_{0} + {1}\n"


def _wait_for_review(fake: FakeGitHub, repo: Repository, author: str, number: int) -> float:
    """Seconds until the review of a new, small pull request of the normal author."""
    branch = f"normal-{number}"
    repo.git.commit(branch, {"engine/step.py": SMALL_HEAD + f"\n# {number}\n"}, parent="main")
    begun = time.monotonic()
    pull = people.open_pull(fake, repo, branch, author=author)
    until(lambda: ended(repo, pull.head_sha), 600)
    return time.monotonic() - begun


@dataclass
class NormalAuthors:
    """Those who open small pull requests, and how long they waited in all their turns."""

    fake: FakeGitHub
    bot: Bot
    repo: Repository
    waits: list[float] = field(default_factory=list)

    def work(self, author: str, seconds: float, pause: float) -> None:
        """One pull request after the other, at moments that follow nothing the hostile one does."""
        chance = random.Random(len(self.waits))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            number = len(self.waits)
            self.waits.append(_wait_for_review(self.fake, self.repo, author, number))
            time.sleep(chance.uniform(0.5, 1.5) * pause)

    @contextmanager
    def awake(self) -> Iterator[None]:
        """The bot works within, and stands still else."""
        self.bot.send(signal.SIGCONT)
        try:
            yield
        finally:
            self.bot.send(signal.SIGSTOP)
            time.sleep(_CALM)  # what its children had begun


@contextmanager
def _authors(database: str) -> Iterator[NormalAuthors]:
    """A bot of their own, which has made one review and stands still."""
    with stage(database) as (fake, bot):
        bot.settings |= {"SPECBOT_WRITE_GAP": "1.0", "SPECBOT_WRITES_PER_HOUR": "400"}
        try:
            bot.start()
            made = NormalAuthors(fake, bot, small(fake))
            with made.awake():
                _wait_for_review(fake, made.repo, "warm", 10**6)
            yield made
        finally:
            bot.kill()


class HostileAuthor:
    """Pushes and asks until it is stopped."""

    def __init__(self, fake: FakeGitHub, repo: Repository) -> None:
        self._fake = fake
        self._repo = repo
        self._stopped = threading.Event()
        self._pulls: list[Pull] = []
        self.pushes = 0

    def __enter__(self) -> HostileAuthor:
        self._stopped.clear()
        self._thread = threading.Thread(target=self._push_for_ever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _push_for_ever(self) -> None:
        while not self._stopped.wait(0.2):
            number = self.pushes % _HOSTILE_PULLS
            branch = f"hostile-{number}"
            if number == len(self._pulls):
                self._commit(branch, "main")
                self._pulls.append(
                    people.open_pull(self._fake, self._repo, branch, author="mallory")
                )
            people.push(self._fake, self._repo, self._pulls[number], self._commit(branch, branch))
            people.comment(self._fake, self._repo, self._pulls[number], "mallory", "/help")
            self.pushes += 1

    def _commit(self, branch: str, parent: str) -> str:
        functions = (_STEP.format(n, self.pushes) for n in range(_HOSTILE_FUNCTIONS))
        text = "".join(functions)
        return self._repo.git.commit(branch, {"engine/spec_decode/many.py": text}, parent=parent)


def _percentile(waits: list[float], share: float) -> float:
    return sorted(waits)[min(len(waits) - 1, int(share * len(waits)))]


def _told(name: str, waits: list[float]) -> str:
    shares = ", ".join(f"p{100 * s:.0f} {_percentile(waits, s):.1f} s" for s in (0.5, 0.9, 0.99))
    return f"{name}: {len(waits)} reviews, {shares}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.workflows.hostile_hour", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--turns", type=int, default=12, metavar="N", help="of each kind")
    parser.add_argument("--turn", type=float, default=300.0, metavar="S", help="of one beside")
    parser.add_argument("--alone", type=float, default=120.0, metavar="S", help="of one alone")
    parser.add_argument(
        "--pause", type=float, default=60.0, metavar="S", help="between two normal pull requests"
    )
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with _authors(args.database) as alone, _authors(args.database) as beside:
        mallory = HostileAuthor(beside.fake, small(beside.fake))
        for turn in range(args.turns):
            author = _NORMAL[turn % len(_NORMAL)]
            with alone.awake():
                alone.work(author, args.alone, args.pause)
            with beside.awake(), mallory:
                beside.work(author, args.turn, args.pause)
            print(_told("alone", alone.waits), _told("beside", beside.waits), sep="; ", flush=True)
    ratio = _percentile(beside.waits, 0.99) / _percentile(alone.waits, 0.99)
    print(f"{mallory.pushes} hostile pushes and commands; p99 beside over alone: {ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
