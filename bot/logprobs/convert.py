"""`specbot logprobs convert`: records out of what engines answered."""

from __future__ import annotations

import argparse

from bot.files import write_output
from bot.logprobs.files import read_records
from checks.logprobs.jsonl import write


def run(args: argparse.Namespace) -> int:
    """Write the records of the input file."""
    write_output("".join(write(record).decode() for record in read_records(args.input)), args.output)
    return 0
