"""``verify`` against its law: every strategy, every flag, and the bugs of its relatives."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernels.verify import CHUNK, Strategy, verify
from kernels.verify.inputs import VerifyInputs
from kernels.verify.reference import verify_reference
from tests.kernels.conftest import gpu_only
from tests.kernels.gpu_checks import assert_graph_replays, assert_no_recompilation, assert_no_sync
from tests.kernels.logits import PLACES, far_rows, make_logits, rows_from
from tests.kernels.properties import DEVICE, property_test, same
from tests.kernels.verify_cases import Case, cases, check, compare, make_inputs

RATIO_CASES = cases(strategies=(Strategy.REJECTION, Strategy.BLOCK))
EQUALITY_CASES = cases(strategies=(Strategy.GREEDY, Strategy.TARGET_MATCH, Strategy.TOPP))

test_rejection_and_block_match_the_reference = property_test(RATIO_CASES)(check)
test_greedy_target_match_and_topp_match_the_reference = property_test(EQUALITY_CASES)(check)


def small(
    strategy: Strategy, drafts: list[int], best: list[int], **change: object
) -> dict[str, object]:
    """One request whose target's best tokens are ``best``; drafts as given, 12 tokens, greedy."""
    logits = torch.zeros(len(best), 12, device=DEVICE)
    logits[torch.arange(len(best)), torch.tensor(best, dtype=torch.long)] = 5.0
    given = {
        "step_input_ids": torch.tensor([[0, *drafts]], device=DEVICE),
        "seq_lens_this_time": torch.tensor([len(drafts) + 1], dtype=torch.int32, device=DEVICE),
        "cu_seqlens_q_output": torch.tensor([0, len(best)], dtype=torch.int32, device=DEVICE),
        "step_idx": torch.tensor([3], device=DEVICE),
        "max_dec_len": torch.tensor([100], device=DEVICE),
        "end_tokens": torch.tensor([11], device=DEVICE),
        "strategy": strategy,
        "target_logits": logits,
    }
    return given | change


def accepted(given: dict[str, object]) -> list[int]:
    got = verify(VerifyInputs(**given))
    return got.accept_tokens[0, : int(got.accept_num[0])].tolist()


def test_greedy_emits_the_targets_own_tokens() -> None:
    assert accepted(small(Strategy.GREEDY, [4, 5, 6], [4, 5, 6, 7])) == [4, 5, 6, 7]
    assert accepted(small(Strategy.GREEDY, [4, 9, 6], [4, 5, 6, 7])) == [4, 5]
    assert accepted(small(Strategy.GREEDY, [4, -1, 6], [4, 5, 6, 7])) == [4, 5]


def test_the_step_stops_at_the_end_token_and_at_the_limit() -> None:
    assert accepted(small(Strategy.GREEDY, [4, 11, 6], [4, 11, 6, 7])) == [4, 11]
    limit = {"max_dec_len": torch.tensor([5], device=DEVICE)}
    assert accepted(small(Strategy.GREEDY, [4, 5, 6], [4, 5, 6, 7], **limit)) == [4, 5]


def test_prefill_reasoning_and_reject_all_take_no_drafts() -> None:
    one = torch.ones(1, dtype=torch.int32, device=DEVICE)
    for change in ({"seq_lens_encoder": one}, {"reasoning_status": one}, {"reject_all": True}):
        assert accepted(small(Strategy.GREEDY, [4, 5], [4, 5, 6], **change)) == [4]
    assert accepted(small(Strategy.GREEDY, [8, 9], [4, 5, 6], accept_all=True)) == [8, 9, 6]
    assert accepted(small(Strategy.GREEDY, [4], [4, 5], stop_flags=one.bool())) == []


@pytest.mark.parametrize("strategy", [Strategy.REJECTION, Strategy.BLOCK])
def test_a_nan_draft_row_is_refused_and_not_emitted_again(strategy: Strategy) -> None:
    """vLLM #41834: max(target - nan, 0) = 0 everywhere re-emitted token 0."""
    options = {
        "temperature": torch.ones(1, device=DEVICE),
        "seeds": torch.tensor([7], device=DEVICE),
        "draft_logits": torch.full((1, 1, 12), float("nan"), device=DEVICE),
    }
    given = small(strategy, [0], [4, 5], **options)
    given["target_logits"] = torch.full((2, 12), float("-inf"), device=DEVICE)
    given["target_logits"][:, 4] = 1.0
    assert accepted(given) == [4]


