"""`specbot worker`: workers alone, for a second host."""

from __future__ import annotations

import argparse
import os
import signal
import threading

from prometheus_client import start_http_server

from bot import logs
from bot.context import state_metrics
from bot.context.service_context import ServiceContext
from bot.db.deliveries import open_store
from bot.errors import UserError
from bot.files import make_private_folder
from bot.settings import load
from bot.tempdir import private_tempdir
from bot.worker_name import own_name
from bot.workflows.worker import QUEUES, Worker, usual_queues

# Where the web side is on the same machine, webhooks are answered first.
_PRIORITY = 5


def run(args: argparse.Namespace) -> int:
    """Work on the queues that are named until the process is told to end."""
    named = _named_queues(args.queues)
    settings = load(args.config)
    queues = named or usual_queues(settings)
    logs.set_up()
    os.nice(_PRIORITY)
    make_private_folder(settings.data_dir)
    store = open_store(settings)
    context = ServiceContext.build(settings, store)
    state_metrics.register(store.engine, settings.data_dir, settings.writes_per_hour)
    if settings.metrics_port is not None:
        serve_metrics(settings.host, settings.metrics_port)
    ended = threading.Event()
    for sent in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sent, lambda *_: ended.set())
    with private_tempdir(settings.data_dir), own_name(settings, "-".join(queues)) as name:
        worker = Worker(context, queues, name)
        try:
            worker.start()
            ended.wait()
        finally:
            worker.stop()
            store.close()
    return 0


def _named_queues(text: str | None) -> tuple[str, ...]:
    """The queues of `--queues`, each once; none where it is not given. Raises `UserError`."""
    if not text:
        return ()
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in QUEUES:
            raise UserError("unknown-queue", name=name, known=QUEUES)
    # Who names the old one means what people said: it is two queues now.
    if "comments" in names:
        names.append("commands")
    return tuple(dict.fromkeys(names))


def serve_metrics(host: str, port: int) -> None:
    """Serve `/metrics` at a port of its own: that of the web side is everybody's."""
    try:
        start_http_server(port, host)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError("no-port", host=host, port=port, reason=reason) from None
