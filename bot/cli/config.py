"""`specbot config check`: whether a configuration can be used."""

from __future__ import annotations

import argparse
from pathlib import Path

from bot.configuration import parse_configuration
from bot.errors import UserError
from bot.files import read_text, write_output
from bot.git import BlobStore, Git, GitTree, head_tree
from bot.i18n.catalog import Catalog
from checks.core.config import FILE


def run(args: argparse.Namespace) -> int:
    """Check FILE, or the `.specbot.toml` of the current directory where there is one."""
    words = Catalog(args.lang)
    name = args.file or FILE
    has_file = args.file is not None or Path(FILE).exists()
    text = read_text(name) if has_file else None
    tree: GitTree | None
    try:
        git = Git(Path())
        with BlobStore(git) as blobs:
            tree = head_tree(git, blobs)
    except UserError:
        # Outside a repository the profile is what the file says, else the generic one.
        tree = None
    config = parse_configuration(text, name, None, tree)
    key = "cli.config-ok" if text is not None else "cli.config-none"
    write_output(words(key, where=name, profile=config.profile) + "\n", None)
    return 0
