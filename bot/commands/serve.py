"""`specbot serve`: the web side, and with `--role all` the workers in the same process."""

from __future__ import annotations

import argparse
import socket

import uvicorn

from bot.errors import UserError
from bot.service import logs
from bot.service.machine import Machine
from bot.service.settings import load
from bot.service.store import open_store
from bot.service.web import application
from bot.service.worker import QUEUES, Worker


def run(args: argparse.Namespace) -> int:
    """Serve until the process is told to end."""
    settings = load(args.config, host=args.host, port=args.port)
    logs.set_up()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    # Listening comes first: what arrives while the rest starts waits in line, instead of being refused.
    listener = _listen(settings.host, settings.port)
    store = open_store(settings)
    worker = Worker(Machine.build(settings, store), QUEUES, settings.executor("all")) if args.role == "all" else None
    app = application(store, settings.webhook_secrets, settings.largest_webhook)
    try:
        if worker is not None:
            worker.start()
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
        uvicorn.Server(config).run([listener])
    finally:
        if worker is not None:
            worker.stop()
        store.close()
        listener.close()
    return 0


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UserError("no-port", host=host, port=port, reason=error.strerror or str(error)) from None
