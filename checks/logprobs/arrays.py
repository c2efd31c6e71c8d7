"""Arrays of numbers in a record's JSON: lists, in which what is not finite stands as a string, or
packed.

Packed bytes are hexadecimal: they are read six times as fast as base64.
"""

from __future__ import annotations

import binascii
from array import array
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.logprobs.record import ABSENT, Floats, Ints

_STRINGS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_PACKED = {"i4": "<i4", "i8": "<i8", "f4": "<f4", "f8": "<f8"}
_INTS = ("i4", "i8")


class FieldError(ValueError):
    """A field that is not what it has to be; `key` and `args_` as for
    `checks.logprobs.jsonl.RecordError`.
    """

    def __init__(self, key: str, field: str, /, **args: Any) -> None:
        super().__init__(key, field, args)
        self.key = key
        self.field = field
        self.args_ = args


def read_ints(value: Any, field: str, n: int | None) -> Ints:
    """int64 [n] of a list or a packed array; any length where `n` is None."""
    return _sized(_ints(value, field), field, n)


def read_floats(value: Any, field: str, n: int) -> Floats:
    """float64 [n] of a list or a packed array."""
    return _sized(_floats(value, field), field, n)


def read_tables(ids: Any, logprobs: Any, n: int) -> tuple[Ints, Floats]:
    """The top-k table, int64 and float64 [n, k], both in lists, where a row may be shorter, or both
    packed.
    """
    if isinstance(ids, list) and isinstance(logprobs, list):
        widths = _widths(ids, "topk_ids", n)
        if _widths(logprobs, "topk_logprobs", n) != widths:
            raise FieldError("rows", "topk_logprobs")
        flat = _ints(list(chain.from_iterable(ids)), "topk_ids")
        flat_logprobs = _floats(list(chain.from_iterable(logprobs)), "topk_logprobs")
        table, scores = _filled(flat, flat_logprobs, widths)
    elif isinstance(ids, dict) and isinstance(logprobs, dict):
        table = _shaped(_ints(ids, "topk_ids"), "topk_ids", n)
        scores = _shaped(_floats(logprobs, "topk_logprobs"), "topk_logprobs", n)
    else:
        raise FieldError("table", "topk_ids")
    if table.shape != scores.shape:
        raise FieldError("rows", "topk_logprobs")
    absent = table == ABSENT
    if absent.any():
        # Absent cells end a row, and have no logprob.
        at_the_end = (absent[:, 1:] >= absent[:, :-1]).all()
        if not at_the_end or not np.isnan(scores[absent]).all():
            raise FieldError("absent", "topk_ids")
    return table, scores


def plain(values: NDArray[Any]) -> Any:
    """For `orjson.dumps`: the array itself where JSON can say it, else lists with strings for what
    it cannot.
    """
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        return _as_json(values.tolist())
    return np.ascontiguousarray(values)


def plain_tables(ids: Ints, logprobs: Floats) -> tuple[Any, Any]:
    """The top-k table as lists; a row ends before its absent cells."""
    absent = ids == ABSENT
    if not absent.any():
        return plain(ids), plain(logprobs)
    widths = (~absent).sum(axis=1).tolist()
    cut_ids, cut_logprobs = [], []
    for row, width in zip(ids.tolist(), widths, strict=True):
        cut_ids.append(row[:width])
    for row, width in zip(logprobs.tolist(), widths, strict=True):
        cut_logprobs.append(_as_json(row[:width]))
    return cut_ids, cut_logprobs


def pack(values: NDArray[Any]) -> dict[str, str]:
    """The packed form, in the smallest type that holds every value exactly."""
    small, large = ("i4", "i8") if values.dtype.kind == "i" else ("f4", "f8")
    with np.errstate(over="ignore"):
        narrow = values.astype(_PACKED[small])
    exact = np.array_equal(narrow.astype(values.dtype), values, equal_nan=values.dtype.kind == "f")
    if exact:
        return {small: narrow.tobytes().hex()}
    return {large: values.astype(_PACKED[large]).tobytes().hex()}


def _as_json(value: Any) -> Any:
    """Nested lists with "nan", "inf" and "-inf" for what JSON has no number for."""
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value if isfinite(value) else str(value)


def _sized(values: NDArray[Any], field: str, n: int | None) -> NDArray[Any]:
    if n is not None and len(values) != n:
        raise FieldError("length", field, given=len(values), wanted=n)
    return values


def _ints(value: Any, field: str) -> Ints:
    if isinstance(value, dict):
        return _unpacked(value, field, ints=True).astype(np.int64)
    if not isinstance(value, list) or not set(map(type, value)) <= {int}:
        raise FieldError("integers", field)
    try:
        return np.frombuffer(array("q", value), np.int64)
    except OverflowError as error:
        raise FieldError("integers", field) from error


def _floats(value: Any, field: str) -> Floats:
    if isinstance(value, dict):
        return _unpacked(value, field, ints=False).astype(np.float64)
    if not isinstance(value, list):
        raise FieldError("numbers", field)
    kinds = set(map(type, value))
    if str in kinds:
        value = [_STRINGS.get(item, item) if isinstance(item, str) else item for item in value]
        kinds = set(map(type, value))
    if not kinds <= {float, int}:
        raise FieldError("numbers", field)
    return np.frombuffer(array("d", value), np.float64)


def _unpacked(value: dict[str, Any], field: str, *, ints: bool) -> NDArray[Any]:
    name, text = next(iter(value.items())) if len(value) == 1 else ("", None)
    if name not in _PACKED or not isinstance(text, str) or (ints and name not in _INTS):
        raise FieldError("packed", field)
    try:
        data = binascii.a2b_hex(text)
        return np.frombuffer(data, _PACKED[name])
    except ValueError as error:  # no hexadecimal, or bytes that are no whole number of values
        raise FieldError("packed", field) from error


def _widths(rows: list[Any], field: str, n: int) -> list[int]:
    if not set(map(type, rows)) <= {list}:
        raise FieldError("table", field)
    if len(rows) != n:
        raise FieldError("length", field, given=len(rows), wanted=n)
    return list(map(len, rows))


def _shaped(values: NDArray[Any], field: str, n: int) -> NDArray[Any]:
    """A packed table [n, k]; k follows from the number of values."""
    k = len(values) // n if n else 0
    if len(values) != n * k:
        raise FieldError("table", field)
    return values.reshape(n, k)


def _filled(ids: Ints, logprobs: Floats, widths: list[int]) -> tuple[Ints, Floats]:
    """Tables [n, k] of the cells of all rows, one row after another, short rows filled up."""
    n, k = len(widths), max(widths, default=0)
    if len(ids) == n * k:
        return ids.reshape(n, k), logprobs.reshape(n, k)
    there = np.arange(k)[None, :] < np.array(widths)[:, None]
    table, scores = np.full((n, k), ABSENT, np.int64), np.full((n, k), np.nan)
    table[there], scores[there] = ids, logprobs
    return table, scores
