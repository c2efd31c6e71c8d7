"""Broken ngram, schedule, message and decode: bugs that engines shipped, or nearly did, put into
our code.

Each is one edit of one file. `caught_by` is an ordinary test; it must fail on the edited file.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

import kernels
from tests.kernels import test_decode, test_message, test_ngram, test_schedule
from tests.kernels.mutations.drawn import over
from tests.kernels.properties import DEVICE

SMALL = {
    "kernels.ngram.triton": {"BLOCK": 16, "FEW_ROWS": (4, 2), "MANY_ROWS": (8, 2)},
    "kernels.schedule.triton": {"SCAN_BLOCK": 4, "GATHER_BLOCK": 32, "UPDATE_ROWS": 4},
    "kernels.message.triton": {"BLOCK": 8},
}
Test = Callable[[], None]


@dataclass(frozen=True)
class Mutation:
    """`old` stands once in `module`; with `new` in its place, `caught_by` must fail."""

    name: str
    module: str
    old: str
    new: str
    caught_by: Test
    noticed: type[BaseException] = (
        AssertionError  # only a wrong answer counts: an edit that does not run proves nothing
    )

    def mutant(self, folder: Path) -> ModuleType:
        """The module with the edit made, from a file of its own: triton reads a kernel's source
        from disk."""
        original = (
            Path(*kernels.__path__).parent.joinpath(*self.module.split(".")).with_suffix(".py")
        )
        source = original.read_text()
        if source.count(self.old) != 1:
            raise ValueError(
                f"{self.name}: {self.old!r} stands {source.count(self.old)} times in {self.module}"
            )
        path = folder / f"{self.name}.py"
        path.write_text(source.replace(self.old, self.new))
        spec = importlib.util.spec_from_file_location(f"mutant_{self.name}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    def install(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        """Put the mutant's functions and classes wherever the original's are in use."""
        original = importlib.import_module(self.module)
        mutant = self.mutant(folder)
        patch.setitem(sys.modules, self.module, mutant)  # for the imports inside an op's function
        if DEVICE == "cpu":
            for name, value in SMALL.get(self.module, {}).items():
                patch.setattr(mutant, name, value)
        users = [m for n, m in sys.modules.items() if n.startswith(("kernels.", "tests.kernels."))]
        for name, value in vars(mutant).items():
            if getattr(value, "__module__", None) != mutant.__name__ or not isinstance(
                value, FunctionType | type
            ):
                continue
            for user in users:
                if user is not mutant and vars(user).get(name) is getattr(original, name):
                    patch.setattr(user, name, value)


def _law(test: Callable[..., None], **arguments: object) -> Test:
    """A test of the loop, with the references to answer for the ops that are not the point."""

    def run() -> None:
        with pytest.MonkeyPatch.context() as patch:
            if DEVICE == "cpu":
                patch.setattr("kernels._dispatch.interpreting", lambda: False)
            test(**arguments)

    return run


NGRAM_TEST = over(test_ngram.CASES, test_ngram.check)
MESSAGE_TEST = over(test_message.CASES, test_message.check)
SCHEDULE_TEST = over(test_schedule.SCHEDULE_CASES, test_schedule.check_output_schedule)
UPDATE_TEST = over(test_schedule.UPDATE_CASES, test_schedule.check_update_status)
GATHER_TEST = over(test_schedule.GATHER_CASES, test_schedule.check_gather_next_token)
NGRAM, SCHEDULE, MESSAGE = (f"kernels.{op}.triton" for op in ("ngram", "schedule", "message"))
WORKER, PROPOSE, LAUNCH = (
    "kernels.decode.worker",
    "kernels.decode.propose",
    "kernels.schedule.launch",
)

MUTATIONS = (
    # FastDeploy #7774: the pattern took in the slot after the last token
    Mutation(
        "ngram_step_idx_off_by_one", NGRAM,
        "end = tl.where(fits & decoding, prompt + SHIFT + step, 0)",
        "end = tl.where(fits & decoding, prompt + SHIFT + step + 1, 0)",
        test_ngram.test_step_idx_is_a_count,
    ),
    Mutation("ngram_hybrid_reads_the_other_layout", NGRAM, '"SHIFT": int(options.append)', '"SHIFT": 0', NGRAM_TEST),
    Mutation(
        "ngram_match_crosses_into_the_prompt", NGRAM,
        "tl.where(asked, place, place - (prompt + SHIFT))", "place",
        test_ngram.test_a_match_does_not_reach_across_the_prompt_s_end,
    ),
    Mutation(
        "ngram_prompt_has_no_precedence", NGRAM,
        "matched * 2 + asked.to(tl.int32)", "matched * 2 + 1", NGRAM_TEST,
    ),
    Mutation(
        "ngram_rightmost_is_leftmost", NGRAM,
        "order = lane if RIGHTMOST else BLOCK - 1 - lane", "order = BLOCK - 1 - lane",
        partial(test_ngram.test_policies, {"match": "rightmost"}, [6]),
    ),
    Mutation(
        "ngram_first_match_wins_over_a_longer_one", NGRAM,
        "best = tl.maximum(best, tl.where(top > 0, key, 0))",
        "best = tl.where(best > 0, best, tl.where(top > 0, key, 0))",
        NGRAM_TEST,
    ),
    Mutation(
        "ngram_pads_match", NGRAM, "> 0) & (last >= 0)", "> 0)", over(test_ngram.CASES, test_ngram.check, pads=bool)
    ),
    Mutation(
        "ngram_pad_proposed", NGRAM, "tl.where(inside & (token < 0),", "tl.where(inside & (token < -9),",
        test_ngram.test_a_pad_matches_nothing_and_ends_a_continuation,
    ),
    # vLLM #38711: a proposal of an earlier step survives
    Mutation(
        "ngram_stale_drafts_stay", NGRAM, "(ahead >= 0) & (column < width)", "inside & (column < width)", NGRAM_TEST
    ),
    Mutation(
        "ngram_no_place_for_the_bonus_token", NGRAM, "most - step - 1", "most - step",
        test_ngram.test_room_is_left_for_the_bonus_token,
    ),
    Mutation(
        "ngram_budget_counts_a_row_against_itself", NGRAM,
        "before = tl.cumsum(wanted, 0) - wanted", "before = tl.cumsum(wanted, 0)",
        over(test_ngram.CASES, test_ngram.check, budget=lambda budget: budget is not None),
    ),
    Mutation(
        "ngram_budget_forgets_prefills", NGRAM,
        "tl.where(encoder > 0, given, decoding.to(tl.int64))", "decoding.to(tl.int64)",
        test_ngram.test_the_budget_goes_to_rows_in_order_after_every_base,
    ),
    # FastDeploy before #7883: stride K + 1 = 21 on a tensor of fewer columns
    Mutation("message_stride_of_the_widest", MESSAGE, "from_row * ids_stride", "from_row * 21", MESSAGE_TEST),
    Mutation("message_unmasked_pack", MESSAGE, "mask = (row < count) &", "mask = (row >= 0) &", MESSAGE_TEST),
    Mutation(
        "message_skipped_slots_take_rows", MESSAGE,
        "tl.where(earlier < slot, tl.maximum(count, 0), 0)",
        "tl.maximum(tl.load(accept_num + earlier, mask=earlier < slot, other=0).to(tl.int64), 0)",
        MESSAGE_TEST,
    ),
    Mutation(
        "message_score_cast_to_int", MESSAGE, "score.to(tl.int32, bitcast=True)", "score.to(tl.int32)", MESSAGE_TEST
    ),
    Mutation(
        "message_rank_of_another_row", MESSAGE,
        "ranks + from_row * ranks_stride", "ranks + (out_row + row) * ranks_stride", MESSAGE_TEST,
    ),
    Mutation(
        "message_id_wraps_at_32_bits", MESSAGE,
        "tl.where((value >= lowest) & (value <= 0x7FFFFFFF), value, INVALID)", "value", MESSAGE_TEST,
    ),
    Mutation(
        "message_never_says_stopped", MESSAGE,
        "tl.where(is_running != 0, message_id, -message_id)", "message_id", MESSAGE_TEST,
    ),
    Mutation(
        "message_width_not_sent", "kernels.message.layout",
        "word |= value << part.shift", "word |= value if part.shift == 0 else 0",
        test_message.test_the_words_of_a_message,
    ),
    Mutation(
        "message_reader_takes_any_layout", "kernels.message.layout",
        "if part.allowed and value not in part.allowed:", "if part.allowed and value < 0:",
        test_message.test_an_old_reader_of_a_new_message_fails_and_the_reverse,
    ),
    Mutation(
        "schedule_prefill_puts_out_its_prompt", SCHEDULE,
        "tl.where(prefill, tl.minimum(length, 1), length)", "length", SCHEDULE_TEST,
    ),
    Mutation(
        "schedule_first_row_of_a_prefill", SCHEDULE,
        "(end_in - out + first + lane)", "(start_in + first + lane)", SCHEDULE_TEST,
    ),
    Mutation(
        "schedule_padding_looks_like_slot_0", SCHEDULE,
        "tl.store(batch_ids + place, -1,", "tl.store(batch_ids + place, 0,", SCHEDULE_TEST,
    ),
    Mutation(
        "gather_takes_padding_for_row_0", SCHEDULE,
        "tl.load(output_rows + to_row).to(tl.int64)", "tl.maximum(tl.load(output_rows + to_row).to(tl.int64), 0)",
        GATHER_TEST,
    ),
    # FastDeploy #7121, #7368: the history moved by one when step_idx became a count
    Mutation(
        "update_history_off_by_one", SCHEDULE,
        "slot = (prompt + step)[:, None] + column", "slot = (prompt + step)[:, None] + column + 1", UPDATE_TEST,
    ),
    Mutation(
        "update_keeps_tokens_after_the_end", SCHEDULE,
        "count = tl.where(stops, last + 1, count)", "count = count + 0", UPDATE_TEST,
    ),
    Mutation(
        "update_stale_count_of_a_stopped_slot", SCHEDULE,
        "tl.where(was_stopped, 0, tl.minimum(tl.maximum(given, 0), width))",
        "tl.minimum(tl.maximum(given, 0), width)",
        UPDATE_TEST,
    ),
    Mutation(
        "update_full_one_token_late", SCHEDULE,
        "step[:, None] + column + 1 >= tl.minimum", "step[:, None] + column >= tl.minimum", UPDATE_TEST,
    ),
    Mutation(
        "update_cache_grows_by_rejected_drafts", SCHEDULE,
        "tl.where(encoder > 0, encoder, count)", "tl.where(encoder > 0, encoder, this_time)", UPDATE_TEST,
    ),
    Mutation("update_leaves_refused_tokens", SCHEDULE, "tl.where(valid, token, -1)", "token", UPDATE_TEST),
    Mutation("update_asks_the_last_block_what_runs", SCHEDULE, "running |= (live &", "running = (live &", UPDATE_TEST),
    # FastDeploy #7172: every rank sent
    Mutation(
        "loop_every_rank_speaks", WORKER, "if self.rank != 0:", "if self.rank < 0:",
        _law(test_decode.test_ranks_agree_and_only_one_speaks, overlap=False),
        RuntimeError,  # the host's own guard
    ),
    # FastDeploy #7788: rows counted by another step's numbers
    Mutation(
        "loop_draft_head_goes_on_from_a_refused_row", WORKER,
        "schedule.cu_seqlens_q_output[:-1] + accept_num - 1", "schedule.cu_seqlens_q_output[1:] - 1",
        _law(test_decode.test_the_draft_head_goes_on_from_the_last_accepted_row),
    ),
    Mutation(
        "loop_scores_packed_rows", WORKER,
        "return logprobs(logits, token_ids, k, rows=rows)",
        "return logprobs(logits, token_ids, k, rows=torch.where(rows < 0, rows, torch.arange(len(rows))))",
        _law(test_decode.test_every_token_carries_its_own_logprob, proposer="mtp", mode="raw"),
    ),
    Mutation(
        "loop_draws_inside_a_prompt", WORKER,
        "stop_flags=s.stop_flags | unread", "stop_flags=s.stop_flags",
        _law(test_decode.test_greedy_text_is_the_plain_one, proposer="ngram", drafts=2),
        RuntimeError,  # the host waits for tokens that the device counted and did not send
    ),
    # vLLM #40269, ascend #6685: the declared draft distribution is not the one drawn from
    Mutation(
        "loop_draft_drawn_at_another_temperature", PROPOSE,
        "slots.step_idx + i, slots.temperature, cut", "slots.step_idx + i, slots.temperature * 3, cut",
        _law(test_decode.test_drafts_are_declared_as_they_were_drawn),
    ),
    Mutation(
        "loop_lookup_declared_as_drawn", PROPOSE,
        "torch.where(found[:, :, None], certain, drafts.logits)",
        "torch.where(found[:, :, None], 0 * certain.clamp(min=0), drafts.logits)",
        _law(test_decode.test_drafts_are_declared_as_they_were_drawn),
    ),
    # FastDeploy #7172: the next launch has room for requests, not for their drafts
    Mutation(
        "launch_bound_forgets_drafts", LAUNCH,
        "len(running) * (num_speculative_tokens + 1)", "len(running)",
        _law(test_decode.test_greedy_text_is_the_plain_one, proposer="mtp", drafts=3),
        IndexError,  # a row is asked for that the launch had no room for
    ),
)  # fmt: skip
