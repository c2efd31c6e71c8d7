"""Records out of answers: of each engine's form, streamed or not, and of stored logprobs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.logprobs.cells import ResponseError
from checks.logprobs.convert import convert
from checks.logprobs.openai import KnownRequest
from checks.logprobs.record import ABSENT, Record, RecordOrigin, prompt_hash, text_id
from tests.logprobs.test_jsonl import equal

ASKED = KnownRequest(id="r", origin=RecordOrigin(model="m"), steps=True)
WORDS = st.sampled_from(["a", " b", "你", "<|end|>", "\u2028", "\x85", "\x1c"])
LOGPROBS = st.floats(-20, 0)
NAMED = st.integers(0, 2**31).map("token_id:{}".format)


def cells(tokens):
    return st.builds(
        lambda t, lp: {"token": t, "logprob": lp, "bytes": list(t.encode())}, tokens, LOGPROBS
    )


def contents(tokens):
    top = st.lists(cells(tokens), max_size=3)
    return st.lists(
        st.builds(lambda c, t: c | {"top_logprobs": t}, cells(tokens), top), min_size=1, max_size=6
    )


def only(data: object, asked: KnownRequest = ASKED) -> Record:
    (record,) = convert(data if isinstance(data, bytes) else json.dumps(data).encode(), asked)
    return record


def chat(content: list, **more: object) -> dict:
    return {
        "id": "x",
        "object": "chat.completion",
        "choices": [{"index": 0, "logprobs": {"content": content}} | more],
    }


def pieces(items: list, data) -> list[list]:
    """`items`, cut into chunks, one of which may be empty."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(items)), max_size=3)))
    return [items[a:b] for a, b in zip([0, *cuts], [*cuts, len(items)], strict=True)]


def stream(chunks: list[dict]) -> bytes:
    events = "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n" for chunk in chunks)
    return (": ping\n\n" + events + "data: [DONE]\n\n").encode()


@settings(max_examples=30, deadline=None)
@given(st.one_of(contents(WORDS), contents(NAMED)), st.data())
def test_a_streamed_chat_is_the_whole_one(content, data):
    whole = only(chat(content, finish_reason="stop"), KnownRequest(id="r"))
    parts = pieces(content, data)
    chunks = [
        {"id": "x", "object": "chat.completion.chunk"}
        | {"choices": [{"index": 0, "delta": {}, "logprobs": {"content": part} if part else None}]}
        for part in parts
    ]
    chunks += [
        {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"id": "x", "choices": []},
    ]
    equal(only(stream(chunks), KnownRequest(id="r")), whole)
    equal(only(chunks, KnownRequest(id="r")), whole)
    equal(
        only(
            "\n".join(json.dumps(c, ensure_ascii=False) for c in chunks).encode(),
            KnownRequest(id="r"),
        ),
        whole,
    )
    assert only(stream(chunks)).accept_num.tolist() == [len(part) for part in parts if part]
    # what an e2e test stores is the `logprobs` object of each chunk
    plain = only([{"content": part, "refusal": None} for part in parts if part])
    assert plain.accept_num.tolist() == [len(part) for part in parts if part]
    assert np.array_equal(plain.tokens, whole.tokens)
    assert np.array_equal(plain.topk_logprobs, whole.topk_logprobs, equal_nan=True)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(WORDS, LOGPROBS, st.dictionaries(WORDS, LOGPROBS)), min_size=1, max_size=6),
    st.data(),
)
def test_a_streamed_completion_is_the_whole_one(rows, data):
    def logprobs(part: list) -> dict:
        tokens, scores, tops = (
            (list(column) for column in zip(*part, strict=True)) if part else ([], [], [])
        )
        return {"tokens": tokens, "token_logprobs": scores, "top_logprobs": tops, "text_offset": []}

    whole = only(
        {
            "id": "x",
            "object": "text_completion",
            "choices": [{"index": 0, "logprobs": logprobs(rows)}],
        }
    )
    chunks = [
        {
            "id": "x",
            "object": "text_completion",
            "choices": [{"index": 0, "text": "", "logprobs": logprobs(part)}],
        }
        for part in pieces(rows, data)
    ]
    streamed = only(stream(chunks))
    assert whole.accept_num is None
    assert (
        whole.tokens.tolist()
        == [text_id(token.encode()) for token, _, _ in rows]
        == streamed.tokens.tolist()
    )
    assert np.array_equal(whole.topk_ids, streamed.topk_ids)
    assert np.array_equal(whole.topk_logprobs, streamed.topk_logprobs, equal_nan=True)


def entry(token: str, logprob: float, *top: tuple[str, float], **more: object) -> dict:
    made = {"token": token, "logprob": logprob, "bytes": list(token.encode())} | more
    return made | {"top_logprobs": [entry(*pair) for pair in top]}


