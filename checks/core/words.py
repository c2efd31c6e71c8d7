"""Whole-word search in source text: one place for "does this name stand here?".

A word is a run of letters, digits and `_`. Bytes, as they come out of a `Tree`, are searched as
ASCII.
"""

from __future__ import annotations

import re

_WORD_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def may_contain(text: str | bytes, *words: str) -> bool:
    """Whether each of `words` stands anywhere in `text`, perhaps as a part of a longer word.

    This is the cheap question to ask before a file is parsed or a pattern is searched: a False is
    final, a True means "look closer".
    """
    if isinstance(text, bytes):
        return all(as_bytes(word) in text for word in words)
    return all(word in text for word in words)


def as_bytes(text: str) -> bytes:
    """`text` as it stands in a file: what came from the bytes of a name is those bytes again.

    Git's names are bytes, and Python's strings may hold half of a pair; neither is an error here.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def has_word(code: str, name: str) -> bool:
    """Whether `name` stands in `code` as a whole word."""
    return may_contain(code, name) and re.search(rf"{word_regex(name)}\b", code) is not None


def contains_word(data: bytes, needle: bytes) -> bool:
    """Whether `needle` stands as a whole word in `data`."""
    return find_word_start(data, needle, 0) >= 0


def find_word_start(data: bytes, needle: bytes, begin: int) -> int:
    """Where `needle` first stands as a whole word in `data`, from `begin` on; -1 where it does
    not."""
    start = data.find(needle, begin)
    while start >= 0:
        end = start + len(needle)
        if _is_whole_word(data, start, end):
            return start
        start = data.find(needle, end)
    return -1


def find_word(data: bytes, word: str) -> list[tuple[int, str]]:
    """(line, text) of each line of `data` in which `word` stands as a whole word.

    Lines count from 1; the text is without its line end. A line with several hits is given once.
    """
    needle = as_bytes(word)
    if not needle:
        return []
    hits: list[tuple[int, str]] = []
    line, line_start = 1, 0
    start = data.find(needle)
    while start >= 0:
        end = start + len(needle)
        if _is_whole_word(data, start, end):
            left = data.rfind(b"\n", 0, start) + 1
            right = data.find(b"\n", end)
            if right < 0:
                right = len(data)
            line += data.count(b"\n", line_start, left)
            line_start = left
            hits.append((line, data[left:right].decode("utf-8", "replace").rstrip("\r")))
            end = right
        start = data.find(needle, end)
    return hits


def word_regex(word: str) -> str:
    r"""A pattern of `word` with no word character before it; put `\b` behind it for a whole word.

    The look-behind stands after the word: a pattern that begins with plain letters is found by
    `re` forty times as fast as one that begins with `\b`.
    """
    plain = re.escape(word)
    return rf"{plain}(?<!\w{plain})"


def _is_whole_word(data: bytes, start: int, end: int) -> bool:
    if start > 0 and data[start - 1] in _WORD_BYTES:
        return False
    return end >= len(data) or data[end] not in _WORD_BYTES


def name_parts(name: str) -> list[str]:
    """The words that a name is made of, in small letters: `max_seqLens2` is max, seq, lens, 2."""
    return [part.lower() for part in _PART.findall(name)]


def one_slip_apart(first: str, second: str) -> bool:
    """Whether two words differ by one slip of the finger: a letter that is left out, added or
    another one, or two that changed places."""
    if first == second:
        return False
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    end = 0
    while end < min(len(first), len(second)) - start and first[-1 - end] == second[-1 - end]:
        end += 1
    rest = first[start : len(first) - end]
    other = second[start : len(second) - end]
    if len(rest) == len(other) == 2:
        return rest == other[::-1]
    return max(len(rest), len(other)) == 1
