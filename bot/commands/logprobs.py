"""`specbot logprobs`: record, convert and compare the logprobs of an engine, and keep baselines of them."""

from __future__ import annotations

import argparse

from bot.words import Words


def arguments(parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Words) -> None:
    """The actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=words(f"logprobs.{name}"), parents=[shared], allow_abbrev=False)

    _convert(action("convert"), words)


def run(args: argparse.Namespace) -> int:
    """The action's exit code."""
    from bot.logprobs import convert

    return convert.run(args)


def _convert(parser: argparse.ArgumentParser, words: Words) -> None:
    add = parser.add_argument
    add("input", metavar="IN", help=words("logprobs.convert-input"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))
