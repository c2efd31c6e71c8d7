"""``ngram`` against its reference, and the off-by-one family that its relatives went through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

import pytest
import torch

from kernels.ngram import NO_DRAFT, ngram_append, ngram_propose
from kernels.ngram.inputs import NgramOptions, NgramTensors
from kernels.ngram.reference import propose_reference
from tests.kernels.conftest import gpu_only
from tests.kernels.gpu_checks import assert_no_recompilation, assert_no_sync
from tests.kernels.properties import DEVICE, property_test, same
from tests.kernels.strategies import coin, independent, integers, mostly

IO = ("draft_tokens", "seq_lens_this_time")


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Blocks and splits so small that the interpreter's short histories need several of them."""
    patch = pytest.MonkeyPatch()
    if DEVICE == "cpu":
        from kernels.ngram import triton as module

        patch.setattr(module, "BLOCK", 16)
        patch.setattr(module, "FEW_ROWS", (4, 2))
        patch.setattr(module, "MANY_ROWS", (8, 2))
    yield
    patch.undo()


@dataclass(frozen=True)
class Case:
    batch: int
    length: int
    width: int
    vocab: int  # few ids make matches, and matches of several lengths
    pads: bool
    wide: bool  # int64 ids and counts, or int32
    strided: bool
    wild: bool  # lengths that do not fit the history
    append: bool
    max_ngram: int
    min_ngram: int
    rightmost: bool
    one_history: bool
    budget: int | None
    pad_to_max: bool
    seed: int


def draw(rng: Random) -> Case:
    gpu = DEVICE == "cuda"
    batch = mostly(rng, range(1, 7), [31, 32, 33, 256, 257, 512] if gpu else [9])
    length = mostly(rng, [1, 5, 33, 60], [1023, 1025, 5000] if gpu else [61])
    return Case(
        batch=batch,
        length=min(length, 61) if batch > 9 else length,  # the reference is slow
        width=rng.randint(1, 7),
        vocab=rng.choice([1, 2, 3, 8]),
        pads=coin(rng),
        wide=coin(rng),
        strided=coin(rng),
        wild=coin(rng),
        append=coin(rng),
        max_ngram=rng.randint(1, 7),
        min_ngram=rng.randint(1, 4),
        rightmost=coin(rng),
        one_history=coin(rng),
        budget=rng.choice([None, rng.randint(0, 40)]),
        pad_to_max=coin(rng),
        seed=rng.getrandbits(31),
    )


CASES = independent(draw)


