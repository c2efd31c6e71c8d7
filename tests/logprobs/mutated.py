"""Records with one thing wrong in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from checks.logprobs.record import ABSENT
from tests.logprobs.simulated import columns, swap

ZEROS = {"tokens": 0, "logprobs": 0.0, "topk_ids": 0, "topk_logprobs": 0.0, "ranks": 0, "logz": 0.0}
NO_ID = {
    "tokens": -1,
    "logprobs": 0.0,
    "topk_ids": -1,
    "topk_logprobs": 0.0,
    "ranks": 0,
    "logz": 0.0,
}
ONE_ID = {
    "tokens": 9,
    "logprobs": -2.0,
    "topk_ids": 9,
    "topk_logprobs": -2.0,
    "ranks": 1,
    "logz": 3.0,
}


def head_of(base, change, where=slice(None)):
    """Each record of `where` changed, the rest as it is."""
    changed = set(range(len(base))[where])
    return [change(r) if n in changed else r for n, r in enumerate(base)]


def gathered(record, source):
    """Values read from row `source[i]` for token i: the chosen token's too, where it is among the
    columns.
    """
    ids, values = record.topk_ids[source], record.topk_logprobs[source]
    here = ids == record.tokens[:, None]
    found = np.where(here.any(axis=1), np.where(here, values, 0).sum(axis=1), values[:, -1] - 1)
    return swap(
        record, topk_ids=ids, topk_logprobs=values, logprobs=found, logz=record.logz[source]
    )


def padded(record, rows, **row):
    """`rows` more rows in the middle, counted as accepted tokens of their step."""
    middle = int(record.accept_num[: len(record.accept_num) // 2].sum())
    accept = record.accept_num.copy()
    accept[len(accept) // 2 - 1] += rows
    made = {}
    for name in ("tokens", "logprobs", "topk_ids", "topk_logprobs", "ranks", "logz"):
        values = getattr(record, name)
        extra = np.repeat(values[middle - 1 : middle], rows, axis=0)
        if row:
            extra = np.full_like(extra, row[name])
        made[name] = np.concatenate([values[:middle], extra, values[middle:]])
    return swap(record, accept_num=accept, **made)


def narrow(k):
    return lambda r: columns(r, slice(k))


def one_row(record, **values):
    """Row 5 with other values."""
    made = {}
    for name, value in values.items():
        made[name] = getattr(record, name).copy()
        made[name][5] = value
    return swap(record, **made)


def ragged(record):
    ids, values = record.topk_ids.copy(), record.topk_logprobs.copy()
    ids[3:6, 3:], values[3:6, 3:] = ABSENT, np.nan
    return swap(record, topk_ids=ids, topk_logprobs=values)


def place(record):
    ends = np.cumsum(record.accept_num)
    return np.arange(len(record)) - np.repeat(ends - record.accept_num, record.accept_num)


def origin(record, **changes):
    return swap(record, origin=replace(record.origin, **changes))


def cut(record, n):
    accept = np.minimum(
        record.accept_num, np.maximum(n - (np.cumsum(record.accept_num) - record.accept_num), 0)
    )
    names = ("tokens", "logprobs", "topk_ids", "topk_logprobs", "ranks", "logz")
    return swap(
        record, accept_num=accept[accept > 0], **{name: getattr(record, name)[:n] for name in names}
    )
