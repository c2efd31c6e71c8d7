"""Columns of two rows are paired by id: held against a pairing by dictionaries."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.logprobs.compare.columns import compare_columns
from checks.logprobs.compare.rows import LogprobRows
from checks.logprobs.record import ABSENT

WIDTH = 9
IDS = st.lists(st.integers(0, 11), max_size=WIDTH, unique=True)


def rows(tables, width):
    """One row for each list of (id, value)."""
    n = len(tables)
    ids, values = np.full((width, n), ABSENT).T, np.full((width, n), np.nan).T
    for row, table in enumerate(tables):
        for column, (token, value) in enumerate(table):
            ids[row, column], values[row, column] = token, value
    none, zeros = np.full(n, np.nan), np.zeros(n, np.int64)
    return LogprobRows(
        np.array([0, n]), zeros - 1, none, zeros, none, none, ids, values, zeros, zeros
    )


def value(token, noise=0):
    return -token / 4 + noise


@settings(deadline=None)  # a busy machine is no counterexample
@given(st.lists(st.tuples(IDS, IDS, st.integers(-2, 2)), min_size=1, max_size=6), st.booleans())
def test_every_id_that_both_have_is_found_wherever_it_stands(pairs, same_width):
    width = max(1, *(max(len(b), len(h)) for b, h, _ in pairs)) if same_width else WIDTH
    base = [[(t, value(t)) for t in b] for b, _, _ in pairs]
    head = [[(t, value(t, t * noise)) for t in h] for _, h, noise in pairs]
    found = compare_columns(rows(base, width), rows(head, max(1, *map(len, head))))
    for n, (of_base, of_head) in enumerate(zip(map(dict, base), map(dict, head), strict=True)):
        shared = [token for token in of_base if token in of_head]
        moved = [of_head[token] - of_base[token] for token in shared]
        assert found.count[n] == len(shared)
        assert max(-found.low[n], found.high[n]) == max(map(abs, moved), default=0)
        gone = [
            of_base[t] - min(of_head.values()) for t in of_base.keys() - of_head.keys() if of_head
        ]
        new = [
            of_head[t] - min(of_base.values()) for t in of_head.keys() - of_base.keys() if of_base
        ]
        assert found.lost[n] == max([*gone, *new, -np.inf])


def test_an_id_that_stands_twice_pairs_once():
    twice = rows([[(5, -1.0), (7, -2.0), (5, -np.inf)]], 3)
    once = rows([[(5, -1.5), (7, -2.0), (9, -np.inf)]], 3)
    for base, head, moved in ((twice, once, -0.5), (once, twice, 0.5)):
        found = compare_columns(base, head)
        assert (found.count[0], found.low[0] + found.high[0]) == (2, moved)
