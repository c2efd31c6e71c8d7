"""The options of `specbot review`, `analyze`, `rules`, `eval` and `config`."""

from __future__ import annotations

import argparse
import os

from bot.cli.options.values import count, positive
from bot.formats import FORMATS
from bot.i18n.catalog import Catalog

_FAIL_ON = ("bug", "suggestion", "never")
_PERSONAS = ("regular", "pedantic")
_TRIAL_FORMATS = ("terminal", "markdown", "html", "json")
_ANALYSIS_FORMATS = ("terminal", "markdown", "html", "json")


def add_review_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of `specbot review`."""
    _add_change_options(parser, words)
    add = parser.add_argument
    add("-v", "--verbose", action="store_true", help=words("cli.verbose"))
    add("--format", choices=FORMATS, default="terminal", help=words("cli.format"))
    add("--fail-on", choices=_FAIL_ON, default="bug", help=words("cli.fail-on"))
    add("--persona", choices=_PERSONAS, default="regular", help=words("cli.persona"))
    add("--records", nargs=2, metavar=("BASE", "HEAD"), help=words("comparison.help-records"))


def add_analyze_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of `specbot analyze`."""
    _add_change_options(parser, words)
    add = parser.add_argument
    add("--format", choices=_ANALYSIS_FORMATS, default="terminal", help=words("cli.format"))


def _add_change_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of every command that looks at one change."""
    add = parser.add_argument
    add("--repo", metavar="DIR", help=words("cli.repo"))
    add("range", nargs="?", metavar="A..B", help=words("cli.range"))
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--pr", metavar="URL|OWNER/REPO#N", help=words("cli.pull"))
    what.add_argument("--staged", action="store_true", help=words("cli.staged"))
    what.add_argument("--worktree", action="store_true", help=words("cli.worktree"))
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


def add_false_positive_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of `specbot report-false-positive`."""
    add = parser.add_argument
    add("fingerprint", metavar="FINGERPRINT", help=words("cli.fingerprint"))
    _add_change_options(parser, words)


def add_try_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of `specbot try`."""
    add = parser.add_argument
    add("target", nargs="?", default=".", metavar="REPOSITORY", help=words("cli.try-target"))
    add("--last", type=positive, default=50, metavar="N", help=words("cli.try-last"))
    add("--until", metavar="DAY", help=words("cli.try-until"))
    add("--path", action="append", default=[], metavar="GLOB", help=words("cli.try-path"))
    add(
        "-j",
        "--jobs",
        type=positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help=words("cli.try-jobs"),
    )
    add("--format", choices=_TRIAL_FORMATS, default="terminal", help=words("cli.format"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))


def add_rules_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of `specbot rules`."""
    parser.add_argument("id", nargs="?", metavar="ID", help=words("cli.rules-id"))


def add_eval_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of `specbot eval`."""
    processors = os.cpu_count() or 1
    add = parser.add_argument
    add("cases", nargs="?", metavar="CASES", help=words("cli.eval-cases"))
    add("--repo", action="append", metavar="[NAME=]DIR", help=words("cli.eval-repo"))
    add("--rule", action="append", metavar="ID", help=words("cli.eval-rule"))
    add("--history", type=count, default=0, metavar="N", help=words("cli.eval-history"))
    add("--sample", type=count, default=0, metavar="N", help=words("cli.eval-sample"))
    add("--fixes", type=count, default=0, metavar="N", help=words("cli.eval-fixes"))
    add("--pairs", metavar="FILE", help=words("cli.eval-pairs"))
    add("--since", metavar="DAY", help=words("cli.eval-since"))
    add("--until", metavar="DAY", help=words("cli.eval-until"))
    add("--path", action="append", default=[], metavar="P", help=words("cli.eval-path"))
    add("-j", "--jobs", type=positive, default=processors, metavar="N", help=words("cli.eval-jobs"))
    add("--resume", metavar="FILE", help=words("cli.eval-resume"))
    add("--plot", metavar="FILE", help=words("cli.eval-plot"))
    add("--persona", choices=_PERSONAS, default="regular", help=words("cli.persona"))
    add("-o", "--output", metavar="FILE", help=words("cli.output"))


def add_completion_options(parser: argparse.ArgumentParser, words: Catalog) -> None:
    """The options of `specbot completion`."""
    add = parser.add_argument
    add("shell", choices=("bash", "zsh", "fish"), help=words("cli.completion-shell"))


def add_config_actions(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The one action of `specbot config`."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser(
        "check", help=words("cli.config"), parents=[shared], allow_abbrev=False
    )
    check.add_argument("file", nargs="?", metavar="FILE", help=words("cli.config-file"))
