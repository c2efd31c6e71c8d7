"""The shell command: arguments in, an exit code out.

0 clean, 1 findings at or above `--fail-on`, 2 the person's error, 3 ours, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import bot
from bot.commands import app, ci, kernels, logprobs
from bot.edge import guarded
from bot.errors import UserError
from bot.reports import FORMATS
from bot.words import LANGUAGES, Words

_FAIL_ON = ("bug", "suggestion", "never")
_MODULES = {"eval": "evaluate"}
_PERSONAS = ("regular", "pedantic")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; the single place where errors become exit codes is `guarded`."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    language = _language(arguments)
    return guarded(lambda: _run(arguments, language), arguments, language)


def _run(arguments: list[str], language: str) -> int:
    args = _parser(Words(language), language).parse_args(arguments)
    # Each command is read when it is asked for: the shell command must start fast.
    module = import_module(f"bot.commands.{_MODULES.get(args.command, args.command)}")
    code: int = module.run(args)
    return code


def _language(arguments: Sequence[str]) -> str:
    """What `--lang` says, else the locale's language where it is one of ours."""
    for i, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name == "--lang":
            value = value or (arguments[i + 1] if i + 1 < len(arguments) else "")
            return value if value in LANGUAGES else "en"
    locale = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh" if locale.lower().startswith("zh") else "en"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError("usage", detail=message, command=self.prog)


def _parser(words: Words, language: str) -> argparse.ArgumentParser:
    parser = _Parser(prog="specbot", description=words("cli.description"), allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"specbot {bot.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shared = _Parser(add_help=False, allow_abbrev=False)
    shared.add_argument("--lang", choices=LANGUAGES, default=language, help=words("cli.lang"))
    _review(commands.add_parser("review", help=words("cli.review"), parents=[shared], allow_abbrev=False), words)
    _analyze(commands.add_parser("analyze", help=words("cli.analyze"), parents=[shared], allow_abbrev=False), words)
    rules = commands.add_parser("rules", help=words("cli.rules"), parents=[shared], allow_abbrev=False)
    rules.add_argument("id", nargs="?", metavar="ID", help=words("cli.rules-id"))
    _eval(commands.add_parser("eval", help=words("cli.eval"), parents=[shared], allow_abbrev=False), words)
    ops = commands.add_parser("kernels", help=words("cli.kernels"), allow_abbrev=False)
    kernels.arguments(ops, shared, words)
    described = commands.add_parser("logprobs", help=words("cli.logprobs"), allow_abbrev=False)
    logprobs.arguments(described, shared, words)
    ci.arguments(commands.add_parser("ci", help=words("ci.cli-ci"), allow_abbrev=False), shared, words)
    _service(commands, shared, words)
    app.arguments(commands.add_parser("app", help=words("app.cli"), allow_abbrev=False), shared, words)
    config = commands.add_parser("config", help=words("cli.config"), allow_abbrev=False)
    actions = config.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help=words("cli.config"), parents=[shared], allow_abbrev=False)
    check.add_argument("file", nargs="?", metavar="FILE", help=words("cli.config-file"))
    return parser


def _service(commands: argparse._SubParsersAction[_Parser], shared: _Parser, words: Words) -> None:
    serve = commands.add_parser("serve", help=words("cli.serve"), parents=[shared], allow_abbrev=False)
    serve.add_argument("--role", choices=("all", "web"), default="all", help=words("cli.serve-role"))
    serve.add_argument("--host", metavar="ADDRESS", help=words("cli.serve-host"))
    serve.add_argument("--port", type=int, metavar="N", help=words("cli.serve-port"))
    worker = commands.add_parser("worker", help=words("cli.worker"), parents=[shared], allow_abbrev=False)
    worker.add_argument("--queues", metavar="Q", help=words("cli.worker-queues"))
    for parser in (serve, worker):
        parser.add_argument("--config", metavar="FILE", help=words("cli.serve-config"))


def _eval(parser: argparse.ArgumentParser, words: Words) -> None:
    add = parser.add_argument
    add("cases", nargs="?", metavar="CASES", help=words("cli.eval-cases"))
    add("--repo", default=".", metavar="DIR", help=words("cli.repo"))
    add("--rule", action="append", metavar="ID", help=words("cli.eval-rule"))
    add("--history", type=int, default=0, metavar="N", help=words("cli.eval-history"))
    add("--path", action="append", default=[], metavar="P", help=words("cli.eval-path"))
    add("-j", "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help=words("cli.eval-jobs"))
    add("--resume", metavar="FILE", help=words("cli.eval-resume"))
    add("--plot", metavar="FILE", help=words("cli.eval-plot"))
    add("--persona", choices=_PERSONAS, default="regular", help=words("cli.persona"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))


def _review(parser: argparse.ArgumentParser, words: Words) -> None:
    _compared(parser, words)
    add = parser.add_argument
    add("--format", choices=FORMATS, default="terminal", help=words("cli.format"))
    add("--fail-on", choices=_FAIL_ON, default="bug", help=words("cli.fail-on"))
    add("--persona", choices=_PERSONAS, default="regular", help=words("cli.persona"))


def _analyze(parser: argparse.ArgumentParser, words: Words) -> None:
    _compared(parser, words)
    parser.add_argument("--pr", metavar="OWNER/REPO#N", help=words("cli.pull"))
    formats = ("terminal", "markdown", "html", "json")
    parser.add_argument("--format", choices=formats, default="terminal", help=words("cli.format"))


def _compared(parser: argparse.ArgumentParser, words: Words) -> None:
    """The options of every command that looks at one change."""
    add = parser.add_argument
    add("--repo", default=".", metavar="DIR", help=words("cli.repo"))
    add("--base", metavar="REV", help=words("cli.base"))
    add("--head", metavar="REV", help=words("cli.head"))
    add("--merge-base", action=argparse.BooleanOptionalAction, default=True, help=words("cli.merge-base"))
    add("--title", metavar="T", help=words("cli.title"))
    add("--body-file", metavar="F", help=words("cli.body-file"))
    add("--target-branch", metavar="B", help=words("cli.target-branch"))
    add("--records", nargs=2, metavar=("BASE", "HEAD"), help=words("comparison.help-records"))
    add("--profile", metavar="NAME", help=words("cli.profile"))
    add("--config", metavar="F", help=words("cli.config-file"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))
