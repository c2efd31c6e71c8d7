"""`specbot kernels`: the bundled kernels run, compared and timed, always in processes of their
own."""

from __future__ import annotations

import argparse
import subprocess
import sys

from bot.kernels import actions
from bot.packaging import module_name

_ACTIONS = {"run": actions.run, "compare": actions.compare, "diff": actions.diff}


def run(args: argparse.Namespace) -> int:
    """The exit code.

    0 fine; 1 a case is not ok (`run`), got worse (`compare`, `diff`), or an op was refused
    (`bench`); 2 for what cannot be run or compared. `bot` itself never imports torch.
    """
    if args.action == "bench":
        command = [sys.executable, "-m", module_name("kernels.bench"), *args.rest]
        return subprocess.run(command, check=False).returncode
    return _ACTIONS[args.action](args)
