"""``schedule`` against its reference, and the steps that engines got wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pytest
import torch

from kernels.schedule import (
    OutputSchedule,
    gather_next_token,
    next_launch,
    output_schedule,
    update_status,
)
from kernels.schedule.reference import (
    gather_next_token_reference,
    output_schedule_reference,
    update_status_reference,
)
from tests.kernels.conftest import gpu_only
from tests.kernels.gpu_checks import assert_graph_replays, assert_no_recompilation, assert_no_sync
from tests.kernels.properties import DEVICE, property_test, same
from tests.kernels.strategies import coin, independent, integers, mostly


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Blocks so small that the interpreter's small batches need several of them."""
    patch = pytest.MonkeyPatch()
    if DEVICE == "cpu":
        from kernels.schedule import triton as module

        patch.setattr(module, "SCAN_BLOCK", 4)
        patch.setattr(module, "GATHER_BLOCK", 32)
        patch.setattr(module, "UPDATE_ROWS", 4)
    yield
    patch.undo()


def batch_of(rng: Random) -> int:
    return mostly(rng, range(1, 10), [31, 64, 255, 256, 257, 512] if DEVICE == "cuda" else [16, 17])


@dataclass(frozen=True)
class ScheduleCase:
    batch: int
    width: int
    room: int  # capacity, relative to the output rows
    seed: int


def draw_schedule(rng: Random) -> ScheduleCase:
    return ScheduleCase(
        batch=batch_of(rng)
        if DEVICE == "cuda"
        else rng.randint(1, 9),  # a program per slot is slow to interpret
        width=rng.randint(1, 7),
        room=rng.randint(-3, 300),
        seed=rng.getrandbits(31),
    )


SCHEDULE_CASES = independent(draw_schedule)


def schedule_inputs(case: ScheduleCase) -> tuple[torch.Tensor, torch.Tensor]:
    """Idle, plain, speculative and prefill slots, and now and then a negative length."""
    gen = torch.Generator().manual_seed(case.seed)
    this_time = torch.randint(-1, case.width + 1, (case.batch,), generator=gen, dtype=torch.int32)
    prefill = torch.rand(case.batch, generator=gen) < 0.3
    prompts = torch.randint(1, 40, (case.batch,), generator=gen, dtype=torch.int32)
    this_time = torch.where(prefill, prompts, this_time)
    return this_time, torch.where(prefill, prompts, 0).int()


def check_output_schedule(case: ScheduleCase) -> None:
    this_time, encoder = schedule_inputs(case)
    rows = int(torch.where(encoder > 0, 1, this_time.clamp(min=0)).sum())
    capacity = max(rows + case.room, 0)
    want = OutputSchedule.empty(case.batch, capacity, "cpu")
    output_schedule_reference(this_time, encoder, *want)
    got = output_schedule(this_time.to(DEVICE), encoder.to(DEVICE), capacity=capacity)
    for name in want._fields:
        same(name, getattr(got, name), getattr(want, name))


test_output_schedule_matches_reference = property_test(SCHEDULE_CASES)(check_output_schedule)


@dataclass(frozen=True)
class GatherCase:
    tokens: int
    hidden: int
    rows: int
    dtype: torch.dtype
    transposed: bool
    seed: int


def draw_gather(rng: Random) -> GatherCase:
    return GatherCase(
        tokens=rng.randint(0, 40),
        hidden=rng.choice([1, 31, 64, 1025] if DEVICE == "cuda" else [1, 31, 64, 65]),
        rows=rng.randint(0, 9),
        dtype=rng.choice([torch.bfloat16, torch.float16, torch.float32, torch.float64]),
        transposed=coin(rng),
        seed=rng.getrandbits(31),
    )


GATHER_CASES = independent(draw_gather)


