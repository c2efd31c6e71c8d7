"""How long a thread of the service may keep the others waiting."""

from __future__ import annotations

import sys

# Seconds; Python's own are 0.005.
_LONGEST = 0.0005


def take_short_turns() -> None:
    """Let the process's threads go on in turn, ten times as often as Python does.

    Each system call and each statement of a transaction gives Python's lock away and then waits a turn for it: a burst
    of webhooks for the thread that stores those before, and the writers of SQLite for one that holds its file for
    several statements, while other threads of that one's process compute.
    """
    sys.setswitchinterval(_LONGEST)
