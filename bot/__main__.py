"""`specbot`, `python -m bot`: the process around the command."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process with its exit code, without taking every parsed file apart first."""
    gc.disable()  # there is no garbage in what is imported, and all of it stays
    # Not above: each process that is started to share the work imports this file.
    from bot.cli.main import main as run

    gc.freeze()
    gc.enable()
    code = run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
