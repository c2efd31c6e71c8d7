"""`python -m tests.logprob_server`: prints its port, then serves until its input ends.

It answers as an engine would: several requests decode together, step by step, and a stream has a
chunk a step. Fields beyond the API come when a request asks for them, as vLLM, SGLang or (for a
model of that name) FastDeploy sends them.

A prompt with `!WHATxN` in it gets trouble the first N times it is asked: a status (`!500x2`),
`!slowx1` (no answer comes), or a stream that breaks off (`!dropx1`, `!silentx1`, `!errorx1`,
`!earlyx1`, `!emptyx1`). The model `locked` wants the key `s3cret`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import string
import sys
from collections import Counter
from collections.abc import AsyncIterator
from itertools import count
from threading import Thread

import torch
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kernels.decode import Engine, Model, Output, Request, Settings

TEXTS = string.ascii_letters + string.digits + " ."
FLOOR = -9999.0


class Serving:
    """The engine, its loop, and what becomes of each request."""

    def __init__(self) -> None:
        settings = Settings("mtp", 3, logprobs=20, max_bsz=4, max_model_len=256)
        self.engine = Engine(Model(seed=1), settings)
        self.news: dict[int, asyncio.Queue[tuple[Output, int, int]]] = {}
        self.wakened = asyncio.Event()
        self.arrivals = count(1)
        self.asked_before: Counter[str] = Counter()

    async def loop(self) -> None:
        while True:
            await self.wakened.wait()
            self.wakened.clear()
            while self.engine.busy:
                for progress in self.engine.step():
                    end = len(progress.output.tokens)
                    self.news[progress.number].put_nowait((progress.output, progress.first, end))
                await asyncio.sleep(0)

    async def steps(self, request: Request) -> AsyncIterator[tuple[Output, int, int]]:
        """(output, first, end) of the tokens of each step of a request."""
        number = self.engine.submit(request)
        queue = self.news[number] = asyncio.Queue()
        self.wakened.set()
        while True:
            output, first, end = await queue.get()
            last = output.finish_reason is not None and end == len(output.tokens)
            yield output, first, end
            if last:
                return


def encoded(prompt: object) -> tuple[int, ...]:
    """Ids of a text, of a chat's messages, or of ids."""
    if isinstance(prompt, str):
        return tuple(TEXTS.find(c) if c in TEXTS else ord(c) % len(TEXTS) for c in prompt)
    if prompt and isinstance(prompt[0], dict):
        return encoded(" ".join(message["content"] for message in prompt))
    return tuple(prompt)


def shown(token: int, asked: dict[str, object]) -> str:
    return f"token_id:{token}" if asked.get("return_tokens_as_token_ids") else TEXTS[token]


def floored(value: float) -> float:
    """JSON has no -inf: as vLLM sends it."""
    return max(value, FLOOR)


def entry(token: int, logprob: float, asked: dict[str, object]) -> dict[str, object]:
    text = shown(token, asked)
    return {"token": text, "logprob": floored(logprob), "bytes": list(text.encode())}


def chat_logprobs(
    output: Output, first: int, end: int, asked: dict[str, object]
) -> dict[str, object]:
    content = []
    for i in range(first, end):
        top = list(zip(output.topk_ids[i], output.topk_logprobs[i], strict=True))[
            : asked.get("top_logprobs", 0)
        ]
        made = entry(output.tokens[i], output.logprobs[i], asked)
        content.append(made | {"top_logprobs": [entry(*pair, asked) for pair in top]})
    return {"content": content}


def completion_logprobs(
    output: Output, first: int, end: int, asked: dict[str, object]
) -> dict[str, object]:
    rows = range(first, end)
    k = asked["logprobs"]
    tops = [
        dict(zip(output.topk_ids[i][:k], map(floored, output.topk_logprobs[i][:k]), strict=True))
        for i in rows
    ]
    return {
        "tokens": [shown(output.tokens[i], asked) for i in rows],
        "token_logprobs": [floored(output.logprobs[i]) for i in rows],
        "top_logprobs": [{shown(t, asked): lp for t, lp in top.items()} for top in tops],
        "text_offset": list(rows),
    }


