"""`specbot logprobs convert`: records out of what engines answered."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from bot.errors import UserError
from bot.files import write_chunks
from bot.logprobs.files import read_records, reading
from bot.logprobs.origin import origin, speculative
from checks.logprobs.cells import ResponseError
from checks.logprobs.convert import convert
from checks.logprobs.jsonl import BEGINNING, write
from checks.logprobs.openai import KnownRequest
from checks.logprobs.record import Record


def run(args: argparse.Namespace) -> int:
    """Write the records of the input file."""
    records = read_records(args.input) if _are_records(args.input) else _convert_file(args)
    write_chunks((write(record, packed=not args.plain) for record in records), args.output)
    return 0


def _are_records(name: str) -> bool:
    with reading(name) as file:
        return file.read(len(BEGINNING)) == BEGINNING


def _convert_file(args: argparse.Namespace) -> Iterator[Record]:
    request = KnownRequest(
        id=args.id,
        prompt=args.prompt,
        origin=origin(args),
        speculative=speculative(args),
        steps=args.steps,
    )
    with reading(args.input) as file:
        data = file.read()
    try:
        yield from convert(data, request)
    except ResponseError as error:
        raise UserError(f"response-{error.key}", where=args.input, **error.args_) from error
