"""Comparisons in processes of their own, where an input has ended the process before."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from kernels.emulator.recording import Call
from kernels.emulator.siblings import Agreement, Comparison, Pair


def compare_apart(pair: Pair, call: Call) -> Comparison:
    """The call on both sides.

    Where it ends the process of the op and not that of the copy, that is how they differ.
    """
    comparison: Comparison | None = _in_child(lambda: pair.compare(call))
    if comparison is not None:
        return comparison
    own, other = (_in_child(partial(pair.gives_result, number, call)) for number in (0, 1))
    if own is None and other:
        return Comparison(call, Agreement.DIFFERS, "", "the process", "a result", "died")
    return Comparison(call, Agreement.NOT_COMPARED, "the process died")


def is_overwritten(pair: Pair, call: Call, place: int) -> bool:
    """Whether the copy reads nothing of a tensor; what it does with other contents may end it."""
    return bool(_in_child(partial(pair.overwrites, call, place)))


def gives_result(pair: Pair, number: int, call: Call) -> bool:
    """Whether a side takes the call, and lives."""
    return bool(_in_child(partial(pair.gives_result, number, call)))


def _in_child(work: Callable[[], Any]) -> Any:
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


def _send(work: Callable[[], Any], writing: int) -> NoReturn:
    """Write what `work` returns, and end: whatever happens, only one process goes on from here."""
    code = 1
    try:
        with os.fdopen(writing, "wb") as file:
            pickle.dump(work(), file)
        code = 0
    finally:
        os._exit(code)