def check_gather_next_token(case: GatherCase) -> None:
    gen = torch.Generator().manual_seed(case.seed)
    rows = torch.randint(-2, case.tokens + 2, (case.rows,), generator=gen, dtype=torch.int32)
    hidden = torch.randn(case.hidden, case.tokens, generator=gen).to(case.dtype).T
    hidden = hidden if case.transposed else hidden.contiguous()
    want = torch.empty(case.rows, case.hidden, dtype=case.dtype)
    gather_next_token_reference(hidden, rows, want)
    empty = OutputSchedule.empty(1, case.rows, DEVICE)
    got = gather_next_token(hidden.to(DEVICE), empty._replace(output_rows=rows.to(DEVICE)))
    same("rows", got, want)


test_gather_next_token_matches_reference = property_test(GATHER_CASES)(check_gather_next_token)


@dataclass(frozen=True)
class UpdateCase:
    batch: int
    width: int
    length: int
    ends: int
    blocked: bool
    prefill_stop: bool
    end_when_full: bool
    wide: bool  # int64 ids and counts, or int32
    strided: bool
    wild: bool  # counts and lengths that no step should leave behind
    seed: int


def draw_update(rng: Random) -> UpdateCase:
    return UpdateCase(
        batch=batch_of(rng),
        width=rng.randint(1, 7),
        length=rng.choice([1, 8, 33]),
        ends=rng.randint(0, 3),
        blocked=coin(rng),
        prefill_stop=coin(rng),
        end_when_full=coin(rng),
        wide=coin(rng),
        strided=coin(rng),
        wild=coin(rng),
        seed=rng.getrandbits(31),
    )


UPDATE_CASES = independent(draw_update)


def update_inputs(case: UpdateCase) -> dict[str, torch.Tensor]:
    gen = torch.Generator().manual_seed(case.seed)
    ids = torch.int64 if case.wide else torch.int32
    ints = integers(gen, torch.int32)

    def rows(low: int, high: int, width: int) -> torch.Tensor:
        if not case.strided:
            return ints(low, high, case.batch, width, dtype=ids)
        return ints(low, high, width + 1, case.batch, dtype=ids).T[:, :width]

    few = -3 if case.wild else 0
    prompt = ints(few, case.length + 1, case.batch, dtype=ids)
    step = ints(few, case.length + 1, case.batch, dtype=ids)
    prefill = torch.rand(case.batch, generator=gen) < 0.3
    return {
        "accept_tokens": rows(0, 9, case.width),
        "accept_num": ints(few, case.width + 1 - few, case.batch),
        "step_idx": step if case.wild else torch.minimum(step, (case.length - prompt).clamp(min=0)),
        "stop_flags": torch.rand(case.batch, generator=gen) < 0.2,
        "seq_lens_this_time": ints(0, case.width + 1, case.batch),
        "seq_lens_encoder": torch.where(prefill, ints(1, 20, case.batch), 0).int(),
        "seq_lens_decoder": ints(0, 20, case.batch),
        "token_ids_all": rows(0, 9, case.length),
        "prompt_lens": prompt,
        "max_dec_len": step + ints(0, case.width + 4, case.batch, dtype=ids),
        "end_tokens": torch.arange(3, 3 + case.ends, dtype=ids),
        "step_input_ids": rows(0, 9, case.width),
        "is_block_step": torch.rand(case.batch, generator=gen) < 0.2 if case.blocked else None,
    }


def on_device(value: torch.Tensor | None) -> torch.Tensor | None:
    """A copy with the same strides: `.to` and `.clone` may make them dense."""
    if value is None:
        return None
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=DEVICE).copy_(
        value
    )


def check_update_status(case: UpdateCase) -> None:
    given = update_inputs(case)
    moved = {name: on_device(value) for name, value in given.items()}
    switches = {"prefill_one_step_stop": case.prefill_stop, "end_when_full": case.end_when_full}
    rollback, running = update_status(**moved, **switches)
    blocked = given.pop("is_block_step")
    want = (torch.empty(case.batch, dtype=torch.int32), torch.empty(1, dtype=torch.bool))
    update_status_reference(*given.values(), *want, is_block_step=blocked, **switches)
    for name, value in given.items():
        same(name, moved[name], value)
    same("mask_rollback", rollback, want[0])
    same("has_running", running, want[1])


