"""`python -m tests.workflows.crashes`: kill -9 again and again, and nothing is lost and nothing
done twice.

Two hundred deliveries while the bot is killed at the ends of steps (before and after the step is
written down), at requests to GitHub (before they have their effect and before they are answered),
and at any other moment. After each death the bot starts again, as the same worker or as another
that takes over.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbos import DBOSClient

from tests.fake_github import Answer, FakeGitHub, serving
from tests.workflows.conftest import ROOT, Bot
from tests.workflows.crash_story import PER_PULL, Story, deliver, wrong
from tests.workflows.databases import postgres

SETTINGS = {
    "SPECBOT_HEARTBEAT_EVERY": "0.3",
    "SPECBOT_DEAD_AFTER": "1.5",
    "SPECBOT_CI_GATHER": "0.5",
    "SPECBOT_GPU_MINUTES_PER_DAY": "1000000",
    "SPECBOT_COMMANDS_PER_HOUR": "1000000",
}
# A life that does not come to the point where it is to end has work that takes longer, or none.
_LONGEST = 2.5
# Seconds.
_STANDS = 400.0


@dataclass
class Zygote:
    """The process that forks the bot's lives."""

    bot: Bot
    watch: str = ""
    pid: int = 0
    _process: subprocess.Popen[str] = field(init=False)
    _dead: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "tests.workflows.crash_life"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, bufsize=1
        )

    def start(self, worker: str, strike: int = 0, when: str = "") -> None:
        """Begin a life as `worker`, which kills itself at its step number `strike`, where that is
        not 0."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        environment = (
            kept | {"PYTHONPATH": str(ROOT)} | self.bot.settings | {"SPECBOT_WORKER_ID": worker}
        )
        life = {
            "environment": environment,
            "log": str(self.bot.log),
            "strike": strike,
            "when": when,
        }
        life["watch"] = self.watch
        life["clock"] = str(self.clock)
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(life) + "\n")
        self.pid = int(self._process.stdout.readline())
        self._dead.clear()
        threading.Thread(target=self._wait, daemon=True).start()

    @property
    def clock(self) -> Path:
        """The file that says how wrong the clock of a life is, in seconds."""
        return self.bot.directory / "clock"

    def set_clock(self, seconds: float) -> None:
        """Let the present life's clock be wrong by that much."""
        self.clock.write_text(str(seconds))
        with suppress(ProcessLookupError):
            if not self._dead.is_set():
                os.kill(self.pid, signal.SIGUSR2)

    def _wait(self) -> None:
        assert self._process.stdout
        self._process.stdout.readline()
        self._dead.set()

    def kill(self) -> None:
        """kill -9, where it is alive."""
        with suppress(ProcessLookupError):
            if self.pid and not self._dead.is_set():
                os.kill(self.pid, signal.SIGKILL)

    def died(self, within: float) -> bool:
        return self._dead.wait(within)

    def close(self) -> None:
        self.kill()
        self._process.kill()
        self._process.wait()


