"""`specbot kernels`: the bundled kernels run, compared and timed, always in processes of their own."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec

from bot.errors import UserError
from bot.i18n.catalog import Catalog

FORMATS = ("terminal", "markdown", "json")
_DEVICES = ("cuda", "cpu")


def arguments(
    parser: argparse.ArgumentParser, shared: argparse.ArgumentParser, words: Catalog
) -> None:
    """The actions and their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    # No option of its own: everything after `bench`, dashes too, is the bench's.
    bench = actions.add_parser(
        "bench", help=words("kernelrun.bench"), prefix_chars="\0", add_help=False
    )
    bench.add_argument(
        "rest", nargs=argparse.REMAINDER, metavar="...", help=words("kernelrun.rest")
    )
    made = {
        name: actions.add_parser(
            name, help=words(f"kernelrun.{name}"), parents=[shared], allow_abbrev=False
        )
        for name in ("run", "compare", "diff")
    }
    for name in ("run", "compare"):
        add = made[name].add_argument
        add("--device", choices=_DEVICES, help=words("kernelrun.device"))
        add("--ops", nargs="+", metavar="OP", help=words("kernelrun.ops"))
        add("--timeout", type=_seconds, default=60.0, metavar="S", help=words("kernelrun.timeout"))
    made["run"].add_argument(
        "-o", "--output", required=True, metavar="DIR", help=words("kernelrun.out")
    )
    add = made["compare"].add_argument
    add("--repo", default=".", metavar="DIR", help=words("cli.repo"))
    add("--base", required=True, metavar="REV", help=words("kernelrun.base-rev"))
    add("--head", required=True, metavar="REV", help=words("kernelrun.head-rev"))
    add("-o", "--output", metavar="DIR", help=words("kernelrun.out-compare"))
    made["diff"].add_argument("base", metavar="BASE_DIR", help=words("kernelrun.base-folder"))
    made["diff"].add_argument("head", metavar="HEAD_DIR", help=words("kernelrun.head-folder"))
    for action in made.values():
        action.add_argument(
            "--format", choices=FORMATS, default="terminal", help=words("kernelrun.format")
        )


def _seconds(text: str) -> float:
    """A time limit; argparse turns the ValueError into its own sentence."""
    seconds = float(text)
    if not 0 < seconds < 1e6:
        raise ValueError
    return seconds


def run(args: argparse.Namespace) -> int:
    """0 fine; 1 a case is not ok (`run`), got worse (`compare`, `diff`), or an op was refused (`bench`); 2 for what
    cannot be run or compared. `bot` itself never imports torch."""
    if args.action != "diff" and (find_spec("torch") is None or find_spec("triton") is None):
        raise UserError("kernels-missing")
    if args.action == "bench":
        return subprocess.run(
            [sys.executable, "-m", "kernels.bench", *args.rest], check=False
        ).returncode
    from bot.kernels import actions

    return {"run": actions.run, "compare": actions.compare, "diff": actions.diff}[args.action](args)