test_update_status_matches_reference = property_test(UPDATE_CASES)(check_update_status)


def state(**changes: object) -> dict[str, torch.Tensor]:
    """One request that decodes: prompt [7, 8, 9], generated [1, 2], cache of 4, drafts of 3, room
    for 10."""
    given: dict[str, object] = {
        "accept_tokens": [[3, 4, -1, -1]],
        "accept_num": [2],
        "step_idx": [2],
        "stop_flags": [False],
        "seq_lens_this_time": [4],
        "seq_lens_encoder": [0],
        "seq_lens_decoder": [4],
        "token_ids_all": [[7, 8, 9, 1, 2, 0, 0, 0, 0, 0, 0, 0]],
        "prompt_lens": [3],
        "max_dec_len": [8],
        "end_tokens": [99, 98],
        "step_input_ids": [[2, 3, 5, 6]],
    } | changes
    dtypes = {"stop_flags": torch.bool, "is_block_step": torch.bool}
    int32 = ("accept_num", "seq_lens_this_time", "seq_lens_encoder", "seq_lens_decoder")
    dtypes |= dict.fromkeys(int32, torch.int32)
    return {
        name: torch.tensor(value, dtype=dtypes.get(name, torch.int64), device=DEVICE)
        for name, value in given.items()
    }


def test_a_step_moves_a_request_on() -> None:
    given = state()
    rollback, running = update_status(**given)
    # the count was 2, so the next token (the third) stands at prompt_len + 2
    assert given["token_ids_all"].tolist() == [[7, 8, 9, 1, 2, 3, 4, 0, 0, 0, 0, 0]]
    assert given["step_idx"].tolist() == [4]
    assert given["seq_lens_decoder"].tolist() == [6]
    assert given["step_input_ids"].tolist() == [[4, 3, 5, 6]]
    assert given["seq_lens_this_time"].tolist() == [1]
    assert (rollback.tolist(), running.tolist()) == ([2], [True])


def test_an_end_token_cuts_the_step_and_stops_the_request() -> None:
    given = state(accept_tokens=[[3, 98, 5, 6]], accept_num=[4])
    rollback, running = update_status(**given)
    assert given["accept_tokens"].tolist() == [[3, 98, -1, -1]]
    assert (given["accept_num"].tolist(), given["step_idx"].tolist()) == ([2], [4])
    assert (given["stop_flags"].tolist(), running.tolist(), rollback.tolist()) == (
        [True],
        [False],
        [0],
    )
    assert given["seq_lens_this_time"].tolist() == [0]
    assert given["seq_lens_decoder"].tolist() == [6], "kept for the message of this step"
    update_status(**given)
    assert given["seq_lens_decoder"].tolist() == [0]
    assert (given["accept_num"].tolist(), given["step_idx"].tolist()) == ([0], [4])


@pytest.mark.parametrize("full", [{"max_dec_len": [4]}, {"token_ids_all": [[7, 8, 9, 1, 2, 0, 0]]}])
def test_a_full_request_ends_with_an_end_token(full: dict[str, object]) -> None:
    given = state(accept_tokens=[[3, 4, 5, 6]], accept_num=[4], **full)
    update_status(**given)
    assert given["accept_tokens"].tolist() == [[3, 99, -1, -1]]
    assert given["step_idx"].tolist() == [4]
    assert given["stop_flags"].tolist() == [True]
    assert given["token_ids_all"][0, :7].tolist() == [7, 8, 9, 1, 2, 3, 99]
    kept = state(accept_tokens=[[3, 4, 5, 6]], accept_num=[4], **full)
    update_status(**kept, end_when_full=False)
    assert kept["accept_tokens"].tolist() == [[3, 4, -1, -1]]
    assert kept["stop_flags"].tolist() == [True]


