"""One list of work done by two processes, where the machine has two cores."""

from __future__ import annotations

import os
import pickle
import select
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import IO, Any, NoReturn, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# A pipe takes this many bytes, one for each item, without anybody reading.
_MOST = 4096
_LENGTH = struct.Struct("=Q")


def spread(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """`work` of each item, in order. A forked child begins at the end of the list while this process begins at its
    front, until they meet; what the child did comes back pickled.

    What did not come back is done here again, so that an error is raised here, as if nothing had been forked. There
    must be no other threads.
    """
    if not 1 < len(items) <= _MOST or not two_cores() or threading.active_count() > 1:
        return [work(item) for item in items]
    turns = _Turns(len(items))
    with tempfile.TemporaryFile() as answers:
        written, ours = os.pipe()
        child = os.fork()
        if not child:
            os.close(written)  # else it would wait for itself to read, once nobody else does
            _backward(work, items, turns, answers, ours)
        os.close(ours)
        first: list[R] = []
        last: list[R] = []
        received = _received(answers.fileno(), written)
        try:
            while turns.next():
                first.append(work(items[len(first)]))
                while _waits(written) and (more := [*islice(received, 1)]):
                    last += more
            last += received
        finally:
            turns.close()
            os.close(written)  # a child that still writes ends by it
            os.waitpid(child, 0)
    missing = items[len(first) : len(items) - len(last)]
    return first + [work(item) for item in missing] + last[::-1]


def _waits(pipe: int) -> bool:
    """Whether there is something to be read, or the pipe's end."""
    asked = select.poll()
    asked.register(pipe, select.POLLIN)
    return bool(asked.poll(0))


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


def _backward(
    work: Callable[[T], R], items: Sequence[T], turns: _Turns, answers: IO[bytes], written: int
) -> NoReturn:
    """The child. It ends without a word whatever happens: what is missing is done by the parent.

    Each result goes to the file `answers` as soon as there is one, behind its length, and then a byte to the pipe
    `written`, so that nobody waits for the other: the parent reads while the last item is done.
    """
    try:
        for item in reversed(items):
            if not turns.next():
                break
            done = pickle.dumps(work(item), pickle.HIGHEST_PROTOCOL)
            answers.write(_LENGTH.pack(len(done)) + done)
            answers.flush()
            os.write(written, b"1")
    finally:
        os._exit(0)


def _received(answers: int, written: int) -> Iterator[Any]:
    """What the child did, in its order, until it ended."""
    at = 0
    while os.read(written, 1):
        (length,) = _LENGTH.unpack(os.pread(answers, _LENGTH.size, at))
        yield pickle.loads(os.pread(answers, length, at + _LENGTH.size))
        at += _LENGTH.size + length


def two_cores() -> bool:
    """Whether this process may use more than one core."""
    return hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1
