"""``message``: packer against reference, round trips, and readers that must refuse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from random import Random

import pytest
import torch
from hypothesis import given as draw
from hypothesis import strategies as st

import kernels.message
from kernels.message import (
    DRAFT,
    PREEMPTED,
    TARGET,
    MessageError,
    copy_to_host,
    message_words,
    pack_message,
    unpack_message,
)
from kernels.message.layout import CURRENT, FIXED, INVALID, Layout, document, pack_bits, write
from kernels.message.reference import pack_reference
from tests.kernels.conftest import gpu_only
from tests.kernels.gpu_checks import assert_graph_replays, assert_no_recompilation, assert_no_sync
from tests.kernels.properties import DEVICE, property_test, same
from tests.kernels.strategies import coin, independent, integers, mostly


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Blocks so small that the interpreter's small batches need several of them."""
    patch = pytest.MonkeyPatch()
    if DEVICE == "cpu":
        from kernels.message import triton as module

        patch.setattr(module, "BLOCK", 8)
    yield
    patch.undo()


@dataclass(frozen=True)
class Case:
    batch: int
    most: int  # tokens of a slot
    available: int  # columns of the inputs
    columns: int | None
    spare: int  # input rows behind the last used one
    flag: int
    message_id: int
    running: bool
    running_on_device: bool
    skips: bool
    preempts: bool
    wide: bool
    strided: bool
    wild: bool
    seed: int


def draw_case(rng: Random) -> Case:
    gpu = DEVICE == "cuda"
    return Case(
        batch=mostly(rng, range(1, 5), [33, 256, 257, 512] if gpu else [9]),
        most=rng.randint(1, 6 if gpu else 4),
        available=rng.choice([rng.randint(1, 4), 21 if gpu else 9]),
        columns=rng.choice([None, rng.randint(1, 9)]),
        spare=rng.randint(0, 5),
        flag=rng.choice([TARGET, DRAFT, rng.randint(0, 255)]),
        message_id=rng.choice([1, 3, 2**31 - 1]),
        running=coin(rng),
        running_on_device=coin(rng),
        skips=coin(rng),
        preempts=coin(rng),
        wide=coin(rng),
        strided=coin(rng),
        wild=coin(rng),
        seed=rng.getrandbits(31),
    )


CASES = independent(draw_case)


