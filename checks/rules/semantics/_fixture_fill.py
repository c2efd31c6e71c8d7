"""What a test fills of an array, read from the values that it passes to an op."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from checks.eval.symbolic.affine import Linear, Offset
from checks.eval.symbolic.values import Pointer, SymbolicValue


@dataclass(frozen=True, slots=True)
class Write:
    """Positions up to `high` of `buffer` were filled at `line`.

    `guessed` where no slice says so, but a single element, or a literal whose end is read off its
    padding.
    """

    buffer: str
    high: Linear
    line: int
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class UniformContent:
    """The one number that every element of a buffer holds, and where it was put there."""

    value: Linear
    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class FixtureUse:
    """A call of an op or a reference in a test, with the arrays as they are at that moment."""

    callee: str
    test: str
    line: int
    args: tuple[SymbolicValue, ...]
    keywords: tuple[tuple[str, SymbolicValue], ...]
    contents: dict[str, UniformContent]
    writes: tuple[Write, ...]

    def arguments(self, params: Iterable[str]) -> dict[str, SymbolicValue]:
        """Parameter to the value that is passed for it."""
        positional = dict(zip(params, self.args, strict=False))
        return {**positional, **dict(self.keywords)}


@dataclass(frozen=True, slots=True)
class FillExtent:
    """The last filled position relative to the index, and where the test sets the index."""

    last: int
    where: UniformContent
    line: int
    guessed: bool


def fill_extent(
    call: FixtureUse, params: Iterable[str], buffer: str, index: str, base: Offset
) -> FillExtent | None:
    """The last position that a test fills of the argument `buffer`, counted from `index`.

    `base` is the op's own offset: what it adds to the index before it looks (a prompt's length) is
    taken away. None where the test does not say, or where it never set the rest of the array to a
    known filler.
    """
    arguments = call.arguments(params)
    array, counter = arguments.get(buffer), arguments.get(index)
    if not isinstance(array, Pointer) or not isinstance(counter, Pointer):
        return None
    content = call.contents.get(counter.buffer)
    if content is None:
        return None
    start = _start(call, arguments, content, base)
    if start is None:
        return None
    furthest: tuple[int, Write] | None = None
    for write in call.writes:
        if write.buffer != array.buffer:
            continue
        gap = (write.high - start).number
        if gap is not None and (furthest is None or gap > furthest[0]):
            furthest = (gap, write)
    if furthest is None:
        return None
    last, write = furthest
    # Without a filler behind it, nothing says that the slice is where the tokens end.
    if array.buffer not in call.contents and not write.guessed:
        return None
    return FillExtent(last, content, write.line, write.guessed)


def _start(
    call: FixtureUse, arguments: dict[str, SymbolicValue], content: UniformContent, base: Offset
) -> Linear | None:
    """The index's value in the test, plus what the op adds to it."""
    start = content.value
    for name, factor in base.loads:
        value = arguments.get(name)
        if not isinstance(value, Pointer) or value.buffer not in call.contents:
            return None
        start = start + call.contents[value.buffer].value.times(factor)
    return start
