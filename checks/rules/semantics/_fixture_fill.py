"""What a test fills of an array, told from the state that it passes to an op."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from checks.eval.symbolic.affine import Linear, Offset
from checks.eval.symbolic.values import Pointer, Value


@dataclass(frozen=True, slots=True)
class Write:
    """Positions up to `high` of `buffer` were filled at `line`; `guessed` where it is not a slice that says so, but a
    single element, or a literal whose end is read off its padding."""

    buffer: str
    high: Linear
    line: int
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Content:
    """The one number that every element of a buffer holds, and where it was put there."""

    value: Linear
    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Use:
    """A call of an op or a reference in a test, with the arrays as they are at that moment."""

    callee: str
    test: str
    line: int
    args: tuple[Value, ...]
    words: tuple[tuple[str, Value], ...]
    contents: dict[str, Content]
    writes: tuple[Write, ...]

    def bound(self, params: Iterable[str]) -> dict[str, Value]:
        return {**dict(zip(params, self.args, strict=False)), **dict(self.words)}


@dataclass(frozen=True, slots=True)
class Filled:
    """The last filled position relative to the index, and where the test sets the index."""

    last: int
    where: Content
    line: int
    guessed: bool


def filled(use: Use, params: Iterable[str], buffer: str, index: str, base: Offset) -> Filled | None:
    """The last position that the test fills of the argument `buffer`, counted from the argument `index`.

    `base` is the op's own offset: what it adds to the index before it looks (a prompt's length) is taken away. None
    where the test does not say, or where it never set the rest of the array to a known filler.
    """
    bound = use.bound(params)
    array, counter = bound.get(buffer), bound.get(index)
    if not isinstance(array, Pointer) or not isinstance(counter, Pointer):
        return None
    held = use.contents.get(counter.buffer)
    shift = _shift(use, bound, held, base) if held is not None else None
    if held is None or shift is None:
        return None
    best: tuple[int, Write] | None = None
    for write in use.writes:
        gap = (write.high - shift).number if write.buffer == array.buffer else None
        if gap is not None and (best is None or gap > best[0]):
            best = (gap, write)
    if best is None or (array.buffer not in use.contents and not best[1].guessed):
        return None
    return Filled(best[0], held, best[1].line, best[1].guessed)


def _shift(use: Use, bound: dict[str, Value], held: Content, base: Offset) -> Linear | None:
    """The index's value in the test, plus what the op adds to it."""
    shift = held.value
    for name, factor in base.loads:
        value = bound.get(name)
        content = use.contents.get(value.buffer) if isinstance(value, Pointer) else None
        if content is None:
            return None
        shift = shift + content.value.times(factor)
    return shift