@dataclass
class Trial:
    """One story told to a bot that is killed `kills` times, but not after `until`."""

    fake: FakeGitHub
    bot: Bot
    kills: int
    pulls: int
    until: float
    chance: random.Random
    ended: Counter[str] = field(default_factory=Counter)
    github_refuses: bool = False
    _told: bool = False
    _stop: bool = False

    def run(self) -> list[str]:
        """What was wrong in the end."""
        story, zygote = Story(self.fake, self.github_refuses), Zygote(self.bot)
        teller = threading.Thread(target=self._tell, args=(story,), daemon=True)
        try:
            teller.start()
            while not self._told or (
                self.ended.total() < self.kills and time.monotonic() < self.until
            ):
                self._life(zygote)
            self._last_life(zygote)
            self._end(story)
            teller.join()
            return wrong(story)
        finally:
            self._stop = True
            zygote.close()

    def _last_life(self, zygote: Zygote) -> None:
        """The one that does what is left."""
        zygote.start("one")

    def _life(self, zygote: Zygote) -> None:
        """One life and its end."""
        kind = self.chance.choice(("step", "step", "request", "request", "moment"))
        worker = self.chance.choice(("one", "one", "two"))
        when = self.chance.choice(("before", "after"))
        number = self.chance.randint(1, 6)
        faults = self._at_request(zygote.kill, number, when) if kind == "request" else []
        zygote.start(worker, number if kind == "step" else 0, when)
        # One in five dies while it starts.
        if kind != "moment" or self.chance.random() < 0.8:
            self._ready(zygote)
        reached = zygote.died(self.chance.uniform(0.0, _LONGEST) if kind == "moment" else _LONGEST)
        zygote.kill()
        zygote.died(60)
        for fault in faults:
            fault.times = 0
        self.ended[f"{kind} {when}" if reached and kind != "moment" else "moment"] += 1
        if self.ended.total() % 100 == 0:
            print(f"killed {self.ended.total()} times", file=sys.stderr, flush=True)
        # GitHub's limits would have the bot wait, and nothing else.
        self.fake.content_writes.clear()
        self.fake.rate_remaining = 10**9

    def _ready(self, zygote: Zygote) -> None:
        while not zygote.died(0.03):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.bot.port), 1):
                return

    def _at_request(self, kill: Callable[[], None], number: int, when: Any) -> list[Any]:
        left = [number]

        def strike() -> Answer | None:
            left[0] -= 1
            if left[0] != 0:
                return None
            kill()
            # Nothing comes of a request that did not arrive, not even later.
            return Answer(500, {}) if when == "before" else None

        return [
            self.fake.fault(m, "", strike, when=when, times=10**6)
            for m in ("GET", "POST", "PATCH", "PUT")
        ]

    def _tell(self, story: Story) -> None:
        """The deliveries, spread evenly over the kills."""
        each = self.kills / (self.pulls * PER_PULL)
        for n, delivery in enumerate(story.told(self.pulls)):
            while (
                self.ended.total() < n * each and time.monotonic() < self.until and not self._stop
            ):
                time.sleep(0.02)
            self._deliver(delivery)
            for ended in list(story.gpu_runs()):
                self._deliver(ended)
        self._told = True
        while not self._stop:
            for ended in list(story.gpu_runs()):
                self._deliver(ended)
            time.sleep(0.2)

    def _deliver(self, delivery: Any) -> None:
        def wait() -> None:
            time.sleep(0.05)
            if self._stop:
                raise SystemExit

        deliver(self.fake, delivery, wait)

    def _end(self, story: Story) -> None:
        """Wait until all work has ended, and no more comes of it. On a slow machine that takes as
        long as it takes: work without an end is what stands where it stood for `_STANDS`."""

        def left(client: DBOSClient) -> set[str]:
            self.fake.content_writes.clear()
            found = client.list_workflows(
                status=["ENQUEUED", "DELAYED", "PENDING"], load_input=False
            )
            ids = {w.workflow_id for w in found}
            return {one for one in ids if not one.startswith("ci-refresh-")}

        quiet, before, changed = 0, set[str](), time.monotonic()
        client = DBOSClient(system_database_url=self.bot.database)
        while quiet < 5 and time.monotonic() < changed + _STANDS:
            now = left(client)
            if now != before:
                before, changed = now, time.monotonic()
            quiet = 0 if now or story.gpu_waiting() else quiet + 1
            time.sleep(0.3)
        client.destroy()
        self._stop = True


@contextmanager
def stage(database: str) -> Iterator[tuple[FakeGitHub, Bot]]:
    """A GitHub, and a bot that has yet to start on that database."""
    with (
        tempfile.TemporaryDirectory() as name,
        postgres() if database == "postgresql" else nullcontext("") as url,
        serving(FakeGitHub(Path(name) / "github")) as fake,
    ):
        (Path(name) / "bot").mkdir()
        bot = Bot(fake, Path(name) / "bot")
        bot.settings |= SETTINGS | ({"SPECBOT_DATABASE_URL": url} if url else {})
        yield fake, bot


def tried(
    kills: int, pulls: int, seed: int, database: str, seconds: float = 1e9
) -> tuple[list[str], Counter[str]]:
    """What was wrong, and how the lives ended."""
    with stage(database) as (fake, bot):
        trial = Trial(fake, bot, kills, pulls, time.monotonic() + seconds, random.Random(seed))
        return trial.run(), trial.ended


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.workflows.crashes", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument(
        "--kills", type=int, default=1000, metavar="N", help="how often (default 1000)"
    )
    parser.add_argument(
        "--pulls",
        type=int,
        default=20,
        metavar="N",
        help=f"of {PER_PULL} deliveries each (default 20)",
    )
    parser.add_argument(
        "--seed", type=int, default=7, metavar="N", help="another seed, other moments (default 7)"
    )
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument(
        "--seconds", type=float, default=1e9, metavar="S", help="no more kills after so long"
    )
    parser.add_argument(
        "--boundaries",
        action="store_true",
        help="at every step's end in turn, and nowhere at random",
    )
    args = parser.parse_args()
    # As Ctrl-C does: what was started is ended, and what was written is deleted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    begun = time.monotonic()
    if args.boundaries:
        return _boundaries(args.database)
    found, ended = tried(args.kills, args.pulls, args.seed, args.database, args.seconds)
    took, ends = (
        time.monotonic() - begun,
        ", ".join(f"{count} {kind}" for kind, count in sorted(ended.items())),
    )
    told = f"{args.database}, seed {args.seed}: {args.pulls * PER_PULL} deliveries, killed {ended.total()} times"
    print(f"{told} ({ends}), {took:.0f} s")
    print("\n".join(found) or "nothing lost, nothing twice")
    return int(bool(found))


def _boundaries(database: str) -> int:
    from tests.workflows import crash_boundaries

    begun = time.monotonic()
    found, known, struck = crash_boundaries.tried(database)
    told = f"{database}: killed at {struck} of {known} step boundaries of {len(crash_boundaries.CHAPTERS)} chapters"
    print(f"{told}, {time.monotonic() - begun:.0f} s")
    print("\n".join(found) or "nothing lost, nothing twice")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
