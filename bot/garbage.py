"""Whether Python looks for garbage in a process that reviews a change."""

from __future__ import annotations

import atexit
import gc
from functools import cache


@cache
def stop_collecting() -> None:
    """From now on do not look for garbage, and not at the end of the process either.

    Most objects of a review live to its end, and each look walks through all of them again: that
    was half of the CPU of a change of 139 files, and grows with its square. A process that reviews
    one change and ends can leave its garbage; one that goes on to the next collects it by itself.
    """
    gc.disable()
    atexit.register(gc.freeze)
