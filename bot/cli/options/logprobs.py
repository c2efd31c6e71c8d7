"""The options of `specbot logprobs`."""

from __future__ import annotations

import argparse

from bot.cli.options.values import count, duration, integer, number, positive, text
from bot.i18n.catalog import Catalog

_DIFF_FORMATS = ("terminal", "markdown", "json")


def add_logprobs_actions(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The actions of `specbot logprobs` and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, key: str) -> argparse.ArgumentParser:
        return actions.add_parser(name, help=words(key), parents=[shared], allow_abbrev=False)

    _add_convert_options(action("convert", "logprobs.convert"), words)
    _add_record_options(action("record", "logprobs.record"), words)
    _add_diff_options(action("diff", "comparison.help"), words)
    _add_accept_options(action("accept", "logprobs.accept"), words)
    _add_baselines_options(action("baselines", "logprobs.baselines"), words)


def _add_convert_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    add = parser.add_argument
    add("input", metavar="IN", help=words("logprobs.convert-input"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))
    add("--plain", action="store_true", help=words("logprobs.convert-plain"))
    add("--id", type=text, default="request", metavar="ID", help=words("logprobs.convert-id"))
    add("--prompt", type=text, metavar="TEXT", help=words("logprobs.convert-prompt"))
    add("--model", type=text, default="unknown", metavar="M", help=words("logprobs.convert-model"))
    _add_origin_options(parser, words)


def _add_origin_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """What an answer does not say about the engine that gave it."""
    add = parser.add_argument
    add(
        "--mode",
        choices=("raw", "processed", "unknown"),
        default="unknown",
        help=words("logprobs.mode"),
    )
    add("--device", type=text, default="unknown", metavar="NAME", help=words("logprobs.device"))
    add("--engine", type=text, default="unknown", metavar="NAME", help=words("logprobs.engine"))
    add(
        "--engine-version",
        type=text,
        default="unknown",
        metavar="V",
        help=words("logprobs.engine-version"),
    )
    add(
        "--logits-dtype",
        type=text,
        default="unknown",
        metavar="T",
        help=words("logprobs.logits-dtype"),
    )
    add("--proposer", type=text, metavar="NAME", help=words("logprobs.proposer"))
    add(
        "--num-speculative-tokens",
        type=count,
        metavar="N",
        help=words("logprobs.num-speculative-tokens"),
    )
    add("--steps", action="store_true", help=words("logprobs.steps"))


def _add_record_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    add = parser.add_argument
    add(
        "--endpoint",
        type=text,
        required=True,
        metavar="URL",
        help=words("logprobs.record-endpoint"),
    )
    add("--model", type=text, required=True, metavar="M", help=words("logprobs.record-model"))
    add("--prompts", required=True, metavar="F", help=words("logprobs.record-prompts"))
    add("-o", "--output", required=True, metavar="F", help=words("logprobs.record-output"))
    add("--api", choices=("chat", "completions"), default="chat", help=words("logprobs.record-api"))
    add(
        "--top-logprobs",
        type=count,
        default=5,
        metavar="K",
        help=words("logprobs.record-top-logprobs"),
    )
    add(
        "--max-tokens",
        type=positive,
        default=128,
        metavar="N",
        help=words("logprobs.record-max-tokens"),
    )
    add(
        "--temperature",
        type=number,
        default=0.0,
        metavar="T",
        help=words("logprobs.record-temperature"),
    )
    add("--top-p", type=number, metavar="P", help=words("logprobs.record-top-p"))
    add("--top-k", type=integer, metavar="N", help=words("logprobs.record-top-k"))
    add("--seed", type=integer, metavar="N", help=words("logprobs.record-seed"))
    add("--stream", action="store_true", help=words("logprobs.record-stream"))
    add(
        "--concurrency",
        type=positive,
        default=8,
        metavar="N",
        help=words("logprobs.record-concurrency"),
    )
    add(
        "--timeout",
        type=duration,
        default=300.0,
        metavar="S",
        help=words("logprobs.record-timeout"),
    )
    add("--retries", type=count, default=5, metavar="N", help=words("logprobs.record-retries"))
    _add_origin_options(parser, words)


def _add_diff_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    add = parser.add_argument
    add("base", nargs="?", metavar="BASE", help=words("comparison.help-base"))
    add("head", metavar="HEAD", help=words("comparison.help-head"))
    add("--store", metavar="DIR", help=words("logprobs.diff-store"))
    add("--aa", nargs="+", metavar="FILE", help=words("comparison.help-aa"))
    add("-v", "--verbose", action="store_true", help=words("cli.verbose"))
    add("--format", choices=_DIFF_FORMATS, default="terminal", help=words("comparison.help-format"))
    add("--pictures", metavar="DIR", help=words("comparison.help-pictures"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))


def _add_accept_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    add = parser.add_argument
    add("record", metavar="RECORD", help=words("logprobs.accept-record"))
    add("--store", required=True, metavar="DIR", help=words("logprobs.accept-store"))
    add("--why", type=text, required=True, metavar="TEXT", help=words("logprobs.accept-why"))
    add("--who", type=text, metavar="NAME", help=words("logprobs.accept-who"))
    add("--verdict", metavar="FILE", help=words("logprobs.accept-verdict"))
    add("--at", type=text, metavar="TIME", help=words("logprobs.accept-at"))


def _add_baselines_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    add = parser.add_argument
    add("--store", default="baselines", metavar="DIR", help=words("logprobs.baselines-store"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))
