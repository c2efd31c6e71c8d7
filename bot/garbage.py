"""How often Python looks for garbage in a process that reviews changes."""

from __future__ import annotations

import atexit
import gc
from functools import cache


@cache
def collect_rarely() -> None:
    """From now on look for garbage every 100,000 new objects, not every 700, and not at the end.

    The syntax trees of a review live to its end, and each look walks through all of them again: of
    a change of 139 files that is more than half of the CPU, and grows with its square. At the end
    of the process nothing is left that would have to be tidied up.
    """
    gc.set_threshold(100_000, 50, 100)
    atexit.register(gc.freeze)
