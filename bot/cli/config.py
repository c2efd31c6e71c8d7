"""`specbot config check`: whether a configuration can be used."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.configuration import checked
from bot.errors import UserError
from bot.files import read_text, write_output
from bot.git import Blobs, Git, head_tree
from bot.i18n.catalog import Catalog
from checks.core.config import FILE


def arguments(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The one action."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser(
        "check", help=words("cli.config"), parents=[shared], allow_abbrev=False
    )
    check.add_argument("file", nargs="?", metavar="FILE", help=words("cli.config-file"))


def run(args: argparse.Namespace) -> int:
    """Check FILE, or the `.specbot.toml` of the current directory where there is one."""
    words = Catalog(args.lang)
    name = args.file or FILE
    text = read_text(name) if args.file is not None or Path(FILE).exists() else None
    try:
        git = Git(Path())
        with Blobs(git) as blobs:
            tree = head_tree(git, blobs)
    except UserError:
        tree = None  # outside a repository the profile is what the file says, else the generic one
    config = checked(text, name, None, tree)
    key = "cli.config-ok" if text is not None else "cli.config-none"
    write_output(words(key, where=name, profile=config.profile) + "\n", None)
    return 0
