"""What the person says about the engine behind an answer."""

from __future__ import annotations

import argparse

from checks.logprobs.record import RecordOrigin, Scalar


def origin(args: argparse.Namespace) -> RecordOrigin:
    """The options of `bot.cli.logprobs` as an `Origin`."""
    return RecordOrigin(
        args.model, args.mode, args.device, args.engine, args.engine_version, args.logits_dtype
    )


def speculative(args: argparse.Namespace) -> dict[str, Scalar]:
    """What is said about speculative decoding; empty where nothing is."""
    said = {"proposer": args.proposer, "num_speculative_tokens": args.num_speculative_tokens}
    return {name: value for name, value in said.items() if value is not None}