def inputs(case: Case) -> dict[str, torch.Tensor | None]:
    gen = torch.Generator().manual_seed(case.seed)
    ids = torch.int64 if case.wide else torch.int32
    ints = integers(gen, ids)
    accepted = ints(0, case.most + 1, case.batch, dtype=torch.int32)
    offsets = torch.tensor([0, *accumulate(accepted.tolist())], dtype=torch.int32)
    rows = int(offsets[-1]) + case.spare
    if case.wild:
        accepted = accepted + ints(-2, 3, case.batch, dtype=torch.int32)
        offsets = offsets + ints(-1, 2, case.batch + 1, dtype=torch.int32)

    def table(make: torch.Tensor) -> torch.Tensor:
        return make[:, : case.available] if case.strided else make[:, : case.available].contiguous()

    top = ints(-1, 999, rows, case.available + 2)
    sampled = ints(0, 999, rows, 2)
    ranks = ints(0, 99, rows, 2)
    if case.wild and case.wide and rows:
        odd = torch.tensor([2**31, -(2**31), 2**40 + 5, -2])
        top[0, 1], sampled[0, 0], ranks[0, 0] = (
            odd[case.seed % 4],
            odd[case.seed // 4 % 4],
            odd[case.seed // 16 % 4],
        )
    scores = torch.randn(rows, case.available + 2, generator=gen)
    scores = torch.where(torch.rand(scores.shape, generator=gen) < 0.1, -torch.inf, scores)
    return {
        "sampled_token_ids": sampled[:, 0] if case.strided else sampled[:, 0].contiguous(),
        "logprob_token_ids": table(top),
        "logprob_scores": table(scores),
        "logprob_ranks": ranks[:, 0] if case.strided else ranks[:, 0].contiguous(),
        "accept_num": accepted,
        "cu_batch_token_offset": offsets,
        "seq_lens_decoder": ints(0, 4, case.batch) if case.skips else None,
        "prompt_lens": ints(0, 4, case.batch) if case.skips else None,
        "preempted": torch.rand(case.batch, generator=gen) < 0.2 if case.preempts else None,
    }


def on_device(value: torch.Tensor | None) -> torch.Tensor | None:
    """A copy with the same strides: `.to` and `.clone` may make them dense."""
    if value is None:
        return None
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=DEVICE).copy_(
        value
    )


def arguments(case: Case, device: str) -> tuple[int, dict[str, object]]:
    """The columns sent, and the options of a call."""
    columns = case.available if case.columns is None else min(case.columns, case.available)
    running: object = case.running
    if case.running_on_device:
        running = torch.tensor([case.running], device=device)
    return columns, {"message_id": case.message_id, "running": running}


def check(case: Case) -> None:
    given = inputs(case)
    columns, options = arguments(case, DEVICE)
    asked = None if case.columns is None else columns
    moved = {name: on_device(value) for name, value in given.items()}
    got = pack_message(**moved, message_flag=case.flag, num_logprobs=asked, **options)
    want = torch.empty(got.shape, dtype=torch.int32)
    meta = case.flag | columns << 8
    pack_reference(**given, meta=meta, columns=columns, out=want, **arguments(case, "cpu")[1])
    same("message", got, want)  # the words behind the last used row as well: nobody may write there
    if not case.wild:
        assert_carries(case, given, columns, got)


def assert_carries(
    case: Case, given: dict[str, torch.Tensor | None], columns: int, packed: torch.Tensor
) -> None:
    """What is read is what was given, slot by slot; said without the reference packer."""
    message = unpack_message(copy_to_host_now(packed), message_id=case.message_id)
    assert (message.running, message.message_flag) == (case.running, case.flag)
    assert message.tokens.shape[1] == columns
    for slot, count in enumerate(given["accept_num"].tolist()):
        if given["preempted"] is not None and bool(given["preempted"][slot]):
            count = PREEMPTED
        elif (
            given["prompt_lens"] is not None
            and given["seq_lens_decoder"][slot] < given["prompt_lens"][slot]
        ):
            count = 0
        assert message.token_counts[slot] == count
        first = int(given["cu_batch_token_offset"][slot])
        source, rows = slice(first, first + max(count, 0)), message.rows(slot)
        assert message.tokens[rows, 0].tolist() == given["sampled_token_ids"][source].tolist()
        assert (
            message.tokens[rows, 1:].tolist()
            == given["logprob_token_ids"][source, 1:columns].tolist()
        )
        assert message.scores[rows].tolist() == given["logprob_scores"][source, :columns].tolist()
        assert message.ranks[rows].tolist() == given["logprob_ranks"][source].tolist()


def copy_to_host_now(packed: torch.Tensor) -> torch.Tensor:
    host = copy_to_host(packed)
    if packed.is_cuda:
        torch.cuda.current_stream().synchronize()
    return host


test_matches_reference_and_round_trips = property_test(CASES)(check)


def packed(accepted: list[int], columns: int = 2, **kwargs: object) -> torch.Tensor:
    """A message of rows numbered in order: token 10 r, top id 10 r + 1, score -r, rank r."""
    rows = sum(max(count, 0) for count in accepted)
    number = torch.arange(rows, device=DEVICE)
    offsets = [0, *accumulate(max(count, 0) for count in accepted)]
    return pack_message(
        number * 10,
        number[:, None] * 10 + torch.arange(columns, device=DEVICE),
        -number[:, None].float().expand(rows, columns),
        number,
        torch.tensor(accepted, dtype=torch.int32, device=DEVICE),
        torch.tensor(offsets, dtype=torch.int32, device=DEVICE),
        **kwargs,
    )


def test_the_words_of_a_message() -> None:
    """Written out once by hand, so that packer and unpacker cannot drift together."""
    words = packed([1, 0, 2]).tolist()
    minus_one, minus_two = (torch.tensor([x]).view(torch.int32).item() for x in (-1.0, -2.0))
    zero = torch.tensor([-0.0]).view(torch.int32).item()
    assert words[:6] == [1, 3 | 2 << 8, 3, 1, 0, 2]
    assert words[6:] == [
        0, 1, zero, zero, 0,
        10, 11, minus_one, minus_one, 1,
        20, 21, minus_two, minus_two, 2,
    ]  # fmt: skip
    assert len(words) == message_words(3, 2, 3)


def test_only_used_columns_and_rows_are_moved() -> None:
    """256 slots of 4 tokens and one column: 13 KB, where the fixed structure moved 530,444
    bytes."""
    assert 4 * message_words(256, 1, 1024) == 13_324
    assert 4 * FIXED.length({}) == 530_444
    assert packed([2] * 4, columns=9, num_logprobs=1).numel() == message_words(4, 1, 8) == 31


def old_message() -> torch.Tensor:
    """What a sender before #7883 wrote: one slot of two tokens, everything else unused."""
    zeros = torch.zeros(512, 126)
    counts = torch.zeros(512)
    counts[0] = 2
    values = {
        "stop_word": torch.ones(1), "meta": torch.tensor([TARGET]), "bsz": torch.ones(1),
        "token_counts": counts, "tokens": zeros, "scores": zeros, "ranks": zeros[:, :6],
    }  # fmt: skip
    return write(FIXED, values, {})


def test_an_old_reader_of_a_new_message_fails_and_the_reverse() -> None:
    old = unpack_message(old_message(), layout=FIXED)
    assert (old.message_flag, old.token_counts[:2]) == (TARGET, [2, 0])
    # as many words as the fixed structure has, so that no length check can be what refuses it
    new = torch.cat(
        [packed([2], columns=21).cpu(), torch.zeros(FIXED.length({}), dtype=torch.int32)]
    )
    assert unpack_message(new).token_counts == [2]
    with pytest.raises(
        MessageError, match=r"message_flag must be 3 or 4, got 5379: the message has another layout"
    ):
        unpack_message(new, layout=FIXED)
    with pytest.raises(MessageError, match="num_logprobs is 0: the writer did not send its width"):
        unpack_message(old_message())


@draw(flag=st.integers(0, 255), columns=st.integers(1, 65535))
def test_no_flag_and_width_can_look_like_an_old_flag(flag: int, columns: int) -> None:
    meta = next(field for field in CURRENT.header if field.name == "meta")
    word = pack_bits(meta, {"message_flag": flag, "num_logprobs": columns})
    assert 0 <= word < 1 << 24
    assert word not in (TARGET, DRAFT)


@pytest.mark.parametrize(
    ("word", "value", "text"),
    [
        (0, -2, r"stop_word must be 1 or -1, got -2 \(nothing was received\)"),
        (0, 7, "stop_word must be 1 or -1, got 7"),
        (1, 3, "num_logprobs is 0"),
        (1, 3 | 2 << 8 | 1 << 24, "reserved must be 0, got 1: the message has another layout"),
        (1, -1, "reserved must be 0, got 255"),
        (1, 3 | 21 << 8, r"rows needs words 6..135, the message has 21"),
        (2, 0, "bsz must be at least 1, got 0"),
        (2, 99, r"token_counts needs words 3..102, the message has 21"),
        (3, -3, "a count that means nothing: -3"),
        (3, INVALID, "a count that means nothing"),
        (3, 4, r"rows needs words 6..36, the message has 21"),
        (6, -1, "a sampled token must be at least 0, got -1"),
        (7, -2, "a top-k token must be at least -1, got -2"),
        (10, INVALID, "a rank must be at least 0, got one that fits no word"),
    ],
)
def test_a_reader_refuses(word: int, value: int, text: str) -> None:
    words = packed([1, 0, 2]).cpu()
    assert unpack_message(words).token_counts == [1, 0, 2]
    words[word] = value
    with pytest.raises(MessageError, match=text):
        unpack_message(words)


def test_a_reader_takes_bytes_and_ignores_what_follows() -> None:
    words = packed([1, PREEMPTED, 2]).cpu()
    # a count below zero in accept_num is an error of the caller, not a code
    with pytest.raises(MessageError, match="means nothing"):
        unpack_message(words)
    words[4] = PREEMPTED
    message = unpack_message(words.numpy().tobytes() + b"\x01\x02\x03\x04")
    assert message.token_counts == [1, PREEMPTED, 2]
    assert message.tokens[message.rows(2), 0].tolist() == [10, 20]
    assert message.rows(1) == slice(1, 1)
    for bad in (b"", b"\x01\x00\x00"):
        with pytest.raises(MessageError, match="run of 32-bit words"):
            unpack_message(bad)
    for short in range(len(words)):
        with pytest.raises(MessageError):
            unpack_message(words[:short])


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"message_flag": 256}, ValueError, r"message_flag must fit 8 bits \(0..255\), got 256"),
        ({"message_flag": -1}, ValueError, "message_flag must fit 8 bits"),
        ({"num_logprobs": 0}, ValueError, "num_logprobs must be in 1..2"),
        ({"num_logprobs": 3}, ValueError, "num_logprobs must be in 1..2"),
        ({"message_id": 2}, ValueError, "message_id 2 is reserved"),
        ({"message_id": -1}, ValueError, "message_id must be in 1"),
        (
            {"out": torch.zeros(4, dtype=torch.int32, device=DEVICE)},
            ValueError,
            "at least 21 words, has 4",
        ),
        (
            {"running": torch.zeros(2, dtype=torch.bool, device=DEVICE)},
            ValueError,
            "running must have shape",
        ),
        (
            {"prompt_lens": torch.zeros(3, dtype=torch.int64, device=DEVICE)},
            ValueError,
            "go together",
        ),
        (
            {"preempted": torch.zeros(2, dtype=torch.bool, device=DEVICE)},
            ValueError,
            "preempted must have shape",
        ),
    ],
)
def test_a_packer_refuses(change: dict[str, object], error: type, text: str) -> None:
    with pytest.raises(error, match=text):
        packed([1, 0, 2], **change)