def test_a_prefill_becomes_a_decode() -> None:
    given = state(
        accept_tokens=[[1, -1, -1, -1]], accept_num=[1], step_idx=[0], seq_lens_encoder=[3],
        seq_lens_decoder=[0], seq_lens_this_time=[3],
    )  # fmt: skip
    rollback, _ = update_status(**given)
    assert (given["seq_lens_encoder"].tolist(), given["seq_lens_decoder"].tolist()) == ([0], [3])
    assert (given["step_idx"].tolist(), rollback.tolist()) == ([1], [0])


def test_a_chunk_of_a_prompt_does_not_start_to_decode() -> None:
    given = state(accept_num=[0], step_idx=[0], seq_lens_encoder=[2], seq_lens_decoder=[0])
    _, running = update_status(**given)
    assert given["seq_lens_this_time"].tolist() == [0]
    assert (given["seq_lens_decoder"].tolist(), running.tolist()) == ([2], [True])


def test_a_blocked_request_stays_as_it_is() -> None:
    given = state()
    before = {name: value.clone() for name, value in given.items()}
    _, running = update_status(**given, is_block_step=torch.tensor([True], device=DEVICE))
    for name, value in before.items():
        same(name, given[name], value)
    assert running.tolist() == [True]


def test_gather_next_token_serves_speculative_and_plain_batches() -> None:
    """The rows of a mixed batch: a prefill of 3, an idle slot, a verification of 3, a plain
    decode."""
    hidden = torch.arange(7.0, device=DEVICE)[:, None].expand(7, 2)
    this_time = torch.tensor([3, 0, 3, 1], dtype=torch.int32, device=DEVICE)
    encoder = torch.tensor([3, 0, 0, 0], dtype=torch.int32, device=DEVICE)
    schedule = output_schedule(this_time, encoder, capacity=7)
    assert schedule.cu_seqlens_q_output.tolist() == [0, 1, 1, 4, 5]
    assert schedule.batch_id_per_token_output.tolist() == [0, 2, 2, 2, 3, -1, -1]
    assert gather_next_token(hidden, schedule)[:, 0].tolist() == [2, 3, 4, 5, 6, 0, 0]
    plain = output_schedule(this_time.clamp(max=1), encoder * 0, capacity=4)
    assert gather_next_token(hidden, plain)[:, 1].tolist() == [0, 1, 2, 0]


def test_a_large_batch() -> None:
    """The default blocks, one slot more than one of them holds."""
    from kernels.schedule import triton as module

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SCAN_BLOCK", 256)
        patch.setattr(module, "UPDATE_ROWS", 256)
        check_output_schedule(ScheduleCase(257, 4, 300, 1))
        check_update_status(UpdateCase(512, 4, 33, 2, True, False, True, True, False, False, 2))


