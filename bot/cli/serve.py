"""`specbot serve`: the web side, and with `--role all` the workers in the same process."""

from __future__ import annotations

import argparse
import signal
import socket
from contextlib import closing, suppress

import uvicorn
from starlette.applications import Starlette

from bot import logs
from bot.cli.worker import serve_metrics
from bot.context import state_metrics
from bot.context.service_context import ServiceContext
from bot.db.deliveries import Store, open_store
from bot.db.repositories import Repositories
from bot.db.sessions import Sessions
from bot.errors import UserError
from bot.files import make_private_folder
from bot.settings import Settings, load
from bot.tempdir import private_tempdir
from bot.web.access import Access
from bot.web.html_response import with_headers
from bot.web.page_store import PageStore
from bot.web.publicity import Publicity
from bot.web.routes import routes
from bot.webhooks.app import application
from bot.webhooks.prompt_protocol import PromptProtocol
from bot.worker_name import own_name
from bot.workflows.worker import Worker, usual_queues


class _Terminated(BaseException):
    """SIGTERM, on its way up to where the process ends.

    Like `KeyboardInterrupt` it is no `Exception`: no handler on the way may swallow it.
    """


def run(args: argparse.Namespace) -> int:
    """Serve until the process is told to end."""
    settings = load(args.config, host=args.host, port=args.port)
    logs.set_up()
    make_private_folder(settings.data_dir)
    # Listening comes first: what arrives while the rest starts waits, instead of being refused.
    with (
        closing(open_listener(settings.host, settings.port)) as listener,
        closing(open_store(settings)) as store,
    ):
        # uvicorn ends in good order at the signal, and then sends it once more to this process.
        signal.signal(signal.SIGTERM, _terminate)
        with suppress(_Terminated), private_tempdir(settings.data_dir):
            _serve(settings, store, listener, work=args.role == "all")
    return 0


def _serve(settings: Settings, store: Store, listener: socket.socket, *, work: bool) -> None:
    context = ServiceContext.build(settings, store)
    page_store = PageStore(store.engine)
    known = Repositories(store.engine)
    publicity = Publicity(context.app, known, page_store.set_private)
    access = Access(settings.oauth, Sessions(store.engine), known)
    pages = routes(page_store, access, settings.github_server_url, publicity)
    state_metrics.register(store.engine, settings.data_dir, settings.writes_per_hour)
    if settings.metrics_port is not None:
        serve_metrics(settings.host, settings.metrics_port)
    secrets, largest = settings.webhook_secrets, settings.largest_webhook
    app = application(store, secrets, largest, settings.data_dir, pages)
    server = web_server(app)
    if not work:
        server.run([listener])
        return
    with own_name(settings, "all") as name:
        worker = Worker(context, usual_queues(settings), name)
        try:
            worker.start()
            server.run([listener])
        finally:
            worker.stop()


def web_server(app: Starlette) -> uvicorn.Server:
    """What serves `app` to strangers."""
    # A connection closed for idleness just when GitHub uses it again is a lost delivery. With
    # uvicorn's own five seconds that happens on a busy machine.
    config = uvicorn.Config(
        with_headers(app),
        http=PromptProtocol,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_keep_alive=75,
    )
    return uvicorn.Server(config)


def _terminate(*_: object) -> None:
    raise _Terminated


def open_listener(host: str, port: int) -> socket.socket:
    """A socket that takes connections there. Raises `UserError` where that cannot be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError("no-port", host=host, port=port, reason=reason) from None
    # uvicorn sends the head and the body of an answer apart, and the second would wait 40 ms for
    # the first to be acknowledged. asyncio sees to that only for sockets that name their protocol;
    # here connections inherit it.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
