"""`specbot worker`: workers alone, for a second host."""

from __future__ import annotations

import argparse
import os
import signal
import threading

from prometheus_client import start_http_server

from bot import logs
from bot.context.service_context import Machine
from bot.db.deliveries import open_store
from bot.errors import UserError
from bot.settings import load
from bot.tempdir import scratch
from bot.webhooks.turns import take_short_turns
from bot.workflows.worker import QUEUES, Worker, usual_queues

# Where the web side is on the same machine, webhooks are answered first.
_PRIORITY = 5


def run(args: argparse.Namespace) -> int:
    """Work on the queues that are named until the process is told to end."""
    named = (
        tuple(dict.fromkeys(name.strip() for name in args.queues.split(","))) if args.queues else ()
    )
    unknown = [name for name in named if name not in QUEUES]
    if unknown:
        raise UserError("unknown-queue", name=unknown[0], known=QUEUES)
    settings = load(args.config)
    queues = named or usual_queues(settings)
    logs.set_up()
    os.nice(_PRIORITY)
    take_short_turns()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    store = open_store(settings)
    worker = Worker(Machine.build(settings, store), queues, settings.executor("-".join(queues)))
    if settings.metrics_port is not None:
        _tell_numbers(settings.host, settings.metrics_port)
    ended = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ended.set())
    with scratch(settings.data_dir):
        try:
            worker.start()
            ended.wait()
        finally:
            worker.stop()
            store.close()
    return 0


def _tell_numbers(host: str, port: int) -> None:
    """Serve `/metrics`, which a host that only works has no web side for."""
    try:
        start_http_server(port, host)
    except OSError as error:
        raise UserError(
            "no-port", host=host, port=port, reason=error.strerror or str(error)
        ) from None