def test_tokens_named_by_id_are_those_ids():
    record = only(chat([entry("token_id:7", -0.5, ("token_id:7", -0.5), ("token_id:3", -9999.0))]))
    assert (record.ids, record.tokens.tolist(), record.topk_ids.tolist()) == (
        "token",
        [7],
        [[7, 3]],
    )
    assert record.topk_logprobs.tolist() == [[-0.5, -math.inf]], (
        "the floor that stands for -inf in JSON"
    )


@pytest.mark.parametrize("place", ["choice", "message"])
@pytest.mark.parametrize("name", ["token_ids", "completion_token_ids"])
def test_ids_beside_the_texts_are_used_where_every_token_has_one(place, name):
    ids = {name: [11, 12]}
    beside = ids if place == "choice" else {"message": {"content": "ab"} | ids}
    alone = only(chat([entry("a", -1.0), entry("b", -2.0)], **beside))
    assert (alone.ids, alone.tokens.tolist(), alone.texts) == (
        "token",
        [11, 12],
        {11: "a", 12: "b"},
    )
    # the top tokens have texts alone, and two kinds of ids could not be paired
    with_top = only(chat([entry("a", -1.0, ("c", -1.5)), entry("b", -2.0)], **beside))
    assert with_top.ids == "text"
    assert with_top.topk_ids.tolist() == [[text_id(b"c")], [ABSENT]]
    # ids of another number of tokens belong to no place for certain
    assert only(chat([entry("a", -1.0)], **beside)).ids == "text"


def test_streamed_ids_are_put_together():
    chunks = [
        {
            "id": "x",
            "choices": [
                {
                    "delta": {"completion_token_ids": [i]},
                    "logprobs": {"content": [entry("a", -1.0)]},
                }
            ],
        }
        for i in (5, 6)
    ]
    assert only(stream(chunks)).tokens.tolist() == [5, 6]


def test_fields_about_something_else_are_passed_over():
    """What vLLM says about the prompt, and FastDeploy about its drafts, is no generated token."""
    prompt = [None, {"9": {"logprob": -3.0, "rank": 2, "decoded_token": "H"}}]
    logprobs = {"tokens": ["token_id:7"], "token_logprobs": [-0.5], "text_offset": [0]}
    logprobs["top_logprobs"] = [{"token_id:7": -0.5, "token_id:3": -1.5}]
    choice = {
        "index": 0,
        "text": "a",
        "logprobs": logprobs,
        "finish_reason": "length",
        "stop_reason": None,
    }
    choice |= {"token_ids": [7], "prompt_token_ids": [9, 9], "prompt_logprobs": prompt}
    record = only(
        {"id": "x", "object": "text_completion", "choices": [choice], "kv_transfer_params": None}
    )
    assert (record.ids, record.tokens.tolist(), record.topk_ids.tolist()) == (
        "token",
        [7],
        [[7, 3]],
    )

    drafts = {"content": [entry("d", -0.1), entry("e", -0.2)]}
    chunks = [
        {
            "id": "x",
            "choices": [{"index": 0, "delta": {"role": "assistant", "prompt_token_ids": [9, 9]}}],
        },
        {
            "id": "x",
            "choices": [
                {"index": 0, "delta": {"completion_token_ids": [5, 6]}, "draft_logprobs": drafts}
                | {
                    "logprobs": {"content": [entry("a", -1.0), entry("b", -2.0)]},
                    "prompt_logprobs": prompt,
                }
            ],
        },
        {
            "id": "x",
            "choices": [
                {"index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": "stop"}
            ],
        },
        {"id": "x", "choices": [], "usage": {"completion_tokens": 2}},
    ]
    record = only(stream(chunks))
    assert (record.tokens.tolist(), record.logprobs.tolist()) == ([5, 6], [-1.0, -2.0])
    assert (record.accept_num.tolist(), record.finish_reason) == ([2], "stop")


def test_sglang_gives_triples():
    meta = {
        "id": "abc",
        "finish_reason": {"type": "length", "length": 2},
        "output_token_logprobs": [[-0.5, 7, "a"], [None, 8, None]],
        "output_top_logprobs": [[[-0.5, 7, None], [-1.5, 9, None]], None],
    }
    for body in (
        {"text": "", "meta_info": meta},
        {"choices": [{"meta_info": meta, "logprobs": {"content": []}}]},
    ):
        record = only(body)
        assert (record.ids, record.tokens.tolist(), record.finish_reason) == (
            "token",
            [7, 8],
            "length",
        )
        assert record.topk_ids.tolist() == [[7, 9], [ABSENT, ABSENT]]
        assert math.isnan(record.logprobs[1])


def test_what_only_bytes_tell_apart_stays_apart():
    halves = [entry("\ufffd", -1.0, bytes=[228, 189]), entry("\ufffd", -1.0, bytes=[160])]
    assert len(set(only(chat(halves)).tokens.tolist())) == 2


