"""Work done in copies of this process: nothing that it does there comes back but its result."""

from __future__ import annotations

import os
import pickle
import weakref
from collections.abc import Callable
from typing import Any, NoReturn


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` returns in a fork of this process, or None where that dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _send(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    _, status = os.waitpid(child, 0)
    # The code under test may write there, and gains nothing: it runs in this process too.
    return pickle.loads(data) if status == 0 else None


class Beginning:
    """This process as it is now, kept for later: what is asked of it finds nothing that was done
    since.

    `work` is called with what is asked, each time in a copy of its own.
    """

    def __init__(self, work: Callable[[Any], Any]) -> None:
        asking, self._asked = os.pipe()
        self._answers, answering = os.pipe()
        if os.fork() == 0:
            os.close(self._asked)
            os.close(self._answers)
            _serve(work, asking, answering)
        os.close(asking)
        os.close(answering)
        weakref.finalize(self, _close, self._asked, self._answers)

    def ask(self, question: Any) -> Any:
        """What `work` returns, or None where it dies."""
        _write(self._asked, pickle.dumps(question))
        return pickle.loads(_read(self._answers))


def _close(*pipes: int) -> None:
    for pipe in pipes:
        os.close(pipe)


def _serve(work: Callable[[Any], Any], asking: int, answering: int) -> NoReturn:
    """Answer until nobody can ask any more."""
    try:
        while data := _read(asking):
            question = pickle.loads(data)
            _write(answering, pickle.dumps(in_child(lambda asked=question: work(asked))))
    finally:
        os._exit(0)


def _write(pipe: int, data: bytes) -> None:
    rest = len(data).to_bytes(8, "big") + data
    while rest:
        rest = rest[os.write(pipe, rest) :]


def _read(pipe: int) -> bytes:
    """What was written at once; nothing where nobody writes any more."""
    size = int.from_bytes(_read_exactly(pipe, 8), "big")
    return _read_exactly(pipe, size)


def _read_exactly(pipe: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = os.read(pipe, size - len(data))
        if not part:
            return b""
        data += part
    return data


def _send(work: Callable[[], Any], writing: int) -> NoReturn:
    """Write what `work` returns, and end: whatever happens, only one process goes on from here."""
    code = 1
    try:
        with os.fdopen(writing, "wb") as file:
            pickle.dump(work(), file)
        code = 0
    finally:
        os._exit(code)