def choice(output: Output, first: int, end: int, asked: dict[str, object], streamed: bool) -> dict:
    """A choice of an answer, or of a chunk of one, that brings the tokens from `first` to `end`."""
    ids = output.tokens[first:end]
    text = "".join(TEXTS[token] for token in ids)
    made: dict = {
        "index": 0,
        "finish_reason": output.finish_reason if end == len(output.tokens) else None,
    }
    body: dict = {"role": "assistant", "content": text}
    if "messages" in asked:
        made[("delta" if streamed else "message")] = body
        made["logprobs"] = (
            chat_logprobs(output, first, end, asked) if asked.get("logprobs") else None
        )
    else:
        made["text"] = text
        made["logprobs"] = (
            completion_logprobs(output, first, end, asked) if "logprobs" in asked else None
        )
    if asked.get("return_token_ids") and "fastdeploy" in asked["model"]:
        (body if "messages" in asked else made)["completion_token_ids"] = ids
    elif asked.get("return_token_ids"):
        made["token_ids"] = ids
    if asked.get("return_meta_info"):
        k = asked.get("top_logprobs", 0)
        made["meta_info"] = {
            "output_token_logprobs": [
                [lp, t, None] for t, lp in zip(ids, output.logprobs[first:end], strict=True)
            ],
            "output_top_logprobs": [
                [
                    [lp, t, None]
                    for t, lp in list(
                        zip(output.topk_ids[i], output.topk_logprobs[i], strict=True)
                    )[:k]
                ]
                for i in range(first, end)
            ],
        }
    return made


async def trouble(serving: Serving, prompt: object) -> Response | None:
    """What happens to this request instead of an answer."""
    found = re.search(r"!(\w+)x(\d+)", str(prompt))
    if found is None:
        return None
    serving.asked_before[str(prompt)] += 1
    what, times = found.groups()
    if serving.asked_before[str(prompt)] > int(times):
        return None
    if what.isdecimal():
        return JSONResponse(
            {"error": {"message": f"asked for a {what}"}}, int(what), {"Retry-After": "0"}
        )
    if what == "slow":
        await asyncio.sleep(3600)

    return StreamingResponse(broken(what), media_type="text/event-stream")


async def broken(how: str) -> AsyncIterator[str]:
    """A stream that does not get to its end: torn, silent about it, with an error, or with its end
    too early."""
    yield event(
        {
            "choices": []
            if how == "empty"
            else [{"index": 0, "delta": {}, "logprobs": {"content": []}}]
        }
    )
    if how == "drop":
        raise ConnectionResetError
    if how == "error":
        yield event({"error": {"message": "out of memory"}})
    if how in ("error", "early", "empty"):
        yield "data: [DONE]\n\n"


async def answer(http: HttpRequest) -> Response:
    serving: Serving = http.app.state.serving
    asked = await http.json()
    if asked["model"] == "locked" and http.headers.get("authorization") != "Bearer s3cret":
        return JSONResponse(
            {"error": {"message": f"wrong key: {http.headers.get('authorization')}"}}, 401
        )
    prompt = asked["messages"] if "messages" in asked else asked["prompt"]
    if (instead := await trouble(serving, prompt)) is not None:
        return instead
    try:
        request = Request(
            encoded(prompt),
            asked.get("max_tokens", 16),
            temperature=asked.get("temperature", 1.0),
            top_k=asked.get("top_k", 0),
            top_p=asked.get("top_p", 1.0),
            seed=asked.get("seed", 0),
        )
        steps = serving.steps(request)
        first = await anext(steps)
    except ValueError as error:
        return JSONResponse({"error": {"message": str(error)}}, 400)
    kind = "chat.completion" if "messages" in asked else "text_completion"
    body = {"id": f"{kind}-{next(serving.arrivals)}", "object": kind, "model": asked["model"]}
    if not asked.get("stream"):
        output = first[0]
        async for step in steps:
            output = step[0]
        made = choice(output, 0, len(output.tokens), asked, False)
        return JSONResponse(
            body | {"choices": [made], "usage": {"completion_tokens": len(output.tokens)}}
        )

    async def chunks() -> AsyncIterator[str]:
        chunk = body | {"object": "chat.completion.chunk" if "messages" in asked else kind}
        yield event(chunk | {"choices": [choice(*first, asked, True)]})
        async for step in steps:
            yield event(chunk | {"choices": [choice(*step, asked, True)]})
        yield event(chunk | {"choices": [], "usage": {"completion_tokens": 0}})
        yield "data: [DONE]\n\n"

    return StreamingResponse(chunks(), media_type="text/event-stream")


async def troubled(http: HttpRequest) -> Response:
    """How often prompts with trouble in them have been asked."""
    return JSONResponse(sum(http.app.state.serving.asked_before.values()))


def event(value: object) -> str:
    return f"data: {json.dumps(value)}\n\n"


def main() -> None:
    torch.set_num_threads(1)
    listening = socket.create_server(("127.0.0.1", 0))
    routes = [
        Route(f"/v1/{path}", answer, methods=["POST"])
        for path in ("chat/completions", "completions")
    ]
    app = Starlette(routes=[*routes, Route("/troubled", troubled)])
    app.state.serving = Serving()

    async def serve() -> None:
        running = asyncio.create_task(app.state.serving.loop())
        await uvicorn.Server(uvicorn.Config(app, log_level="critical")).serve(sockets=[listening])
        running.cancel()

    # Whoever started it holds the other end of its input: a test that is killed leaves no server
    # behind.
    Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    print(listening.getsockname()[1], flush=True)
    asyncio.run(serve())


if __name__ == "__main__":
    main()
