"""Whether Python looks for garbage in a process that reviews a change."""

from __future__ import annotations

import atexit
import gc
from functools import cache


@cache
def stop_collecting() -> None:
    """From now on do not look for garbage, and not at the end of the process either.

    Most objects of a review live to its end, and each look walks through all of them again: that
    was a fifth of the CPU. A process reviews one change and ends, so the little garbage can stay.
    """
    gc.disable()
    atexit.register(gc.freeze)
