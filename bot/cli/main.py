"""The shell command: arguments in, an exit code out.

0 clean, 1 findings at or above `--fail-on`, 2 the person's error, 3 ours, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module

import bot
from bot.cli import completion
from bot.cli.arguments import Parser
from bot.cli.exit_codes import run_with_exit_code
from bot.cli.options import ci, device, kernels, logprobs, review, service
from bot.i18n.catalog import LANGUAGES, Catalog
from bot.packaging import require_extra

AddOptions = Callable[[argparse.ArgumentParser, Catalog], None]
AddActions = Callable[[argparse.ArgumentParser, argparse.ArgumentParser, Catalog], None]


@dataclass(frozen=True)
class _Command:
    """A command of the shell.

    `module` has `run(args) -> int` and is imported when the command is chosen: some commands need
    a database or a web server, which the others must not load. `help` is the key of its sentence.
    A command has options, or actions that have options of their own. `extra` is the optional part
    of the distribution that it needs, `extra_of_action` that of an action which needs another.
    """

    module: str
    help: str
    add_options: AddOptions | None = None
    add_actions: AddActions | None = None
    extra: str | None = None
    extra_of_action: Mapping[str, str] = field(default_factory=dict)


# In the order of the help.
_COMMANDS = {
    "review": _Command("review", "cli.review", review.add_review_options),
    "analyze": _Command("analyze", "cli.analyze", review.add_analyze_options),
    "report-false-positive": _Command(
        "false_positive", "cli.false-positive", review.add_false_positive_options
    ),
    "try": _Command("trial", "cli.try", review.add_try_options),
    "rules": _Command("rules", "cli.rules", review.add_rules_options),
    "eval": _Command("evaluate", "cli.eval", review.add_eval_options),
    "kernels": _Command(
        "kernels",
        "cli.kernels",
        add_actions=kernels.add_kernels_actions,
        extra="kernels",
        # It reads files of results, and runs nothing.
        extra_of_action={"diff": "logprobs"},
    ),
    "device": _Command(
        "device", "device.help", add_actions=device.add_device_actions, extra="device"
    ),
    "logprobs": _Command(
        "logprobs", "cli.logprobs", add_actions=logprobs.add_logprobs_actions, extra="logprobs"
    ),
    "ci": _Command("ci", "ci.cli-ci", add_actions=ci.add_ci_actions, extra="ci"),
    "serve": _Command("serve", "cli.serve", service.add_serve_options, extra="service"),
    "worker": _Command("worker", "cli.worker", service.add_worker_options, extra="service"),
    "app": _Command("app", "app.cli", add_actions=service.add_app_actions, extra="service"),
    "data": _Command("data", "data.cli", add_actions=service.add_data_actions, extra="service"),
    "config": _Command("config", "cli.config", add_actions=review.add_config_actions),
    "completion": _Command("completion", "cli.completion", review.add_completion_options),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    language = _language(arguments)
    return run_with_exit_code(lambda: _run(arguments, language), arguments, language)


def _run(arguments: list[str], language: str) -> int:
    parser = make_parser(language)
    if arguments[:2] == completion.QUESTION:
        return completion.answer(parser, arguments[2:])
    args = parser.parse_command(arguments)
    command = _COMMANDS[args.command]
    extra = command.extra_of_action.get(getattr(args, "action", ""), command.extra)
    if extra is not None:
        require_extra(extra)
    module = import_module(f"..{command.module}", __name__)
    code: int = module.run(args)
    return code


def _language(arguments: Sequence[str]) -> str:
    """What `--lang` says, else the locale's language where it is one of ours.

    It is read before the arguments are parsed: the parser's own sentences are in that language.
    """
    for i, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name != "--lang":
            continue
        if not value and i + 1 < len(arguments):
            value = arguments[i + 1]
        return value if value in LANGUAGES else "en"
    environ = os.environ
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    return "zh" if locale.lower().startswith("zh") else "en"


def make_parser(language: str) -> Parser:
    """The parser of every command, with its help in `language`."""
    words = Catalog(language)
    parser = Parser(prog="specbot", description=words("cli.description"), allow_abbrev=False)
    parser.add_argument("-V", "--version", action="version", version=f"specbot {bot.__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shared = Parser(add_help=False, allow_abbrev=False)
    shared.add_argument("--lang", choices=LANGUAGES, default=language, help=words("cli.lang"))
    for name, command in _COMMANDS.items():
        # Of a command with actions, each action takes the shared options.
        parents = [shared] if command.add_actions is None else []
        subparser = subparsers.add_parser(
            name, help=words(command.help), parents=parents, allow_abbrev=False
        )
        if command.add_options is not None:
            command.add_options(subparser, words)
        if command.add_actions is not None:
            command.add_actions(subparser, shared, words)
    parser.translate(words)
    return parser
