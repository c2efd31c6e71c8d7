"""The command that shows the outcome of a run of device code again, in any clone."""

from __future__ import annotations

import shlex


def command(action: str, base: str, head: str, title: str, repo: str = ".") -> str:
    """`specbot device` with its options; `base` is empty where the head was run alone.

    `repo` is the repository as a person named it; a report of the service is read in a clone.
    """
    sides = f"--head {head[:12]}"
    if base:
        sides = f"--base {base[:12]} {sides}"
    # A promise in the title decides what is asked.
    promise = f" --title {shlex.quote(title)}" if title else ""
    return f"specbot device {action} --repo {shlex.quote(repo)} {sides}{promise}"
