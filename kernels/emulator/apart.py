"""Comparisons in processes of their own, where an input has ended the process before."""

from __future__ import annotations

from functools import partial

from kernels.emulator.forks import in_child
from kernels.emulator.recording import Call
from kernels.emulator.siblings import Agreement, Comparison, Pair


def compare_apart(pair: Pair, call: Call) -> Comparison:
    """The call on both sides.

    Where it ends the process of the op and not that of the copy, that is how they differ.
    """
    comparison: Comparison | None = in_child(lambda: pair.compare(call))
    if comparison is not None:
        return comparison
    own, other = (in_child(partial(pair.gives_result, number, call)) for number in (0, 1))
    if own is None and other:
        return Comparison(call, Agreement.DIFFERS, "", "the process", "a result", "died")
    return Comparison(call, Agreement.NOT_COMPARED, "the process died")


def is_overwritten(pair: Pair, call: Call, place: int) -> bool:
    """Whether the copy reads nothing of a tensor; what it does with other contents may end it."""
    return bool(in_child(partial(pair.overwrites, call, place)))


def gives_result(pair: Pair, number: int, call: Call) -> bool:
    """Whether a side takes the call, and lives."""
    return bool(in_child(partial(pair.gives_result, number, call)))
