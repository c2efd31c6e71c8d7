"""`python -m tests.workflows.faults`: what a service must bear beside its own death, one after the
other, and nothing is lost, done twice, or left without an end.

The story of `tests.workflows.crashes` is told while GitHub answers 429, 502 and 422, is slow or
away, while the database is locked or, with PostgreSQL, ends at once and starts again, while the disk
is full, while the clock is an hour wrong, and while the bot is killed. `--faults N` says how many
there are. With `--log FILE` the bot's log stays, with a line for each fault at its place in it.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import sqlalchemy as sa
from dbos import DBOSClient

from bot.db.engine import engine_for
from tests.fake_github import Answer
from tests.workflows.crash_story import PER_PULL, Story
from tests.workflows.crashes import Trial, Zygote, stage
from tests.workflows.databases import kill_server
from tests.workflows.small_disk import full, mount_small_disk

_METHODS = ("GET", "POST", "PATCH", "PUT")
_AWAY = 3.0
_HOUR = 3600.0
# Seconds. Work that ended in an error is ordered again after half a minute, and then after two.
_AGAIN = 240.0
# Seconds. Twice as often as lost deliveries are looked for, see `_trial`.
_LOOKED_FOR = 25.0


@dataclass
class FaultTrial(Trial):
    """The story told to a bot that lives on through most of what happens."""

    github_refuses: bool = True
    lives: bool = False
    away: float = _AWAY
    disk: Path | None = None
    servers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def is_postgresql(self) -> bool:
        return self.bot.database.startswith("postgresql")

    def _life(self, zygote: Zygote) -> None:
        if not self.lives:
            zygote.start("one")
            self._ready(zygote)
            self.lives = True
        kinds: dict[str, Callable[[Zygote], None]] = {
            "kill": self._kill,
            "away": self._network_away,
            "slow": self._slow,
            "429": lambda _: self._answered(429),
            "502": lambda _: self._answered(502),
            "422": lambda _: self._answered(422),
            "lock": lambda _: self._locked(),
            "clock": self._clock_wrong,
        }
        if self.is_postgresql:
            kinds["restart"] = lambda _: self._restarted()
        if self.disk is not None:
            kinds["full disk"] = lambda _: self._disk_full()
        kind = self.chance.choice(sorted(kinds))
        self._note(kind)
        kinds[kind](zygote)
        self.ended[kind] += 1
        if zygote.died(self.chance.uniform(0.1, 1.0)):
            self.ended["died of it"] += 1
            self.lives = False
        self.fake.content_writes.clear()
        self.fake.rate_remaining = 10**9

    def _note(self, kind: str) -> None:
        """Say in the bot's log what begins now."""
        line = {"event": "fault", "kind": kind, "timestamp": datetime.now(UTC).isoformat()}
        with self.bot.log.open("a") as log:
            log.write(json.dumps(line) + "\n")

    def _last_life(self, zygote: Zygote) -> None:
        """The present one, where it lives."""
        if not self.lives:
            zygote.start("one")

    def _kill(self, zygote: Zygote) -> None:
        zygote.kill()
        zygote.died(60)
        self.lives = False

    def _clock_wrong(self, zygote: Zygote) -> None:
        zygote.set_clock(self.chance.choice((-_HOUR, _HOUR)))
        time.sleep(self.chance.uniform(0.2, _AWAY))
        zygote.set_clock(0)

    def _network_away(self, _: Zygote) -> None:
        self._for(self.chance.uniform(0.2, self.away), "drop")

    def _slow(self, _: Zygote) -> None:
        self._for(self.chance.uniform(0.2, 1.0), 1.5)

    def _for(self, seconds: float, what: Any) -> None:
        """Every request goes wrong in one way for so long."""
        when = self.chance.choice(("before", "after")) if what == "drop" else "before"
        faults = [self.fake.fault(m, "", what, when=when, times=10**6) for m in _METHODS]
        time.sleep(seconds)
        for fault in faults:
            fault.times = 0

    def _answered(self, status: int) -> None:
        """One of the next requests is refused; GitHub refuses no token with 422."""
        method = self.chance.choice(_METHODS[:3])
        path = "/(check-runs|reviews|comments|pulls)" if status == 422 else ""
        headers = {"retry-after": "1"} if status == 429 else {}
        answer = Answer(status, {"message": "no"}, headers)
        fault = self.fake.fault(method, path, answer)
        time.sleep(0.5)
        fault.times = 0

    def _locked(self) -> None:
        """Somebody else has the tables, for longer than a step takes."""
        engine = engine_for(self.bot.database)
        with suppress(sa.exc.SQLAlchemyError), engine.begin() as connection:
            if self.is_postgresql:
                connection.execute(sa.text("LOCK TABLE specbot_pulls, specbot_writes"))
            else:
                connection.exec_driver_sql("BEGIN EXCLUSIVE")
            time.sleep(self.chance.uniform(0.2, 2.0))
        engine.dispose()

    def _restarted(self) -> None:
        """PostgreSQL ends at once, as in a power cut, and starts again."""
        with suppress(sa.exc.SQLAlchemyError):
            stopped = kill_server(self.bot.database)
            time.sleep(self.chance.uniform(0.0, _AWAY))
            self.servers.append(stopped.start())

    def _disk_full(self) -> None:
        assert self.disk is not None
        with full(self.disk):
            time.sleep(self.chance.uniform(0.2, _AWAY))

    def _end(self, story: Story) -> None:
        """What was not delivered, and what ended in an error, is waited for too: it is done again."""
        end = time.monotonic() + _AGAIN
        time.sleep(_LOOKED_FOR)
        super()._end(story)
        while self.unfinished() and time.monotonic() < end:
            time.sleep(1.0)
            super()._end(story)

    def unfinished(self) -> list[str]:
        """Work that ended in an error and was not done since."""
        client = DBOSClient(system_database_url=self.bot.database)
        failed = client.list_workflows(status=["ERROR"], load_input=False)
        done = {w.workflow_id for w in client.list_workflows(status=["SUCCESS"], load_input=False)}
        client.destroy()
        return [
            f"{w.name} {w.workflow_id} ended in an error: {w.error}"
            for w in failed
            if not any(f"{w.workflow_id.split('~')[0]}~{n}" in done for n in range(1, 6))
        ]

    def close(self) -> None:
        for server in self.servers:
            with suppress(ProcessLookupError):
                server.send_signal(signal.SIGINT)
            server.wait()


