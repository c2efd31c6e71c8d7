"""`specbot`, `python -m bot`: the process around the command."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process with its exit code, without taking every parsed file apart first."""
    # Not above: each process that is started to share the work imports this file.
    from bot.cli import main as run

    code = run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
