"""The options of `specbot kernels`."""

from __future__ import annotations

import argparse

from bot.i18n.catalog import Catalog

_FORMATS = ("terminal", "markdown", "json")
_DEVICES = ("cuda", "cpu")
_LONGEST_TIMEOUT = 1e6


def add_kernels_actions(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The actions of `specbot kernels` and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    # No option of its own: everything after `bench`, dashes too, is the bench's.
    bench = actions.add_parser(
        "bench", help=words("kernelrun.bench"), prefix_chars="\0", add_help=False
    )
    bench.add_argument(
        "rest", nargs=argparse.REMAINDER, metavar="...", help=words("kernelrun.rest")
    )
    run, compare, diff = (
        actions.add_parser(
            name, help=words(f"kernelrun.{name}"), parents=[shared], allow_abbrev=False
        )
        for name in ("run", "compare", "diff")
    )
    for action in (run, compare):
        add = action.add_argument
        add("--device", choices=_DEVICES, help=words("kernelrun.device"))
        add("--ops", nargs="+", metavar="OP", help=words("kernelrun.ops"))
        add("--timeout", type=_seconds, default=60.0, metavar="S", help=words("kernelrun.timeout"))
    run.add_argument("-o", "--output", required=True, metavar="DIR", help=words("kernelrun.out"))
    add = compare.add_argument
    add("--repo", default=".", metavar="DIR", help=words("cli.repo"))
    add("--base", required=True, metavar="REV", help=words("kernelrun.base-rev"))
    add("--head", required=True, metavar="REV", help=words("kernelrun.head-rev"))
    add("-o", "--output", metavar="DIR", help=words("kernelrun.out-compare"))
    diff.add_argument("base", metavar="BASE_DIR", help=words("kernelrun.base-folder"))
    diff.add_argument("head", metavar="HEAD_DIR", help=words("kernelrun.head-folder"))
    for action in (run, compare, diff):
        action.add_argument(
            "--format", choices=_FORMATS, default="terminal", help=words("kernelrun.format")
        )


def _seconds(text: str) -> float:
    """A time limit in seconds; argparse turns the ValueError into its own sentence."""
    seconds = float(text)
    if not 0 < seconds < _LONGEST_TIMEOUT:
        raise ValueError
    return seconds