def test_a_target_row_of_nan_emits_a_token_of_the_vocabulary() -> None:
    """vLLM #21876: an all-NaN row gave the id one past the vocabulary."""
    nan = torch.full((1, 12), float("nan"), device=DEVICE)
    assert accepted(small(Strategy.GREEDY, [], [4], target_logits=nan)) == [0]


@pytest.mark.parametrize("strategy", [Strategy.REJECTION, Strategy.BLOCK])
@pytest.mark.parametrize("vocab", [4104, 4099])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_rows_may_begin_anywhere(strategy: Strategy, vocab: int, dtype: torch.dtype) -> None:
    gen = torch.Generator().manual_seed(vocab)
    target = make_logits("normal", (6, vocab), gen)
    near = target[[0, 1, 3, 4]] + torch.randn(4, vocab, generator=gen)
    draft = near.to(dtype).to(DEVICE)
    given = VerifyInputs(
        strategy=strategy,
        step_input_ids=torch.cat([torch.zeros(2, 1), near.argmax(1).view(2, 2)], 1)
        .long()
        .to(DEVICE),
        seq_lens_this_time=torch.full((2,), 3, dtype=torch.int32, device=DEVICE),
        cu_seqlens_q_output=torch.tensor([0, 3, 6], dtype=torch.int32, device=DEVICE),
        step_idx=torch.tensor([3, 4], device=DEVICE),
        max_dec_len=torch.tensor([99, 99], device=DEVICE),
        end_tokens=torch.tensor([], dtype=torch.int64, device=DEVICE),
        seeds=torch.tensor([5, 6], device=DEVICE),
        temperature=torch.tensor([0.7, 1.0], device=DEVICE),
        target_logits=target.to(dtype).to(DEVICE),
        draft_logits=draft.view(2, 2, vocab),
    )
    want = verify_reference(given, chunk=CHUNK)
    for before in PLACES:
        moved = rows_from(draft, before)
        got = verify(
            replace(
                given,
                target_logits=rows_from(given.target_logits, 7 - before),
                draft_logits=moved.as_strided(
                    (2, 2, vocab), (2 * moved.stride(0), moved.stride(0), 1)
                ),
            )
        )
        same(f"tokens, {before} before", got.accept_tokens, want[0])
        same(f"count, {before} before", got.accept_num, want[1])


@pytest.mark.parametrize("strategy", [Strategy.GREEDY, Strategy.REJECTION, Strategy.BLOCK])
def test_a_given_token_follows_where_all_drafts_stand(strategy: Strategy) -> None:
    options = {
        "temperature": torch.ones(1, device=DEVICE),
        "seeds": torch.tensor([7], device=DEVICE),
        "bonus_token_ids": torch.tensor([9], device=DEVICE),
    }
    for drafts, tokens in (([4, 5], [4, 5, 9]), ([4, 6], [4, 5]), ([6, 5], [4]), ([4, -1], [4, 5])):
        given = small(strategy, drafts, [4, 5], **options)
        given["target_logits"] = 20 * given["target_logits"]
        assert accepted(given) == tokens, drafts
    given = small(strategy, [], [], **options)
    assert given["target_logits"].shape[0] == 0
    assert accepted(given) == [9]
    given["max_dec_len"] = given["step_idx"]
    assert accepted(given) == []


@pytest.mark.parametrize("strategy", [Strategy.REJECTION, Strategy.BLOCK])
def test_a_buffer_of_all_requests_gives_the_same_tokens_as_its_rows_alone(
    strategy: Strategy,
) -> None:
    gen = torch.Generator().manual_seed(8)
    case = Case(
        strategy, 24, 4, 100, 100, torch.bfloat16, "normal", 0.7, False, False, False, 64, 3
    )
    rows_alone = make_inputs(case)
    slots = torch.randperm(40, generator=gen)[:24].to(DEVICE)
    buffer = rows_alone.draft_logits.new_full((40, 3, 100), float("nan"))
    buffer[slots] = rows_alone.draft_logits
    expected = verify(rows_alone)
    got = verify(replace(rows_alone, draft_logits=buffer, draft_slots=slots.int()))
    same("tokens", got.accept_tokens, expected.accept_tokens)
    same("count", got.accept_num, expected.accept_num)


