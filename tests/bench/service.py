"""`python -m tests.bench.service`: webhooks at a rate, on a bot that works them off at the same
time.

A minute of a busy repository's webhooks, sent to `specbot serve --role web` with a `specbot worker`
beside it, both on this machine, as are the fake GitHub and the sender. Every webhook is waited for
from when it was due. In the end each must have been taken, its work must have ended well, and each
pull request must have one review of its head.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import quantiles
from typing import Any

import sqlalchemy as sa

from bot.db.engine import engine_for
from tests.bench.service_sender import fire
from tests.bench.service_traffic import MIX, Traffic
from tests.fake_github import FakeGitHub, people, serving
from tests.workflows.conftest import SMALL_HEAD, Bot, free_port, small, until

_PULLS = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.service", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument(
        "--rate", type=float, default=200.0, metavar="N", help="webhooks a second (default 200)"
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="how long (default 60)"
    )
    parser.add_argument(
        "--together", action="store_true", help="one process for the web side and the workers"
    )
    parser.add_argument("-o", "--output", type=Path, help="write the numbers as JSON")
    parser.add_argument("--floor", action="store_true", help="of an application that does nothing")
    args = parser.parse_args()
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    with tempfile.TemporaryDirectory() as folder:
        measure = floor if args.floor else measured
        numbers = measure(Path(folder), args.rate, args.seconds, args.together)
    if args.output:
        args.output.write_text(json.dumps(numbers, indent=2) + "\n", "utf-8")


@dataclass(frozen=True)
class Sent:
    """What became of the requests: (status, seconds) of each, and the seconds until the work of all
    had ended."""

    answers: list[tuple[int, float]]
    after: float


def measured(folder: Path, rate: float, seconds: float, together: bool) -> dict[str, Any]:
    """Measure and print; the numbers for JSON. Exits where a webhook was not handled."""
    (folder / "bot").mkdir()
    with serving(FakeGitHub(folder / "github")) as fake:
        # GitHub's limits are another matter: they would make the reviews wait, and nothing else.
        fake.rate_remaining = 10**9
        bot, traffic = Bot(fake, folder / "bot"), _traffic(fake)
        requests = list(traffic.requests(int(rate * seconds)))
        try:
            sent = _sent(bot, requests, rate, together)
            _check(bot, traffic, sent)
        finally:
            bot.kill()
    return _told(sent, rate, requests)


def floor(folder: Path, rate: float, seconds: float, _: bool) -> dict[str, Any]:
    """The same webhooks for an application that answers and does nothing: what the sender and the
    server cost."""
    with serving(FakeGitHub(folder / "github")) as fake:
        requests, port = list(_traffic(fake).requests(int(rate * seconds))), free_port()
        process = subprocess.Popen([sys.executable, "-m", "tests.bench.service_empty", str(port)])
        try:
            until(lambda: _listens(port))
            answers = _fired(port, requests, rate)
        finally:
            process.terminate()
            process.wait()
    print("an application that answers and does nothing, which is the floor:")
    return _told(Sent(answers, 0.0), rate, requests)


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def _fired(port: int, requests: list[bytes], rate: float) -> list[tuple[int, float]]:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(fire, "127.0.0.1", port, requests, rate).result()


def _traffic(fake: FakeGitHub) -> Traffic:
    repo = small(fake)
    repo.roles["ada"] = "write"
    for n in range(_PULLS):
        repo.git.commit(f"b{n}", {"engine/step.py": f"{SMALL_HEAD}\nother({n})\n"}, parent="main")
    return Traffic(
        fake, repo, [people.open_pull(fake, repo, f"b{n}", send=False) for n in range(_PULLS)]
    )


def _sent(bot: Bot, requests: list[bytes], rate: float, together: bool) -> Sent:
    bot.start(*([] if together else ["--role", "web"]))
    if not together:
        bot.run("worker")
    answers = _fired(bot.port, requests, rate)
    end = time.monotonic()
    with engine_for(bot.database).connect() as connection:
        until(lambda: not _unfinished(connection), 600)
    return Sent(answers, time.monotonic() - end)


def _unfinished(connection: sa.Connection) -> int:
    asked = (
        "SELECT count(*) FROM workflow_status WHERE status IN ('ENQUEUED', 'DELAYED', 'PENDING')"
    )
    found = int(connection.execute(sa.text(asked)).scalar_one())
    connection.rollback()
    return found


def _check(bot: Bot, traffic: Traffic, sent: Sent) -> None:
    """Exit where something was lost, failed, or was done twice."""
    statuses = Counter(status for status, _ in sent.answers)
    with engine_for(bot.database).connect() as connection:
        stored = connection.execute(sa.text("SELECT count(*) FROM specbot_deliveries")).scalar_one()
        ended = connection.execute(
            sa.text("SELECT name, status, count(*) FROM workflow_status GROUP BY 1, 2")
        ).all()
    print("  work:", ", ".join(f"{count} {name} {status}" for name, status, count in ended))
    wrong = [f"{count} {name} {status}" for name, status, count in ended if status != "SUCCESS"]
    if statuses != {202: len(sent.answers)} or stored != len(sent.answers) or wrong:
        raise SystemExit(f"not handled: answers {dict(statuses)}, {stored} stored, {wrong}")
    for pull in traffic.pulls:
        if [review.commit_id for review in pull.live_reviews()] != [pull.head_sha]:
            raise SystemExit(f"pull request {pull.number} has {len(pull.live_reviews())} reviews")
    if traffic.fake.violations:
        raise SystemExit(traffic.fake.violations[0])


def _told(sent: Sent, rate: float, requests: list[bytes]) -> dict[str, Any]:
    times = sorted(1000 * seconds for _, seconds in sent.answers)
    cuts = quantiles(times, n=1000, method="inclusive")
    numbers = {"p50": cuts[499], "p99": cuts[989], "p99.9": cuts[998], "max": times[-1]}
    size = sum(map(len, requests)) / len(requests) / 1000
    mix = ", ".join(
        f"{share / 10:g} % {event} {action or ''}".strip() for (event, action), share in MIX.items()
    )
    print(
        f"{len(times)} webhooks at {rate:g} a second, {size:.0f} kB on average, all taken and handled: {mix}"
    )
    print(
        "  answered in ms: " + ", ".join(f"{name} {value:.1f}" for name, value in numbers.items())
    )
    print("  beside it: the same with --floor, an application that does nothing")
    print(f"  the last work ended {sent.after:.1f} s after the last answer")
    return {"rate": rate, "count": len(times), "after_s": sent.after, "ms": numbers}


if __name__ == "__main__":
    main()
