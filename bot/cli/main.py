"""The shell command: arguments in, an exit code out.

0 clean, 1 findings at or above `--fail-on`, 2 the person's error, 3 ours, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

import bot
from bot.cli.arguments import Parser
from bot.cli.exit_codes import guarded
from bot.i18n.catalog import LANGUAGES, Catalog
from bot.reports import FORMATS

_FAIL_ON = ("bug", "suggestion", "never")
_MODULES = {"eval": "evaluate"}
_PERSONAS = ("regular", "pedantic")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; the single place where errors become exit codes is `guarded`."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    language = _language(arguments)
    return guarded(lambda: _run(arguments, language), arguments, language)


def _run(arguments: list[str], language: str) -> int:
    args = _parser(Catalog(language), language, arguments[0] if arguments else "").parse_args(
        arguments
    )
    # Each command is read when it is asked for: the shell command must start fast.
    module = import_module(f"bot.cli.{_MODULES.get(args.command, args.command)}")
    code: int = module.run(args)
    return code


def _language(arguments: Sequence[str]) -> str:
    """What `--lang` says, else the locale's language where it is one of ours."""
    for i, argument in enumerate(arguments):
        name, _, value = argument.partition("=")
        if name == "--lang":
            value = value or (arguments[i + 1] if i + 1 < len(arguments) else "")
            return value if value in LANGUAGES else "en"
    locale = (
        os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    )
    return "zh" if locale.lower().startswith("zh") else "en"


def _parser(words: Catalog, language: str, asked: str) -> argparse.ArgumentParser:
    """The parser, with the command that is `asked` for alone: the words and options of all take longer than git."""
    parser = Parser(prog="specbot", description=words("cli.description"), allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"specbot {bot.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shared = Parser(add_help=False, allow_abbrev=False)
    shared.add_argument("--lang", choices=LANGUAGES, default=language, help=words("cli.lang"))
    for name, (key, options) in _COMMANDS.items():
        if asked == name or asked not in _COMMANDS:
            parents = [] if options is None else [shared]
            command = commands.add_parser(
                name, help=words(key), parents=parents, allow_abbrev=False
            )
            if options is None:
                import_module(f"bot.cli.{name}").arguments(command, shared, words)
            else:
                options(command, words)
    return parser


def _rules(parser: argparse.ArgumentParser, words: Catalog) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help=words("cli.rules-id"))


def _serve(parser: argparse.ArgumentParser, words: Catalog) -> None:
    parser.add_argument(
        "--role", choices=("all", "web"), default="all", help=words("cli.serve-role")
    )
    parser.add_argument("--host", metavar="ADDRESS", help=words("cli.serve-host"))
    parser.add_argument("--port", type=int, metavar="N", help=words("cli.serve-port"))
    parser.add_argument("--config", metavar="FILE", help=words("cli.serve-config"))


def _worker(parser: argparse.ArgumentParser, words: Catalog) -> None:
    parser.add_argument("--queues", metavar="Q", help=words("cli.worker-queues"))
    parser.add_argument("--config", metavar="FILE", help=words("cli.serve-config"))


def _eval(parser: argparse.ArgumentParser, words: Catalog) -> None:
    add = parser.add_argument
    add("cases", nargs="?", metavar="CASES", help=words("cli.eval-cases"))
    add("--repo", default=".", metavar="DIR", help=words("cli.repo"))
    add("--rule", action="append", metavar="ID", help=words("cli.eval-rule"))
    add("--history", type=int, default=0, metavar="N", help=words("cli.eval-history"))
    add("--path", action="append", default=[], metavar="P", help=words("cli.eval-path"))
    add(
        "-j",
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help=words("cli.eval-jobs"),
    )
    add("--resume", metavar="FILE", help=words("cli.eval-resume"))
    add("--plot", metavar="FILE", help=words("cli.eval-plot"))
    add("--persona", choices=_PERSONAS, default="regular", help=words("cli.persona"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))


def _review(parser: argparse.ArgumentParser, words: Catalog) -> None:
    _compared(parser, words)
    add = parser.add_argument
    add("--format", choices=FORMATS, default="terminal", help=words("cli.format"))
    add("--fail-on", choices=_FAIL_ON, default="bug", help=words("cli.fail-on"))
    add("--persona", choices=_PERSONAS, default="regular", help=words("cli.persona"))
    add("--records", nargs=2, metavar=("BASE", "HEAD"), help=words("comparison.help-records"))


def _analyze(parser: argparse.ArgumentParser, words: Catalog) -> None:
    _compared(parser, words)
    parser.add_argument("--pr", metavar="OWNER/REPO#N", help=words("cli.pull"))
    formats = ("terminal", "markdown", "html", "json")
    parser.add_argument("--format", choices=formats, default="terminal", help=words("cli.format"))


def _compared(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of every command that looks at one change."""
    add = parser.add_argument
    add("--repo", default=".", metavar="DIR", help=words("cli.repo"))
    add("--base", metavar="REV", help=words("cli.base"))
    add("--head", metavar="REV", help=words("cli.head"))
    add(
        "--merge-base",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=words("cli.merge-base"),
    )
    add("--title", metavar="T", help=words("cli.title"))
    add("--body-file", metavar="F", help=words("cli.body-file"))
    add("--target-branch", metavar="B", help=words("cli.target-branch"))
    add("--profile", metavar="NAME", help=words("cli.profile"))
    add("--config", metavar="F", help=words("cli.config-file"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))


# In the order of the help: its key, and what adds the options; None where the command's own module does.
_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser, Catalog], None] | None]] = {
    "review": ("cli.review", _review),
    "analyze": ("cli.analyze", _analyze),
    "rules": ("cli.rules", _rules),
    "eval": ("cli.eval", _eval),
    "kernels": ("cli.kernels", None),
    "logprobs": ("cli.logprobs", None),
    "ci": ("ci.cli-ci", None),
    "serve": ("cli.serve", _serve),
    "worker": ("cli.worker", _worker),
    "app": ("app.cli", None),
    "config": ("cli.config", None),
}