@contextmanager
def _trial(args: argparse.Namespace) -> Iterator[FaultTrial]:
    with stage(args.database) as (fake, bot):
        bot.settings |= {
            "SPECBOT_RETRY_FAILED_EVERY": "2",
            "SPECBOT_RECONCILE_EVERY": "10",
            "SPECBOT_REDELIVER_EVERY": "10",
        }
        if args.log is not None:
            bot.log = args.log.absolute()
        end = time.monotonic() + args.seconds
        chance = Random(args.seed)
        trial = FaultTrial(fake, bot, args.faults, args.pulls, end, chance, away=args.away)
        disk = bot.directory / "data"
        with mount_small_disk(disk) as is_mounted:
            trial.disk = disk if is_mounted else None
            try:
                yield trial
            finally:
                trial.close()


def _tried(args: argparse.Namespace) -> tuple[list[str], Counter[str]]:
    """What was wrong, and which faults there were."""
    with _trial(args) as trial:
        found = trial.run()
        return [*found, *trial.unfinished()], trial.ended


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.workflows.faults", description=__doc__.split("\n\n")[0]
    )
    add = parser.add_argument
    add("--faults", type=int, default=2000, metavar="N", help="how many (default 2000)")
    add("--pulls", type=int, default=20, metavar="N", help=f"of {PER_PULL} deliveries each")
    add("--seed", type=int, default=7, metavar="N", help="another seed, other faults (default 7)")
    add("--database", choices=("sqlite", "postgresql"), default="sqlite")
    add("--seconds", type=float, default=1e9, metavar="S", help="no more faults after so long")
    add("--away", type=float, default=_AWAY, metavar="S", help="the network, at most so long")
    add("--log", type=Path, metavar="FILE", help="keep the bot's log there")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    found, kinds = _tried(args)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(f"{args.database}, seed {args.seed}: {args.pulls * PER_PULL} deliveries, {told}")
    print("\n".join(found) or "nothing lost, nothing twice, nothing without an end")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
