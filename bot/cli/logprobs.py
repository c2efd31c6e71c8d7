"""`specbot logprobs`: record, convert and compare the logprobs of an engine, and keep baselines."""

from __future__ import annotations

import argparse

from bot.logprobs import accept, convert, diff, record

_ACTIONS = {
    "convert": convert.run,
    "record": record.run,
    "diff": diff.run,
    "accept": accept.accept,
    "baselines": accept.show,
}


def run(args: argparse.Namespace) -> int:
    """The action's exit code."""
    return _ACTIONS[args.action](args)
