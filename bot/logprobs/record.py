"""`specbot logprobs record`: the logprobs of a running server, one record a prompt."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from bot.errors import UserError
from bot.i18n.catalog import Catalog
from bot.logprobs.client import Refused, Server, address
from bot.logprobs.journal import Journal, open_journal
from bot.logprobs.origin import origin, speculative
from bot.logprobs.progress import Progress
from bot.logprobs.prompts import Prompt, read_prompts
from checks.logprobs.cells import ResponseError
from checks.logprobs.openai import KnownRequest, records
from checks.logprobs.record import RecordOrigin, Scalar, prompt_hash

KEY_VARIABLE = "SPECBOT_API_KEY"
# How an engine is asked for the ids of its tokens, for which the API itself has no field.
_EXTRAS: dict[str, dict[str, Any]] = {
    "vllm": {"return_tokens_as_token_ids": True},
    "sglang": {"return_meta_info": True},
    "fastdeploy": {"return_token_ids": True},
}
_SAMPLING = ("max_tokens", "temperature", "top_p", "top_k", "seed")


@dataclass(frozen=True, slots=True)
class RecordingPlan:
    """What every request of a recording has in common."""

    model: str
    api: str
    stream: bool
    steps: bool
    top_logprobs: int
    origin: RecordOrigin
    sampling: dict[str, Scalar]
    speculative: dict[str, Scalar]

    def payload(self, prompt: Prompt) -> dict[str, Any]:
        """The request's body."""
        logprobs: dict[str, Any] = {"logprobs": self.top_logprobs}
        if self.api == "chat":
            logprobs = {"logprobs": True, "top_logprobs": self.top_logprobs}
        body = {"model": self.model, prompt.field: prompt.value}
        for name in _SAMPLING:
            if name in self.sampling:
                body[name] = self.sampling[name]
        body |= logprobs
        if self.stream:
            body["stream"] = True
        return body | _EXTRAS.get(self.origin.engine.lower(), {})

    def request(self, prompt: Prompt) -> KnownRequest:
        """What the record says beside the answer."""
        return KnownRequest(
            prompt.id, prompt.text, self.origin, self.sampling, self.speculative, self.steps
        )


@dataclass(frozen=True, slots=True)
class _Run:
    """What the workers share; `failures` by request id."""

    plan: RecordingPlan
    server: Server
    journal: Journal
    waiting: Iterator[Prompt]
    progress: Progress
    failures: dict[str, str] = field(default_factory=dict)


def run(args: argparse.Namespace) -> int:
    """Record what is not recorded yet; `UserError` where a request was refused or the server is
    gone.
    """
    prompts = read_prompts(args.prompts, args.api)
    plan = _plan(args)
    url = address(args.endpoint, args.api)
    with open_journal(args.output) as journal:
        _resume(journal, prompts, plan)
        before = len(journal.done)
        failures = asyncio.run(_record(args, url, plan, journal, prompts))
        if failures:
            first = next(prompt.id for prompt in prompts if prompt.id in failures)
            count, total = len(failures), len(prompts)
            raise UserError(
                "recording-failures", count=count, total=total, id=first, reason=failures[first]
            )
        journal.sort(prompt.id for prompt in prompts)
    words = Catalog(args.lang)
    line = words("logprobs.recorded", count=len(prompts), before=before, path=args.output)
    sys.stderr.write(f"{line}\n")
    return 0


def _plan(args: argparse.Namespace) -> RecordingPlan:
    if args.steps and not args.stream:
        raise UserError("recording-steps")
    if args.stream and args.engine.lower() == "sglang":
        raise UserError("recording-sglang-stream")
    given = {name: getattr(args, name) for name in _SAMPLING} | {"top_logprobs": args.top_logprobs}
    sampling = {name: value for name, value in given.items() if value is not None}
    return RecordingPlan(
        model=args.model,
        api=args.api,
        stream=args.stream,
        steps=args.steps,
        top_logprobs=args.top_logprobs,
        origin=origin(args),
        sampling=sampling,
        speculative=speculative(args),
    )


def _resume(journal: Journal, prompts: list[Prompt], plan: RecordingPlan) -> None:
    """Refuse a file that another command has begun: what its records say is held against what ours
    would say.
    """
    hashes = {prompt.id: prompt_hash(prompt.text) for prompt in prompts}
    for record in journal.load():
        speculative = record.speculative.items() >= plan.speculative.items()
        agreements = (
            ("origin", record.origin == plan.origin),
            ("sampling", record.sampling == plan.sampling),
            ("speculative", speculative),
            ("accept_num", (record.accept_num is not None) == plan.steps),
            ("prompt", hashes.get(record.id) == record.prompt_sha256),
        )
        for name, equal in agreements:
            if not equal:
                raise UserError("recording-other", path=str(journal.path), id=record.id, field=name)


async def _record(
    args: argparse.Namespace,
    url: str,
    plan: RecordingPlan,
    journal: Journal,
    prompts: list[Prompt],
) -> dict[str, str]:
    """Record the prompts that are not in the journal; why those failed that the server refused, by
    id.
    """
    left = [prompt for prompt in prompts if prompt.id not in journal.done]
    limits = httpx.Limits(max_connections=args.concurrency)
    key = _key()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(headers=headers, timeout=None, limits=limits) as client:
        server = Server(client, url, args.timeout, args.retries, key)
        with Progress(Catalog(args.lang), len(prompts), len(prompts) - len(left)) as progress:
            run = _Run(plan, server, journal, iter(left), progress)
            count = min(args.concurrency, len(left))
            workers = [asyncio.create_task(_work(run)) for _ in range(count)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
    return run.failures


async def _work(run: _Run) -> None:
    for prompt in run.waiting:
        try:
            body = await run.server.answer(run.plan.payload(prompt))
            # One choice was asked for.
            run.journal.append(records(body, run.plan.request(prompt))[0])
        except Refused as error:
            run.failures[prompt.id] = str(error)
        except ResponseError as error:
            details = {name: run.server.hidden(str(value)) for name, value in error.args_.items()}
            raise UserError(f"response-{error.key}", where=run.server.url, **details) from error
        run.progress.step()


def _key() -> str:
    """The key from the environment, "" for none."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key.isascii() or not all(character.isprintable() for character in key):
        raise UserError("recording-key", name=KEY_VARIABLE)
    return key