def check_slots_beyond() -> None:
    """A request whose slot is beyond the buffer takes no drafts; what lies there would let them
    stand."""
    options = {
        "temperature": torch.ones(1, device=DEVICE),
        "seeds": torch.tensor([7], device=DEVICE),
    }
    given = small(Strategy.REJECTION, [4], [4, 5], **options)
    given["target_logits"] = 20 * given["target_logits"]
    around = torch.zeros(4, 1, 12, device=DEVICE)
    given["draft_logits"] = around[1:3]
    for slot, tokens in ((0, [4, 5]), (1, [4, 5]), (-1, [4]), (2, [4]), (2**31 - 1, [4])):
        given["draft_slots"] = torch.tensor([slot], dtype=torch.int32, device=DEVICE)
        assert accepted(given) == tokens, slot


test_slots_beyond = check_slots_beyond


def check_far_rows() -> None:
    """Rows more than 2**31 elements into the logits are judged and drawn from like any other (vLLM
    #48055)."""
    warm = {"temperature": torch.ones(1, device=DEVICE), "seeds": torch.tensor([7], device=DEVICE)}
    for strategy, options in ((Strategy.GREEDY, {}), (Strategy.REJECTION, warm)):
        given = small(strategy, [4, 5], [4, 5, 6], **options)
        given["target_logits"] = far_rows(20 * given["target_logits"].cpu())
        assert accepted(given) == [4, 5, 6]


test_far_rows = check_far_rows


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"strategy": 9}, ValueError, "9 is not a valid Strategy"),
        ({"strategy": Strategy.REJECTION}, ValueError, "REJECTION needs temperature and seeds"),
        ({"strategy": Strategy.TOPP}, ValueError, "TOPP needs candidates"),
        ({"draft_logits": torch.zeros(1, 1, 12)}, ValueError, "GREEDY has no use for draft_logits"),
        ({"draft_slots": torch.zeros(1, dtype=torch.int32)}, ValueError, "draft_slots needs draft_logits"),
        (
            {"strategy": Strategy.REJECTION, "temperature": torch.ones(1), "seeds": torch.zeros(1, dtype=torch.int64), "draft_logits": torch.zeros(2, 1, 12)},
            ValueError, r"draft_logits must have shape \[B, S-1, W\] with B=1",
        ),
        ({"reject_all": True, "accept_all": True}, ValueError, "exclude each other"),
        ({"step_idx": torch.zeros(2, dtype=torch.int64)}, ValueError, r"step_idx must have shape \[B\] with B=1"),
        ({"end_tokens": torch.zeros(1)}, TypeError, r"end_tokens must be int64, got float32\[1\] on cpu"),
        ({"target_logits": None}, ValueError, "GREEDY needs target_logits"),
        ({"verify_window": -1}, ValueError, "verify_window must be in"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(change: dict, error: type, text: str) -> None:
    given = small(Strategy.GREEDY, [4], [4, 5])
    given = {name: v.cpu() if isinstance(v, torch.Tensor) else v for name, v in given.items()}
    with pytest.raises(error, match=text):
        verify(VerifyInputs(**given | change))


@gpu_only
def test_on_a_gpu_no_sync_graph_and_one_compilation() -> None:
    from kernels.verify import finish, residual, stats
    from kernels.verify.triton import verify_triton

    def inputs(batch: int) -> VerifyInputs:
        case = Case(
            Strategy.REJECTION,
            batch,
            4,
            100,
            100,
            torch.bfloat16,
            "normal",
            0.7,
            False,
            False,
            False,
            64,
            2,
        )
        return make_inputs(case)

    given = inputs(64)
    assert_no_sync(lambda: verify_triton(given, chunk=64))
    assert_graph_replays(lambda: verify_triton(given, chunk=64)[0])
    sizes = {batch: inputs(batch) for batch in (3, 1, 2, 16, 17, 64)}
    kernels = (stats._stats_kernel, residual._residual_kernel, finish._finish_kernel)
    for kernel in kernels:
        assert_no_recompilation(kernel, lambda n: verify_triton(sizes[n], chunk=64), sizes)


@gpu_only
@pytest.mark.parametrize("strategy", [Strategy.REJECTION, Strategy.BLOCK])
def test_a_real_vocabulary(strategy: Strategy) -> None:
    case = Case(
        strategy,
        24,
        4,
        151_936,
        151_936,
        torch.bfloat16,
        "normal",
        0.7,
        False,
        False,
        False,
        CHUNK,
        11,
    )
    compare(make_inputs(case), CHUNK)
