"""Strategies that several ops draw their cases from."""

from __future__ import annotations

from hypothesis import strategies as st


def mostly(common: st.SearchStrategy[int], rare: st.SearchStrategy[int]) -> st.SearchStrategy[int]:
    """`rare` once in eight: large batches must occur, but they are most of the time that a run takes."""
    return st.integers(0, 7).flatmap(lambda die: rare if die == 7 else common)