def test_the_next_launch() -> None:
    exact = next_launch([4, 0, 2, 1], num_speculative_tokens=3, overlap=False)
    assert (exact.token_num, exact.real_bsz, exact.exact, exact.empty_run) == (7, 3, True, False)
    # under overlap 4, 2 and 1 are lengths of the step before: each of the three may come back with
    # K + 1
    bound = next_launch([4, 0, 2, 1], num_speculative_tokens=3, overlap=True, prefill_tokens=5)
    assert (bound.token_num, bound.exact) == (17, False)
    for accepted in ([1, 1, 1], [4, 4, 4], [2, 4, 1]):
        assert sum(accepted) + 5 <= bound.token_num
    idle = next_launch([0, 0], num_speculative_tokens=3, overlap=True, ep_token_nums=[0, 12])
    assert (idle.token_num, idle.real_bsz, idle.empty_run) == (12, 0, True)
    nobody = next_launch([0, 0], num_speculative_tokens=3, overlap=True, ep_token_nums=[0, 0])
    assert (nobody.token_num, nobody.empty_run) == (0, False)
    split = next_launch(
        [4, 3], num_speculative_tokens=3, overlap=False, tp_size=4, sequence_parallel=True
    )
    assert (split.token_num, split.exact) == (8, False)
    with pytest.raises(ValueError, match="must not be negative"):
        next_launch([1], num_speculative_tokens=-1, overlap=True)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"accept_num": torch.zeros(1)}, TypeError, "accept_num must be int32, got float32"),
        ({"step_idx": torch.zeros(2, dtype=torch.int64)}, ValueError, r"step_idx must have shape \[B\]"),
        ({"stop_flags": torch.zeros(1, dtype=torch.int32)}, TypeError, "stop_flags must be bool"),
        ({"token_ids_all": torch.zeros(1, 4, dtype=torch.int64, device="meta")}, ValueError, "on meta"),
        ({"accept_tokens": torch.zeros(1, 0, dtype=torch.int64)}, ValueError, "at least one column"),
        ({"end_tokens": None}, TypeError, "end_tokens must be a tensor"),
    ],
)  # fmt: skip
def test_update_arguments_that_do_not_fit_are_refused(change: dict, error: type, text: str) -> None:
    given = {name: value.cpu() for name, value in state().items()}
    with pytest.raises(error, match=text):
        update_status(**given | change)


def test_memory_that_cannot_be_written_is_refused() -> None:
    given = state()
    pair = {
        name: value.repeat(2, *[1] * (value.dim() - 1))
        for name, value in given.items()
        if name != "end_tokens"
    }
    pair["end_tokens"] = given["end_tokens"]
    shared = pair["token_ids_all"][:1].expand(2, -1)
    with pytest.raises(ValueError, match="token_ids_all is written, and its rows share memory"):
        update_status(**pair | {"token_ids_all": shared})
    every_other = torch.zeros(4, dtype=torch.int32, device=DEVICE)[::2]
    with pytest.raises(ValueError, match="accept_num must be contiguous"):
        update_status(**pair | {"accept_num": every_other})


def test_empty_batches() -> None:
    none = torch.zeros(0, dtype=torch.int32, device=DEVICE)
    schedule = output_schedule(none, none, capacity=2)
    assert schedule.cu_seqlens_q_output.tolist() == [0]
    assert schedule.output_rows.tolist() == [-1, -1]
    given = {name: value if name == "end_tokens" else value[:0] for name, value in state().items()}
    assert update_status(**given)[1].tolist() == [False]


@gpu_only
def test_on_a_gpu_no_sync_graph_and_one_compilation() -> None:
    from kernels.schedule import triton as module

    this_time, encoder = (value.to(DEVICE) for value in schedule_inputs(ScheduleCase(200, 4, 0, 5)))
    assert_no_sync(lambda: output_schedule(this_time, encoder, capacity=800))
    assert_graph_replays(lambda: output_schedule(this_time, encoder, capacity=800).output_rows)
    given = update_inputs(UpdateCase(200, 4, 33, 2, False, False, True, True, False, False, 3))
    moved = {name: on_device(value) for name, value in given.items()}
    assert_no_sync(lambda: update_status(**moved))
    hidden = torch.randn(9000, 512, device=DEVICE)
    schedule = output_schedule(this_time, encoder, capacity=800)
    assert_no_sync(lambda: gather_next_token(hidden, schedule))
    assert_graph_replays(lambda: gather_next_token(hidden, schedule))
    batches = [1, 2, 16, 17, 64, 256, 300]
    assert_no_recompilation(
        module._output_schedule_kernel,
        lambda n: check_output_schedule(ScheduleCase(n, 4, n, n)),
        batches,
    )
    assert_no_recompilation(
        module._update_status_kernel,
        lambda n: check_update_status(
            UpdateCase(n, 4, 8, 2, False, False, True, True, False, False, n)
        ),
        batches,
    )
