"""What a mutant is shown: the very cases that the property test draws in CI."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from hypothesis.strategies import SearchStrategy

from tests.kernels.properties import bounded, examples

Check = Callable[[Any], None]
Holds = Callable[[Any], bool]


def over(
    cases: SearchStrategy[Any], check: Check, count: int | None = None, **where: Holds
) -> Callable[[], None]:
    """``check`` on the ``count`` cases of its property test; of these on those alone whose fields
    are as said, if only these can show the mistake: the rest would cost time.
    """

    def run() -> None:
        for case in drawn(cases, check.__name__, count or examples()):
            if all(holds(getattr(case, name)) for name, holds in where.items()):
                check(case)

    return run


@cache
def drawn(cases: SearchStrategy[Any], name: str, count: int) -> tuple[Any, ...]:
    """The cases of ``bounded(cases, check, count)``, shuffled: neighbours are alike, and what one
    misses the next does too.
    """
    found: list[Any] = []
    bounded(cases, found.append, count, name=name)()
    Random(0).shuffle(found)
    return tuple(found)
