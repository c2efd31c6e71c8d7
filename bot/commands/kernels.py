"""`specbot kernels bench`: the kernels' own bench, in a process of its own."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec

from bot.errors import UserError


def run(args: argparse.Namespace) -> int:
    """The bench's exit code: 0 all timed, 1 an op was refused, 2 no GPU. `bot` itself never imports torch."""
    if find_spec("torch") is None or find_spec("triton") is None:
        raise UserError("kernels-missing")
    return subprocess.run([sys.executable, "-m", f"kernels.{args.action}", *args.rest], check=False).returncode
