"""Logs: one JSON object a line on standard error, with delivery, pull request and workflow, and
without secrets."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import MutableMapping
from typing import Any

import structlog
from structlog.typing import Processor

from bot.redact import redact

_SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
)


def set_up() -> None:
    """Send our logs, those of the libraries, warnings and what ends a thread the same way."""
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _without_secrets,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        foreign_pre_chain=[structlog.stdlib.add_logger_name, *_SHARED],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers = []
    # DBOS gives its logger a handler of its own where it finds none.
    dbos = logging.getLogger("dbos")
    dbos.handlers, dbos.propagate = [handler], False
    # One line for every request of GitHub's is ours to write, with what it was about.
    for name in ("uvicorn.access", "httpx", "alembic", "dbos"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)
    threading.excepthook = _log_end_of_thread
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    )


def _log_end_of_thread(end: threading.ExceptHookArgs) -> None:
    thread = end.thread.name if end.thread else ""
    structlog.get_logger().error("thread ended", thread=thread, exc_info=end.exc_value)


def _without_secrets(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in event.items():
        event[key] = redact(value) if isinstance(value, str) else value
    return event