def inputs(case: Case) -> dict[str, torch.Tensor]:
    gen = torch.Generator().manual_seed(case.seed)
    ids = torch.int64 if case.wide else torch.int32
    ints = integers(gen, ids)

    def rows(low: int, high: int, width: int) -> torch.Tensor:
        if not case.strided:
            return ints(low, high, case.batch, width)
        return ints(low, high, width + 1, case.batch).T[:, :width]

    prompt = ints(0, case.length + 1, case.batch)
    step = (torch.rand(case.batch, generator=gen) * (case.length - prompt + 1)).to(ids)
    if case.wild:
        prompt, step = prompt + ints(-3, 4, case.batch), step + ints(-3, 4, case.batch)
    prefill = torch.rand(case.batch, generator=gen) < 0.15
    decoding = torch.rand(case.batch, generator=gen) < 0.85
    return {
        "token_ids_all": rows(-1 if case.pads else 0, case.vocab, case.length),
        "prompt_lens": prompt,
        "step_idx": step,
        "draft_token_num": ints(case.width // 2, case.width + 2, case.batch),
        "max_dec_len": step + ints(0, case.width + 9, case.batch),
        "draft_tokens": rows(50, 99, case.width),
        "seq_lens_this_time": ints(0, case.width + 1, case.batch, dtype=torch.int32),
        "seq_lens_encoder": torch.where(prefill, 4, 0).int(),
        "seq_lens_decoder": torch.where(decoding, 5, 0).int(),
    }


def options(case: Case) -> dict[str, object]:
    return {
        "max_ngram": max(case.max_ngram, case.min_ngram),
        "min_ngram": case.min_ngram,
        "budget": case.budget,
        "pad_to_max": case.pad_to_max,
    }


def on_device(value: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides: `.to` and `.clone` may make them dense."""
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=DEVICE).copy_(
        value
    )


def read_law(case: Case, given: dict[str, torch.Tensor], one_history: bool) -> None:
    """What the reference makes of `given`, in place."""
    chosen = NgramOptions(
        rightmost=case.rightmost, one_history=one_history, append=case.append, **options(case)
    )
    propose_reference(NgramTensors(**given), chosen)


def check(case: Case) -> None:
    given = inputs(case)
    moved = {name: on_device(value) for name, value in given.items()}
    match = "rightmost" if case.rightmost else "leftmost"
    one_history = case.one_history and not case.append
    if case.append:
        ngram_append(**moved, match=match, **options(case))
    else:
        haystack = "one_history" if one_history else "prompt_first"
        ngram_propose(**moved, match=match, haystack=haystack, **options(case))
    read_law(case, given, one_history)
    for name, value in given.items():
        same(name, moved[name], value)


test_matches_reference = property_test(CASES)(check)


def test_the_drawn_cases_have_something_to_find() -> None:
    """An equality of proposals says little where nothing is proposed."""
    drafts = rows = 0
    for seed in range(200):
        case = Case(
            6,
            33,
            5,
            3,
            False,
            True,
            False,
            False,
            seed % 2 == 1,
            3,
            1,
            seed % 3 == 0,
            seed % 5 == 0,
            None,
            False,
            seed,
        )
        given = inputs(case)
        one_history = case.one_history and not case.append
        before = given["seq_lens_this_time"].clone()
        read_law(case, given, one_history)
        base = before if case.append else torch.ones(6, dtype=torch.int32)
        rows += 6
        drafts += int((given["seq_lens_this_time"] > base).sum())
    assert drafts > rows // 3


def example(
    prompt: list[int],
    generated: list[int],
    *,
    append: bool = False,
    drafts: int = 5,
    room: int = 99,
    length: int = 64,
) -> dict[str, torch.Tensor]:
    """One decoding request of which everything fits; `append` leaves slot 0 of the generated tokens
    unused."""
    row = prompt + ([77] if append else []) + generated
    last = generated[-1] if generated else prompt[-1]
    given = {
        "token_ids_all": [row + [0] * (length - len(row))],
        "prompt_lens": [len(prompt)],
        "step_idx": [len(generated)],
        "draft_token_num": [drafts],
        "max_dec_len": [room],
        "draft_tokens": [[last, 91, 92, 93, 94, 95]],
    }
    made = {name: torch.tensor(value, device=DEVICE) for name, value in given.items()}
    for name, value in (
        ("seq_lens_this_time", 1),
        ("seq_lens_encoder", 0),
        ("seq_lens_decoder", 9),
    ):
        made[name] = torch.tensor([value], dtype=torch.int32, device=DEVICE)
    return made


def proposed(
    given: dict[str, torch.Tensor], call: Callable[..., None] = ngram_propose, **kwargs: object
) -> list[int]:
    """The drafts of a one-request batch."""
    call(**given, **({"max_ngram": 3} | kwargs))
    row = given["draft_tokens"][0].tolist()
    end = int(given["seq_lens_this_time"][0])
    assert row[max(end, 1) :] == [NO_DRAFT] * (len(row) - max(end, 1)), (
        "an old proposal was left behind"
    )
    return row[1:end]


def test_step_idx_is_a_count() -> None:
    """The fixture of an engine's proposer test: prompt 10 20 30 40 50 10 20 30, generated 40 50 10,
    count 3."""
    given = example([10, 20, 30, 40, 50, 10, 20, 30], [40, 50, 10])
    assert proposed(given) == [20, 30]


def test_the_same_fixture_read_with_the_last_token_at_step_idx() -> None:
    """The hybrid's buffer starts one later; either op on the other's buffer answers something
    else."""
    prompt, generated = [10, 20, 30, 40, 50, 10, 20, 30], [40, 50, 10]
    assert proposed(example(prompt, generated, append=True), ngram_append) == [20, 30]
    assert proposed(example(prompt, generated), ngram_append) == []
    # it takes 40 50 for the end, and proposes the 10 that was said last
    assert proposed(example(prompt, generated, append=True), ngram_propose) == [10, 20, 30]


def test_the_hybrid_continues_after_the_drafts_it_is_given() -> None:
    """Two drafts (5, 6) are in the row and at the end of the draft model's history."""
    given = example([4, 5, 6, 7, 8, 9], [3, 4, 5, 6], append=True)
    given["draft_tokens"] = torch.tensor([[4, 5, 6, 93, 94, 95]], device=DEVICE)
    given["seq_lens_this_time"].fill_(3)
    assert proposed(given, ngram_append) == [5, 6, 7, 8, 9]
    given["seq_lens_this_time"].fill_(3)
    given["draft_token_num"].fill_(3)
    assert proposed(given, ngram_append) == [5, 6, 7]


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({}, [5, 1, 2, 6]),  # n=2 in the prompt, leftmost, and no further than the prompt's end
        (
            {"match": "rightmost"},
            [6],
        ),  # the last place in the prompt, though the generated text has a later one
        ({"haystack": "one_history"}, [5, 1, 2, 6, 9]),
        ({"haystack": "one_history", "match": "rightmost"}, [8, 1, 2]),
        ({"max_ngram": 1}, [5, 1, 2, 6]),
        ({"min_ngram": 3}, []),
    ],
)
def test_policies(kwargs: dict[str, object], expected: list[int]) -> None:
    prompt, generated = [1, 2, 5, 1, 2, 6], [9, 1, 2, 8, 1, 2]
    assert proposed(example(prompt, generated), **kwargs) == expected


