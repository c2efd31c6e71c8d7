"""Which tokens of some lines were exchanged for which, where the code around them stayed."""

from __future__ import annotations

import difflib
import keyword
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\S")
_COMMENT = re.compile(r"(?<!['\"])(?:#\s|//)")
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_TYPES = """int float bool void const auto char long short double unsigned true false nullptr return
static this int32_t int64_t uint32_t uint64_t size_t nullopt Tensor paddle torch std self"""
_COMMON_WORDS = frozenset(keyword.kwlist) | frozenset(_TYPES.split())
# Comparing two sides takes the product of their lengths.
_MOST_TOKENS = 1500
_LEAST_EQUAL_AROUND = 2
_SEPARATORS = frozenset(",;{}")
_Shape = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodeToken:
    """A word, number or sign; `line` counts from 0 within the lines that are compared."""

    text: str
    line: int

    @property
    def is_name(self) -> bool:
        """Whether it is a name of the product's own: no keyword, no type, three letters or more."""
        return _NAME.fullmatch(self.text) is not None and self.text not in _COMMON_WORDS

    @property
    def shape(self) -> str:
        """The text, `x` for every name: two passages of one shape differ in names alone."""
        return "x" if self.is_name else self.text


def tokens_by_line(lines: Sequence[str]) -> list[list[CodeToken]]:
    """The tokens of each line, without its comment."""
    tokens = []
    for number, line in enumerate(lines):
        code = _COMMENT.split(line, maxsplit=1)[0]
        tokens.append([CodeToken(text, number) for text in _TOKEN.findall(code)])
    return tokens


def exchanged_tokens(
    old_lines: list[list[CodeToken]], new_lines: list[list[CodeToken]]
) -> Iterator[tuple[int, int]]:
    """(index of the old token, index of the new one) of every token exchanged for one other.

    The indices count over all lines of a side. Where the lines differ in names alone the tokens are
    compared one by one, else by what stands around them.
    """
    old, new = list(chain.from_iterable(old_lines)), list(chain.from_iterable(new_lines))
    if len(old) > _MOST_TOKENS or len(new) > _MOST_TOKENS:
        return
    if [_shape_of(line) for line in old_lines] != [_shape_of(line) for line in new_lines]:
        yield from _exchanged_in_context(old, new)
        return
    for i in range(len(old)):
        if old[i].text != new[i].text:
            yield i, i


def _exchanged_in_context(old: list[CodeToken], new: list[CodeToken]) -> Iterator[tuple[int, int]]:
    """Where one token was exchanged for one, and the rest of its part differs in names alone.

    A part is what stands on a line between two commas. Where several parts look alike and their
    number changed, nobody can tell which one went.
    """
    old_parts, new_parts = _parts_around(old), _parts_around(new)
    old_counts, new_counts = _count_parts(old), _count_parts(new)
    matcher = difflib.SequenceMatcher(
        None, [t.text for t in old], [t.text for t in new], autojunk=False
    )
    blocks = matcher.get_opcodes()
    for n, (tag, i1, i2, j1, j2) in enumerate(blocks):
        if tag != "replace" or i2 - i1 != 1 or j2 - j1 != 1:
            continue
        if not _stands_between_equal_tokens(blocks, n):
            continue
        before, now = old_parts[i1], new_parts[j1]
        if before == now and old_counts[before] == new_counts[now]:
            yield i1, j1


def _stands_between_equal_tokens(blocks: Sequence[tuple[str, int, int, int, int]], n: int) -> bool:
    """Whether two equal tokens stand on each side of block `n`, or fewer up to the end there."""
    last = len(blocks) - 1
    left = n <= 1 or _equal_length(blocks[n - 1]) >= _LEAST_EQUAL_AROUND
    right = n >= last - 1 or _equal_length(blocks[n + 1]) >= _LEAST_EQUAL_AROUND
    return left and right


def _equal_length(block: tuple[str, int, int, int, int]) -> int:
    tag, start, end, _, _ = block
    return end - start if tag == "equal" else 0


def _split_parts(tokens: list[CodeToken]) -> Iterator[tuple[bool, list[CodeToken]]]:
    """(whether these are separators, the tokens) of every run on one line between separators."""
    for (_, separates), run in groupby(tokens, key=lambda t: (t.line, t.text in _SEPARATORS)):
        yield separates, list(run)


def _parts_around(tokens: list[CodeToken]) -> list[_Shape]:
    """For every token the shape of the part that it stands in."""
    parts: list[_Shape] = []
    for _, run in _split_parts(tokens):
        parts += [_shape_of(run)] * len(run)
    return parts


def _count_parts(tokens: list[CodeToken]) -> Counter[_Shape]:
    """How often each part stands there."""
    return Counter(_shape_of(run) for separates, run in _split_parts(tokens) if not separates)


def _shape_of(tokens: list[CodeToken]) -> _Shape:
    return tuple(t.shape for t in tokens)
