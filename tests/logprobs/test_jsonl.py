"""The record's lines: what was written is read again, and what is no record is refused with its
line.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tracemalloc
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.logprobs import jsonl
from checks.logprobs.jsonl import RecordError, parse, read, write
from checks.logprobs.record import ABSENT, MODES, Record, RecordOrigin, prompt_hash

PAGE = Path(jsonl.__file__).parent / "FORMAT.md"
FLOATS = st.floats(allow_nan=True, allow_infinity=True)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.one_of(
    st.integers(-(2**53), 2**53),
    st.booleans(),
    TEXT,
    st.none(),
    st.floats(allow_nan=False, allow_infinity=False),
)


@st.composite
def made(draw) -> Record:
    n, k = draw(st.integers(0, 5)), draw(st.integers(0, 4))
    ids = st.integers(-1, 2**40) if draw(st.booleans()) else st.integers(-1, 2**62)

    def ints(size: int) -> np.ndarray:
        return np.array(draw(st.lists(ids, min_size=size, max_size=size)), np.int64)

    def floats(size: int) -> np.ndarray:
        return np.array(draw(st.lists(FLOATS, min_size=size, max_size=size)), np.float64)

    table, scores = ints(n * k).reshape(n, k), floats(n * k).reshape(n, k)
    for row in range(1, n):
        # the first row stays whole, so that lists and packed arrays have the same width
        end = draw(st.integers(0, k))
        table[row, end:], scores[row, end:] = ABSENT, np.nan
    prompt = draw(st.none() | TEXT)
    cut = sorted(draw(st.lists(st.integers(0, n), max_size=3)))
    return Record(
        id=draw(TEXT),
        tokens=ints(n),
        logprobs=floats(n),
        topk_ids=table if n else table.reshape(0, 0),
        topk_logprobs=scores if n else scores.reshape(0, 0),
        prompt=prompt,
        prompt_sha256="unknown" if prompt is None else prompt_hash(prompt),
        ranks=draw(st.none() | st.just(ints(n))),
        accept_num=np.diff([0, *cut, n]).astype(np.int64),
        logz=draw(st.none() | st.just(floats(n))),
        max_logit=draw(st.none() | st.just(floats(n))),
        origin=RecordOrigin(
            draw(TEXT), draw(st.sampled_from(MODES)), draw(TEXT), draw(TEXT), draw(TEXT), draw(TEXT)
        ),
        sampling=draw(st.dictionaries(TEXT, SCALARS, max_size=2)),
        speculative=draw(st.dictionaries(TEXT, SCALARS, max_size=2)),
        ids=draw(st.sampled_from(("token", "text"))),
        texts=draw(st.dictionaries(ids, TEXT, max_size=2)),
        finish_reason=draw(TEXT),
    )


def equal(a: Record, b: Record) -> None:
    for field in fields(Record):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype and one.shape == other.shape, field.name
            assert one.tobytes() == other.tobytes() or np.array_equal(
                one, other, equal_nan=one.dtype.kind == "f"
            )
        else:
            assert one == other, field.name


@settings(max_examples=30, deadline=None)
@given(made(), st.booleans())
def test_what_was_written_is_read(record, packed):
    line = write(record, packed=packed)
    assert line.count(b"\n") == 1 and line.endswith(b"\n")
    again = parse(line)
    equal(record, again)
    assert write(again, packed=packed) == line


@settings(max_examples=30, deadline=None)
@given(st.lists(made(), min_size=1, max_size=3), st.data())
def test_a_cut_file_gives_its_whole_records_and_then_one_error(records, data):
    whole = b"".join(map(write, records))
    cut = data.draw(st.integers(0, len(whole)))
    rest = whole[:cut]
    found = []
    try:
        for record in read(io.BytesIO(rest)):
            found.append(record)
        ended = rest == b"" or rest.endswith(b"\n") or whole[cut : cut + 1] == b"\n"
        assert ended, "a torn line was taken for a whole one"
    except RecordError as error:
        assert error.key == "truncated" and error.line == len(found) + 1
    assert len(found) >= rest.count(b"\n")


@settings(max_examples=30, deadline=None)
@given(made(), st.data())
def test_a_damaged_line_is_read_or_refused_and_nothing_else(record, data):
    line = bytearray(write(record, packed=data.draw(st.booleans())))
    for _ in range(data.draw(st.integers(1, 3))):
        line[data.draw(st.integers(0, len(line) - 2))] = data.draw(st.integers(0, 255))
    try:
        list(read([bytes(line)]))
    except RecordError as error:
        assert error.line in (1, 2)


GOOD = {"version": 1, "id": "a", "prompt": "p", "tokens": [1, 2], "logprobs": [-0.5, "-inf"]}
TABLE = {"topk_ids": [[1], [2]], "topk_logprobs": [[-0.5], [-1]]}


def line(**changes: object) -> bytes:
    return (
        json.dumps({k: v for k, v in (GOOD | TABLE | changes).items() if v is not ...}).encode()
        + b"\n"
    )


@pytest.mark.parametrize(
    ("changes", "key", "field"),
    [
        ({"version": ...}, "missing", "version"),
        ({"version": 2}, "version", "version"),
        ({"version": True}, "version", "version"),
        ({"id": ...}, "missing", "id"),
        ({"id": 3}, "text", "id"),
        ({"tokens": ...}, "missing", "tokens"),
        ({"logprob": []}, "unknown-field", "logprob"),
        ({"tokens": [1, 2.5]}, "integers", "tokens"),
        ({"tokens": [1, True]}, "integers", "tokens"),
        ({"tokens": [1, 2**63]}, "integers", "tokens"),
        ({"tokens": "12"}, "integers", "tokens"),
        ({"logprobs": [-0.5]}, "length", "logprobs"),
        ({"logprobs": [-0.5, None]}, "numbers", "logprobs"),
        ({"logprobs": [-0.5, "low"]}, "numbers", "logprobs"),
        ({"logprobs": [-0.5, True]}, "numbers", "logprobs"),
        ({"ranks": [1]}, "length", "ranks"),
        ({"logz": {"f4": "00"}}, "packed", "logz"),
        ({"logz": {"f4": "zz"}}, "packed", "logz"),
        ({"logz": {"f2": "00000000"}}, "packed", "logz"),
        ({"tokens": {"f4": "0000000000000000"}}, "packed", "tokens"),
        ({"accept_num": [1, 2]}, "accept-num", "accept_num"),
        ({"accept_num": [3, -1]}, "accept-num", "accept_num"),
        ({"topk_ids": [[1]]}, "length", "topk_ids"),
        ({"topk_ids": [1, 2]}, "table", "topk_ids"),
        ({"topk_ids": [[1, 3], [2]]}, "rows", "topk_logprobs"),
        ({"topk_ids": {"i4": "01000000"}}, "table", "topk_ids"),
        ({"topk_ids": [[ABSENT], [2]]}, "absent", "topk_ids"),
        ({"prompt": ...}, "missing", "prompt_sha256"),
        ({"prompt_sha256": "0" * 64}, "prompt-hash", "prompt_sha256"),
        ({"prompt": ..., "prompt_sha256": "short"}, "prompt-hash", "prompt_sha256"),
        ({"origin": {"gpu": "x"}}, "origin", "origin"),
        ({"origin": {"mode": "cooked"}}, "choice", "mode"),
        ({"ids": "byte"}, "choice", "ids"),
        ({"sampling": {"stop": ["a"]}}, "scalars", "sampling"),
        ({"texts": {"a": "b"}}, "texts", "texts"),
        ({"texts": {"1": 2}}, "texts", "texts"),
    ],
)
def test_a_wrong_field_is_named(changes, key, field):
    with pytest.raises(RecordError) as caught:
        list(read([line(), line(**changes)]))
    assert (caught.value.line, caught.value.key, caught.value.args_["field"]) == (2, key, field)


@pytest.mark.parametrize(
    ("lines", "key", "at"),
    [
        ([line().decode().encode("utf-16")], "encoding", 1),
        ([b"\xef\xbb\xbf" + line()], "encoding", 1),
        ([line(), line().replace(b'"a"', b'"\xff"')], "not-utf8", 2),
        ([line(), b"\n", b"[1]\n"], "not-an-object", 3),
        ([line(), b"{no}\n"], "not-json", 2),
        ([b'{"id": "\xc3\xa9", "logprobs": [-Infinity]}\n'], "not-finite", 1),
        ([b'{"logprobs": [NaN]}\n'], "not-finite", 1),
        ([b'["NaN" "NaN"]\n'], "not-json", 1),
        ([gzip.compress(line())], "compressed", 1),
        ([line(), line()[:-9]], "truncated", 2),
        ([line(), line(id="é").decode().encode()[:30] + b"\xc3"], "truncated", 2),
    ],
)
def test_what_is_no_json_line_is_named(lines, key, at):
    with pytest.raises(RecordError) as caught:
        list(read(lines))
    assert (caught.value.key, caught.value.line) == (key, at)


def test_a_line_without_end_is_refused_and_not_swallowed(monkeypatch):
    monkeypatch.setattr(jsonl, "LONGEST", 1000)
    with pytest.raises(RecordError) as caught:
        list(read(jsonl.lines(io.BytesIO(b'{"version":1' * 1000))))
    assert caught.value.key == "too-long"


def test_memory_does_not_grow_with_the_file():
    one = line(
        tokens=[1] * 99,
        logprobs=[-0.5] * 99,
        topk_ids=[[1] * 20] * 99,
        topk_logprobs=[[-0.5] * 20] * 99,
    )

    def peak(count: int) -> int:
        tracemalloc.start()
        for record in read(one for _ in range(count)):
            assert len(record) == 99
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(40) < 1.2 * peak(4)


def test_the_page_names_every_field_and_its_examples_are_records():
    text = PAGE.read_text("utf-8")
    rows = [row.split("|") for row in text.splitlines() if row.startswith("| `")]
    assert {row[1].strip(" `") for row in rows} == jsonl._KNOWN
    required = {row[1].strip(" `") for row in rows if row[3].strip() == "yes"}
    assert required == set(jsonl._REQUIRED)
    examples = re.search(r"```json\n(.*?)```", text, re.DOTALL)[1]
    first, second = read(examples.encode().splitlines(keepends=True))
    assert (first.k, len(first), second.topk_ids[0, 1], second.logprobs[0]) == (
        2,
        2,
        ABSENT,
        -np.inf,
    )
    assert str(ABSENT) in text
