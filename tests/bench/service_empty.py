"""`python -m tests.bench.service_empty PORT`: an application that reads a webhook and answers 202,
and nothing else."""

from __future__ import annotations

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bot.cli.serve import open_listener


async def webhook(request: Request) -> Response:
    await request.body()
    return JSONResponse({"outcome": "nothing"}, 202)


if __name__ == "__main__":
    app = Starlette(routes=[Route("/webhook", webhook, methods=["POST"])])
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", timeout_keep_alive=75
    )
    uvicorn.Server(config).run([open_listener("127.0.0.1", int(sys.argv[1]))])
