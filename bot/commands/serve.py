"""`specbot serve`: the web side, and with `--role all` the workers in the same process."""

from __future__ import annotations

import argparse

import uvicorn

from bot.service import logs
from bot.service.machine import Machine
from bot.service.settings import Settings, load
from bot.service.store import open_store
from bot.service.web import application
from bot.service.worker import QUEUES, Worker


def run(args: argparse.Namespace) -> int:
    """Serve until the process is told to end."""
    settings = load(args.config)
    logs.set_up()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    store = open_store(settings)
    worker = Worker(Machine.build(settings, store), QUEUES, settings.executor("all")) if args.role == "all" else None
    try:
        if worker is not None:
            worker.start()
        _serve(settings, args, application(store, settings.webhook_secrets, settings.largest_webhook))
    finally:
        if worker is not None:
            worker.stop()
        store.close()
    return 0


def _serve(settings: Settings, args: argparse.Namespace, app: object) -> None:
    host, port = args.host or settings.host, settings.port if args.port is None else args.port
    uvicorn.run(app, host=host, port=port, log_config=None, access_log=False, lifespan="off")  # type: ignore[arg-type]