def test_a_longer_match_in_the_generated_text_wins_over_a_shorter_in_the_prompt() -> None:
    assert proposed(example([2, 5, 5], [1, 2, 8, 1, 2])) == [8, 1, 2]


def test_a_match_does_not_reach_across_the_prompt_s_end() -> None:
    given = example([7, 1], [2, 8, 1, 2])
    assert proposed(given, min_ngram=2) == []
    given = example([7, 1], [2, 8, 1, 2])
    assert proposed(given, min_ngram=2, haystack="one_history") == [8, 1, 2]


def test_a_pad_matches_nothing_and_ends_a_continuation() -> None:
    assert proposed(example([-1, 5, -1], [3, -1])) == []
    assert proposed(example([1, 2, 6, -1, 7], [1, 2])) == [6]


def test_room_is_left_for_the_bonus_token() -> None:
    prompt, generated = [1, 2, 3, 4, 5, 6, 7], [1, 2]
    for room, expected in ((99, [3, 4, 5, 6, 7]), (5, [3, 4]), (3, []), (2, []), (0, [])):
        assert proposed(example(prompt, generated, room=room)) == expected
    for length, expected in ((64, [3, 4, 5, 6, 7]), (12, [3, 4]), (10, []), (9, [])):
        assert proposed(example(prompt, generated, length=length)) == expected
    assert proposed(example(prompt, generated, drafts=2)) == [3, 4]


def test_the_budget_goes_to_rows_in_order_after_every_base() -> None:
    one = example([1, 2, 3, 4, 5], [1, 2])
    given = {name: value.repeat(5, *[1] * (value.dim() - 1)) for name, value in one.items()}
    given["seq_lens_encoder"][3] = 6  # a prefill of 6 that comes later still takes its share first
    given["seq_lens_this_time"][3] = 6
    given["seq_lens_decoder"][1] = 0  # idle
    ngram_propose(**given, max_ngram=3, budget=13)
    assert given["seq_lens_this_time"].tolist() == [4, 0, 2, 6, 1]
    assert given["draft_tokens"][0].tolist() == [2, 3, 4, 5, -1, -1]
    assert given["draft_tokens"][2].tolist() == [2, 3, -1, -1, -1, -1]
    assert given["draft_tokens"][3].tolist() == one["draft_tokens"][0].tolist()
    assert given["draft_tokens"][4].tolist() == [2, -1, -1, -1, -1, -1]


