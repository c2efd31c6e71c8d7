"""One list of work done by two processes, where the machine has two cores."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# A pipe takes this many bytes, one for each item, without anybody reading.
_MOST = 4096


def spread(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """`work` of each item, in order. A forked child begins at the end of the list while this process begins at its
    front, until they meet; what the child did comes back pickled.

    What did not come back is done here again, so that an error is raised here, as if nothing had been forked. There
    must be no other threads.
    """
    if not 1 < len(items) <= _MOST or not _two_cores() or threading.active_count() > 1:
        return [work(item) for item in items]
    turns = _Turns(len(items))
    answer, ours = os.pipe()
    child = os.fork()
    if not child:
        os.close(answer)  # else it would wait for itself to read, once nobody else does
        _backward(work, items, turns, ours)
    os.close(ours)
    done: dict[int, R] = {}
    try:
        while turns.next():
            done[len(done)] = work(items[len(done)])
        done |= _received(answer)
    finally:
        turns.close()
        os.close(answer)  # a child that still writes ends by it
        os.waitpid(child, 0)
    return [done[n] if n in done else work(item) for n, item in enumerate(items)]


class _Turns:
    """Leave to do one more item, given as often as there are items, to whichever process asks."""

    def __init__(self, count: int) -> None:
        self._read, write = os.pipe()
        os.write(write, bytes(count))
        os.close(write)

    def next(self) -> bool:
        return os.read(self._read, 1) != b""

    def close(self) -> None:
        """Take back what is left, so that the other process ends after the item at hand."""
        while self.next():
            pass
        os.close(self._read)


def _backward(work: Callable[[T], R], items: Sequence[T], turns: _Turns, answer: int) -> NoReturn:
    """The child. It ends without a word whatever happens: what is missing is done by the parent."""
    try:
        done: dict[int, R] = {}
        while turns.next():
            n = len(items) - 1 - len(done)
            done[n] = work(items[n])
        with os.fdopen(answer, "wb") as pipe:
            pickle.dump(done, pipe, pickle.HIGHEST_PROTOCOL)
    finally:
        os._exit(0)


def _received(answer: int) -> dict[int, R]:
    """What the child sent; nothing where it did not get to the end."""
    with os.fdopen(answer, "rb", closefd=False) as pipe:
        sent = pipe.read()
    try:
        done: dict[int, R] = pickle.loads(sent)
    except (EOFError, pickle.UnpicklingError):
        return {}
    return done


def _two_cores() -> bool:
    return hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1
