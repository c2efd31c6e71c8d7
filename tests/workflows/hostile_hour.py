"""`python -m tests.workflows.hostile_hour`: how long a normal author waits for a review, alone and
beside somebody who wants all of the service.

Both are of one installation. The hostile one pushes large files that are full of findings, to
several pull requests at a time, and asks for help under each of them, as fast as the bot answers.
Prints the seconds from event to review for both halves, and the ratio of their 99th percentiles.
Each half has a normal author of its own: one account may have a quarter of an hour's writes, which
is about 20 reviews, and what it used alone would be missing beside.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import threading
import time

from tests.fake_github import FakeGitHub, people
from tests.fake_github.state import Repository
from tests.workflows.conftest import SMALL_HEAD, ended, small, until
from tests.workflows.crashes import stage

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


def _waits(
    fake: FakeGitHub, repo: Repository, author: str, seconds: float, pause: float, first: int
) -> list[float]:
    """One pull request after the other, at moments that follow nothing the hostile one does."""
    chance = random.Random(first)
    end = time.monotonic() + seconds
    waits = []
    while time.monotonic() < end:
        waits.append(_wait_for_review(fake, repo, author, first + len(waits)))
        time.sleep(chance.uniform(0.5, 1.5) * pause)
    return waits


class HostileAuthor:
    """Pushes and asks until it is stopped."""

    def __init__(self, fake: FakeGitHub, repo: Repository) -> None:
        self._fake = fake
        self._repo = repo
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._push_for_ever)
        self.pushes = 0

    def __enter__(self) -> HostileAuthor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _push_for_ever(self) -> None:
        pulls = []
        for number in range(_HOSTILE_PULLS):
            self._commit(f"hostile-{number}", "main")
            pulls.append(
                people.open_pull(self._fake, self._repo, f"hostile-{number}", author="mallory")
            )
        while not self._stopped.wait(0.2):
            number = self.pushes % _HOSTILE_PULLS
            sha = self._commit(f"hostile-{number}", f"hostile-{number}")
            people.push(self._fake, self._repo, pulls[number], sha)
            people.comment(self._fake, self._repo, pulls[number], "mallory", "/help")
            self.pushes += 1

    def _commit(self, branch: str, parent: str) -> str:
        functions = (_STEP.format(n, self.pushes) for n in range(_HOSTILE_FUNCTIONS))
        text = "".join(functions)
        return self._repo.git.commit(branch, {"engine/spec_decode/many.py": text}, parent=parent)


def _percentile(waits: list[float], share: float) -> float:
    return sorted(waits)[min(len(waits) - 1, int(share * len(waits)))]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.workflows.hostile_hour", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument(
        "--alone", type=float, default=1800.0, metavar="S", help="of the first half"
    )
    parser.add_argument("--beside", type=float, default=3600.0, metavar="S", help="of the second")
    parser.add_argument(
        "--pause", type=float, default=170.0, metavar="S", help="between two normal pull requests"
    )
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    args = parser.parse_args()
    with stage(args.database) as (fake, bot):
        repo, hostile = small(fake), small(fake)
        bot.settings |= {"SPECBOT_WRITE_GAP": "1.0", "SPECBOT_WRITES_PER_HOUR": "400"}
        bot.start()
        _wait_for_review(fake, repo, "ada", 0)
        alone = _waits(fake, repo, "ada", args.alone, args.pause, 1000)
        with HostileAuthor(fake, hostile) as mallory:
            beside = _waits(fake, repo, "bea", args.beside, args.pause, 2000)
        bot.kill()
    for name, waits in (("alone", alone), ("beside", beside)):
        told = f"p50 {statistics.median(waits):.1f} s, p99 {_percentile(waits, 0.99):.1f} s"
        print(f"{name}: {len(waits)} reviews, {told}")
    ratio = _percentile(beside, 0.99) / _percentile(alone, 0.99)
    print(f"{mallory.pushes} hostile pushes and commands; p99 beside over alone: {ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