def test_pad_to_max_repeats_the_last_token() -> None:
    given = example([1, 2, 3], [1, 2])
    ngram_propose(**given, max_ngram=3, pad_to_max=True)
    assert given["draft_tokens"].tolist() == [[2, 3, 3, 3, 3, 3]]
    given = example([1, 2, 3], [9])
    ngram_propose(**given, max_ngram=3, pad_to_max=True)
    assert given["draft_tokens"].tolist() == [[9, 9, 9, 9, 9, 9]]
    assert given["seq_lens_this_time"].tolist() == [6]


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"token_ids_all": torch.zeros(1, 4)}, TypeError, "token_ids_all must be int32 or int64, got float32"),
        ({"step_idx": torch.zeros(2, dtype=torch.int64)}, ValueError, r"step_idx must have shape \[B\]"),
        ({"seq_lens_decoder": torch.zeros(1, dtype=torch.int64)}, TypeError, "seq_lens_decoder must be int32"),
        ({"draft_tokens": torch.zeros(1, 0, dtype=torch.int64)}, ValueError, "S at least 1"),
        ({"prompt_lens": torch.zeros(1, dtype=torch.int64, device="meta")}, ValueError, "on meta"),
        ({"max_ngram": 0}, ValueError, "max_ngram must be in 1..64"),
        ({"min_ngram": 4}, ValueError, "min_ngram must be in 1..3"),
        ({"match": "first"}, ValueError, "match must be one of leftmost, rightmost"),
        ({"haystack": "all"}, ValueError, "haystack must be one of"),
        ({"budget": -1}, ValueError, "budget must be in 0"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(change: dict, error: type, text: str) -> None:
    given = {name: value.cpu() for name, value in example([1, 2, 3], [1, 2]).items()}
    with pytest.raises(error, match=text):
        ngram_propose(**{**given, "max_ngram": 3, **change})


def test_memory_that_cannot_be_written_is_refused() -> None:
    given = {
        name: value.repeat(2, *[1] * (value.dim() - 1))
        for name, value in example([1, 2], [1]).items()
    }
    with pytest.raises(ValueError, match="its rows share memory"):
        ngram_propose(
            **given | {"draft_tokens": given["draft_tokens"][:1].expand(2, -1)}, max_ngram=3
        )
    with pytest.raises(ValueError, match="step_idx must be contiguous"):
        ngram_propose(
            **given | {"step_idx": torch.zeros(4, dtype=torch.int64, device=DEVICE)[::2]},
            max_ngram=3,
        )


def test_columns_of_counts_and_an_empty_batch() -> None:
    given = example([10, 20, 30, 40, 50, 10, 20, 30], [40, 50, 10])
    for name in ("prompt_lens", "step_idx", "draft_token_num", "max_dec_len"):
        given[name] = given[name].unsqueeze(1)
    assert proposed(given) == [20, 30]
    none = {name: value[:0] for name, value in given.items()}
    ngram_propose(**none, max_ngram=3)
    assert none["draft_tokens"].shape == (0, 6)


@gpu_only
def test_on_a_gpu_no_sync_graph_and_one_compilation() -> None:
    from kernels.ngram import triton as module

    case = Case(
        200, 1025, 6, 3, True, True, False, False, False, 3, 1, False, False, None, False, 3
    )
    given = {name: on_device(value) for name, value in inputs(case).items()}
    fresh = {name: given[name].clone() for name in IO}
    assert_no_sync(lambda: ngram_propose(**given, max_ngram=3))
    eager = {name: given[name].clone() for name in IO}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ngram_propose(**given, max_ngram=3)
    for name in IO:
        given[name].copy_(fresh[name])
    graph.replay()
    torch.cuda.synchronize()
    for name in IO:
        same(name, given[name], eager[name])
    for kernel in (module._ngram_match_kernel, module._ngram_propose_kernel):
        assert_no_recompilation(
            kernel,
            lambda n: check(replace(case, batch=n, max_ngram=1 + n % 5)),
            [33, 34, 64, 256, 300],
        )
        # rows that start on 16 bytes are read in another way than those that do not
        for lengths in ([64, 1024, 4096, 8000], [33, 1025, 4097]):
            assert_no_recompilation(kernel, lambda n: check(replace(case, length=n)), lengths)
        assert_no_recompilation(kernel, lambda n: check(replace(case, batch=n)), [1, 2, 16, 17, 32])


@gpu_only
def test_more_than_two_to_the_31_elements() -> None:
    rows, length = 66_000, 33_000
    one = example([1, 2, 3, 4], [1, 2], length=64)
    given = {name: value.repeat(rows, *[1] * (value.dim() - 1)) for name, value in one.items()}
    tokens = torch.zeros((rows, length), dtype=torch.int32, device="cuda")
    tokens[:, :64] = one["token_ids_all"].int()
    ngram_propose(**given | {"token_ids_all": tokens}, max_ngram=3)
    assert given["draft_tokens"][-1].tolist() == [2, 3, 4, -1, -1, -1]
    assert bool((given["seq_lens_this_time"] == 3).all())
