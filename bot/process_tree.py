"""What a process and everything that it started take together, as /proc has it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def descendants(pid: int) -> list[int]:
    """The process and all that it, or what it started, has started; only itself without /proc.

    What outlived its parent counts in a PID namespace, whose first process it belongs to then.
    """
    children: dict[int, list[int]] = {}
    for child, parent in _parents().items():
        children.setdefault(parent, []).append(child)
    found = [pid]
    for member in found:
        found += children.get(member, [])
    return found


def memory(pids: list[int]) -> int:
    """Bytes of memory that the processes have; of what several share, each has its part."""
    return 1024 * sum(_kibibytes(pid) for pid in pids)


def _parents() -> Mapping[int, int]:
    """The parent of every process."""
    parents = {}
    for entry in _PROC.glob("[0-9]*/stat"):
        # A process may end while it is looked at.
        with suppress(OSError):
            # The name, in brackets, may hold anything; after it come the state and the parent.
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
            parents[int(entry.parent.name)] = int(fields[1])
    return parents


def _kibibytes(pid: int) -> int:
    """The proportional set size of a process; 0 where it has ended or may not be looked at."""
    with suppress(OSError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0