def test_a_width_beyond_its_bits_is_refused() -> None:
    number = torch.zeros(1, dtype=torch.int64)
    wide = number[:, None].expand(1, 65_536)
    count = torch.ones(1, dtype=torch.int32)
    with pytest.raises(ValueError, match=r"num_logprobs must be in 1..65535, got 65536"):
        pack_message(
            number, wide, wide.float(), number, count, torch.tensor([0, 1], dtype=torch.int32)
        )


def test_packer_and_reader_follow_the_declared_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Move every field of the declaration: both sides and the document move with it."""
    other = Layout(
        "other", (*CURRENT.header[2::-1], *CURRENT.header[3:]), "rows", CURRENT.group[::-1]
    )
    given = packed([1, 0, 2])
    for module in ("", ".triton", ".reference", ".layout"):
        monkeypatch.setattr(f"kernels.message{module}.CURRENT", other)
    moved = packed([1, 0, 2])
    assert moved.tolist()[:4] == [3, 3 | 2 << 8, 1, 1]
    assert moved.tolist()[6] == 0 and moved.tolist()[11] == 1  # rank first
    words = moved.cpu()
    # the reader looks for the stop word before it reads by layout: only the group may move for this
    # part
    again, _ = kernels.message.layout.read(other, words)
    same("tokens", again["tokens"], unpack_message(given.cpu(), layout=CURRENT).tokens)
    assert document().index("`bsz`") < document().index("`stop_word`")


def test_the_document_is_what_the_layout_says() -> None:
    text = (Path(kernels.message.__file__).parent / "LAYOUT.md").read_text()
    assert text == document()
    for field in (*CURRENT.header, *CURRENT.group):
        assert f"`{field.name}`" in text


def test_copy_to_host_refuses_memory_that_would_wait() -> None:
    words = packed([1, 0, 2])
    short = torch.zeros(4, dtype=torch.int32)
    with pytest.raises(ValueError, match="at least 21 words"):
        copy_to_host(words, short)
    with pytest.raises(TypeError, match="message must be int32"):
        copy_to_host(words.float())
    prefix = copy_to_host_now(words[: message_words(3, 2, 3)])
    same("copied", prefix, words)


@gpu_only
def test_on_a_gpu_no_sync_graph_and_one_compilation() -> None:
    from kernels.message import triton as module

    case = Case(200, 4, 21, None, 3, TARGET, 1, True, True, True, True, True, False, False, 5)
    given = {name: on_device(value) for name, value in inputs(case).items()}
    running = torch.ones(1, dtype=torch.bool, device=DEVICE)
    rows = given["logprob_ranks"].shape[0]
    out = torch.zeros(message_words(200, 21, rows), dtype=torch.int32, device=DEVICE)
    host = torch.empty(out.shape, dtype=torch.int32, pin_memory=True)

    def send() -> torch.Tensor:
        copy_to_host(pack_message(**given, running=running, out=out), host)
        return out

    assert_no_sync(send)
    assert_graph_replays(send)
    torch.cuda.synchronize()
    same("host", host, out)
    with pytest.raises(ValueError, match="must be pinned"):
        copy_to_host(out, torch.empty(out.shape, dtype=torch.int32))

    def call(number: int) -> None:
        check(
            Case(
                number,
                4,
                3 + number % 18,
                None,
                3,
                TARGET,
                1,
                True,
                True,
                True,
                True,
                True,
                False,
                False,
                5,
            )
        )

    assert_no_recompilation(module._message_pack_kernel, call, [1, 2, 16, 17, 64, 256, 300])