def test_a_batch_is_called_by_its_own_ids_and_choices_by_their_number():
    body = chat([entry("a", -1.0)])
    body["choices"].append({"index": 1, "logprobs": {"content": [entry("b", -1.0)]}})
    lines = [
        {"custom_id": f"q{n}", "response": {"status_code": 200, "body": body}} for n in range(2)
    ]
    found = list(convert("\n".join(map(json.dumps, lines)).encode(), ASKED))
    assert [record.id for record in found] == ["q0", "q0#1", "q1", "q1#1"]
    two = stream([chat([entry("a", -1.0)])]) + stream([chat([entry("b", -1.0)])])
    assert [record.id for record in convert(two, ASKED)] == ["r-0", "r-1"]


def test_what_was_said_about_the_request_is_in_the_record():
    asked = KnownRequest("r", "Hi", RecordOrigin(), {"seed": 3}, {"proposer": "mtp"})
    metrics = {"accepted_tokens": 5, "accept_ratio": 0.5, "per_head": [1, 2]}
    record = only(chat([entry("a", -1.0)], speculate_metrics=metrics) | {"model": "small"}, asked)
    assert (record.prompt, record.prompt_sha256) == ("Hi", prompt_hash("Hi"))
    assert record.origin.model == "small" and record.sampling == {"seed": 3}
    assert record.speculative == {"proposer": "mtp", "accepted_tokens": 5, "accept_ratio": 0.5}


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b"\xff\xfe{", "not-utf8"),
        (b'{"a": 1}\n{', "not-json"),
        ([], "not-a-response"),
        ([1], "not-a-response"),
        ({"choices": []}, "not-a-response"),
        ({"error": {"message": "no"}}, "error"),
        ({"choices": [{"logprobs": None}]}, "no-logprobs"),
        (chat([{"token": 3, "logprob": -1}]), "no-logprobs"),
        (chat([{"token": "a", "logprob": "x"}]), "no-logprobs"),
        (chat([{"token": "a", "logprob": -1, "bytes": [300]}]), "no-logprobs"),
        (chat([{"token": "", "logprob": -1}]), "no-names"),
        ({"tokens": ["a"], "token_logprobs": []}, "unequal"),
        ([{"content": [entry("a", -1.0)]}, {"tokens": ["a"], "token_logprobs": [-1.0]}], "unequal"),
        (b"data: {}\n\n", "not-a-response"),
        (b"data: x\n\n", "bad-event"),
        (b'data: {"choices": []}\n\n', "cut-off"),
        (b'data: {"error": "full"}\n\ndata: [DONE]\n', "error"),
    ],
)
def test_what_is_no_answer_is_refused(data, key):
    with pytest.raises(ResponseError) as caught:
        only(data)
    assert caught.value.key == key


META = {"output_token_logprobs": [[-0.5, 7, "a"]], "output_top_logprobs": [[[-0.5, 7, None]]]}
COMPLETION = {"tokens": ["a"], "token_logprobs": [-1.0], "top_logprobs": [{"a": -1.0}]}
CHUNK = {
    "id": "x",
    "object": "chat.completion.chunk",
    "choices": [{"index": 0, "delta": {"token_ids": [4]}}],
}
SHAPES = (
    chat(
        [entry("a", -1.0, ("token_id:3", -2.0))], message={"token_ids": [3]}, finish_reason="stop"
    ),
    {"choices": [{"logprobs": COMPLETION, "speculate_metrics": {"accepted_tokens": 1}}]},
    {"choices": [{"meta_info": META}]},
    {"meta_info": META | {"finish_reason": {"type": "stop"}, "id": "i"}},
    [CHUNK, {"id": "x", "choices": [{"index": 0, "logprobs": {"content": [entry("a", -1.0)]}}]}],
    [{"content": [entry("a", -1.0)]}, {"content": [entry("b", -1.0)]}],
    [COMPLETION, COMPLETION],
    [entry("a", -1.0)],
    [{"custom_id": "q", "response": {"body": chat([entry("a", -1.0)])}}],
)
JUNK = (None, True, 3, -1.5, "x", "token_id:x", [], [1], [[1]], {}, {"a": 1}, 2**70)


def places(value: object, path: tuple = ()):
    """Every path into a JSON value."""
    yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in inner:
        yield from places(item, (*path, key))


def replaced(value: object, path: tuple, junk: object) -> object:
    if not path:
        return junk
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], junk)
    return copy


@pytest.mark.parametrize("shape", SHAPES, ids=range(len(SHAPES)))
def test_junk_in_any_place_is_read_or_refused_and_nothing_else(shape):
    assert list(convert(json.dumps(shape).encode(), ASKED))
    refused = 0
    for path in places(shape):
        for junk in JUNK:
            broken = replaced(shape, path, junk)
            for data in (
                json.dumps(broken).encode(),
                stream(broken if isinstance(broken, list) else [broken]),
            ):
                try:
                    list(convert(data, ASKED))
                except ResponseError:
                    refused += 1
    assert refused > 10
