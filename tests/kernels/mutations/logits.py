"""Broken accept, logprobs, verify, sampling and trees: bugs that engines shipped, or nearly did, put into
our kernels.

Each is one edit of one file. ``caught_by`` is the op's ordinary check; it must fail on the edited
kernels.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import torch

import kernels
from kernels.verify.strategy import Strategy
from tests.kernels import (
    test_accept,
    test_logprobs,
    test_logprobs_sharded,
    test_sampling,
    test_sampling_adjust,
    test_sampling_sharded,
    test_survey,
    test_tiles,
    test_tree,
    test_verify,
    verify_cases,
)
from tests.kernels.mutations.drawn import Holds, over

ROOT = Path(*kernels.__path__)
# Each holds the originals of what it imports from those before it, until it is loaded again.
MODULES = tuple(
    f"kernels.{name}"
    for name in (
        "_device", "_tile_loads", "_tile_arithmetic", "_chunk_stats", "accept.triton",
        "logprobs.entry", "logprobs.stream", "logprobs.search", "logprobs.merge", "logprobs.triton",
        "verify.request", "verify.stats", "verify.judge", "verify.residual", "verify.finish", "verify.match",
        "verify.topp", "verify.triton",
        "sampling.limits", "sampling.bracket", "sampling.collect", "sampling.survey", "sampling.search", "sampling.among",
        "sampling.ending", "sampling.settle", "sampling.cut", "sampling.draw", "sampling.candidates", "sampling.expand",
        "sampling.adjust",
        "tree.build", "tree.walk",
        "sharded.layout", "sharded.draw", "sharded.score",
    )
)  # fmt: skip
Test = Callable[[], None]


@dataclass(frozen=True)
class Mutation:
    """``old`` stands once in ``module``; with ``new`` in its place, ``caught_by`` must fail."""

    name: str
    module: str
    old: str
    new: str
    caught_by: Test

    def install(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        """Every later import of the module, and of those that use it, gets the edited one."""
        source = _file(self.module).read_text()
        if source.count(self.old) != 1:
            raise ValueError(
                f"{self.name}: {self.old!r} stands {source.count(self.old)} times in {self.module}"
            )
        path = folder / f"{self.name}.py"  # Triton reads a kernel's source from its file
        path.write_text(source.replace(self.old, self.new))
        _load(self.module, path, patch)
        for user in MODULES[MODULES.index(self.module) + 1 :]:
            _load(user, _file(user), patch)


def _file(module: str) -> Path:
    return ROOT.parent.joinpath(*module.split(".")).with_suffix(".py")


def _load(name: str, path: Path, patch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def _verify(*strategies: Strategy, count: int | None = None, **where: Holds) -> Test:
    """The property test of the strategies; of more cases, if ``count`` says so, for a mistake that
    shows seldom."""
    cases = test_verify.RATIO_CASES if strategies[0] in RATIO else test_verify.EQUALITY_CASES
    return over(
        cases, verify_cases.check, count, strategy=lambda strategy: strategy in strategies, **where
    )


RATIO = (Strategy.REJECTION, Strategy.BLOCK)
DRAFTS = {"width": lambda width: width > 1}
SEVERAL = {"width": lambda width: width > 2}
WARM = {"temperature": lambda temperature: temperature != 0.0}
DENSE = WARM | DRAFTS | {"draft_vocab": lambda vocab: vocab is not None}
ONE_HOT = WARM | DRAFTS | {"draft_vocab": lambda vocab: vocab is None}
FLAT = {"values": lambda values: values == "flat"}
TIES = {"values": lambda values: values == "ties"}
WHOLE = {"cut": lambda cut: not cut}
BONUS = {"bonus": lambda bonus: bonus}
SLOTS = {"slots": lambda slots: slots}
FLAGS = {"flags": lambda flags: flags}
ACCEPT, DEVICE = "kernels.accept.triton", "kernels._device"
TILES, ARITHMETIC = "kernels._tile_loads", "kernels._tile_arithmetic"
ENTRY, STREAM, SEARCH, MERGE = (
    f"kernels.logprobs.{name}" for name in ("entry", "stream", "search", "merge")
)
REQUEST, JUDGE, RESIDUAL, FINISH, TOPP = (
    f"kernels.verify.{name}" for name in ("request", "judge", "residual", "finish", "topp")
)
AMONG, ENDING, SETTLE, CANDIDATES, EXPAND = (
    f"kernels.sampling.{name}" for name in ("among", "ending", "settle", "candidates", "expand")
)
SURVEY = "kernels.sampling.survey"
SURVEY_TEST = over(test_survey.CASES, test_survey.check)
LIMITS, ADJUST = "kernels.sampling.limits", "kernels.sampling.adjust"
LAYOUT, SHARD_DRAW, SHARD_SCORE = (
    f"kernels.sharded.{name}" for name in ("layout", "draw", "score")
)
DRAWN_SHARDS = over(test_sampling_sharded.CASES, test_sampling_sharded.check)
SCORED_SHARDS = over(test_logprobs_sharded.CASES, test_logprobs_sharded.check)
SELECTION_TEST = over(test_sampling.CASES, test_sampling.check)
MIN_P_TEST = over(
    test_sampling.CASES, test_sampling_adjust.check_min_p, count=test_sampling_adjust.MIN_P
)


def _adjusting(*parts: str) -> Test:
    """The cases of ``adjust_logits`` that have all of these parts."""
    return over(
        test_sampling_adjust.CASES, test_sampling_adjust.check, parts=frozenset(parts).issubset
    )


TILES_TEST = test_tiles.every_place(torch.float16)
ACCEPT_TEST = over(test_accept.CASES, test_accept.check)
LOGPROBS_TEST = over(test_logprobs.CASES, test_logprobs.check)
PREFIX_TEST = over(
    test_logprobs.PREFIX_CASES, test_logprobs.check_prefix, count=test_logprobs.PREFIXES
)
CANDIDATES_TEST = over(
    test_sampling.CASES, test_sampling.check_candidates, count=test_sampling.CANDIDATES
)
EXPAND_TEST = over(test_sampling.EXPAND_CASES, test_sampling.check_expand)
BUILD, WALK = "kernels.tree.build", "kernels.tree.walk"
BUILD_TEST = over(test_tree.GROWN, test_tree.check_build)


def _growing(**where: Holds) -> Test:
    """The cases of ``build_tree`` that are like this."""
    return over(test_tree.GROWN, test_tree.check_build, **where)


def _walking(*strategies: Strategy, **where: Holds) -> Test:
    """The cases of ``verify_tree`` with these strategies that have a draft."""
    return over(
        test_tree.JUDGED, test_tree.check_verify, strategy=lambda strategy: strategy in strategies,
        nodes=lambda nodes: nodes > 1, **where,
    )  # fmt: skip


MUTATIONS = (
    # FastDeploy's gather: a prefill slot wrote row cu[b] although nothing was accepted
    Mutation(
        "accept_prefill_always_has_a_row", ACCEPT,
        "tl.where(encoder > 0, tl.minimum(num, 1), num)", "tl.where(encoder > 0, 1, num)", ACCEPT_TEST,
    ),
    # FastDeploy #7788: counts of another step than the rows
    Mutation("accept_stale_counts", ACCEPT, "num = tl.minimum(num, (end - first).to(tl.int32))", "num = num", ACCEPT_TEST),
    Mutation("accept_padding_looks_valid", ACCEPT, "tl.full([TILE, WIDTH], -1, tl.int64)", "tl.full([TILE, WIDTH], 0, tl.int64)", ACCEPT_TEST),
    Mutation("accept_offsets_restart", ACCEPT, "base + tl.cumsum(num, 0) - num", "tl.cumsum(num, 0) - num", ACCEPT_TEST),
    # vLLM #46560, #47383, #48055, FastDeploy: row * vocabulary in 32 bits
    Mutation(
        "accept_int32_offsets", ACCEPT,
        "row * logits_stride_t + column", "(row * logits_stride_t).to(tl.int32) + column", test_accept.check_far_rows,
    ),
    Mutation(
        "logprobs_int32_offsets", STREAM,
        "row * logits_stride_t\n        end = ", "(row * logits_stride_t).to(tl.int32)\n        end = ",
        test_logprobs.check_far_rows,
    ),
    Mutation("tiles_one_half_word_off", TILES, "odd = (before & 1) * 16", "odd = (before & 1) * 0", TILES_TEST),
    Mutation("tiles_no_tail", TILES, "tl.where(token + 1 < vocab, tile,", "tl.where(token + 1 <= vocab, tile,", TILES_TEST),
    Mutation("tiles_next_vector_never_read", TILES, "tl.zeros([CHUNK // 2], tl.int32) < before", "tl.zeros([CHUNK // 2], tl.int32) > before", TILES_TEST),
    Mutation("logprobs_rank_off_by_one", ARITHMETIC, "(tile.to(tl.float32) >= x)", "(tile.to(tl.float32) >= x + 1e-3)", LOGPROBS_TEST),
    Mutation(
        "logprobs_rank_counts_past_the_vocabulary", MERGE,
        'tl.where(sampled == float("-inf"), vocab, rank)', "rank", LOGPROBS_TEST,
    ),
    # FastDeploy #7883: the order of ties came from the sort
    Mutation(
        "logprobs_ties_by_higher_id", DEVICE,
        "(other_ids[:, None] < id[None, :])", "(other_ids[:, None] > id[None, :])", LOGPROBS_TEST,
    ),
    Mutation(
        "logprobs_tie_order_depends_on_k", MERGE,
        "come_before(other_x, other_id, x, id)",
        "come_before(other_x, tl.where(k > 8, other_id, -other_id), x, tl.where(k > 8, id, -id))",
        PREFIX_TEST,
    ),
    Mutation("logprobs_one_class_too_few", MERGE, "come_before(fold, place, fold, place) == k - 1", "come_before(fold, place, fold, place) == k - 2", LOGPROBS_TEST),
    Mutation("logprobs_ties_one_short", SEARCH, "(number <= left)", "(number < left)", LOGPROBS_TEST),
    Mutation("logprobs_rows_ignored", ENTRY, "row = tl.load(rows_ptr + entry * rows_stride)", "row = entry", LOGPROBS_TEST),
    Mutation("logprobs_raw_for_processed", MERGE, "(tops - origin) * (LOG2E / temperature)", "(tops - origin) * LOG2E", over(test_logprobs.CASES, test_logprobs.check, temperature=bool)),
    # vLLM #47594: a block of -inf or NaN
    Mutation(
        "logprobs_nan_in_the_sum", ARITHMETIC, 
        "tl.exp2((read_logit(tile) - origin) * scale)", "tl.exp2((tile.to(tl.float32) - origin) * scale)", LOGPROBS_TEST,
    ),
    Mutation("cut_drops_its_last_token", DEVICE, "(token <= cut_id)", "(token < cut_id)", LOGPROBS_TEST),
    Mutation(
        "verify_int32_offsets", REQUEST,
        "target[0] + row * target[1], target[2]", "target[0] + (row * target[1]).to(tl.int32), target[2]",
        test_verify.check_far_rows,
    ),
    Mutation("verify_reads_the_rows_of_another_slot", REQUEST, "slot = tl.load(draft[7] + b).to(tl.int64)", "slot = b", _verify(Strategy.REJECTION, **DENSE, **SLOTS)),
    Mutation("verify_trusts_a_slot_beyond_the_buffer", REQUEST, "(slot >= 0) & (slot < draft[8])", "slot >= -draft[8]", test_verify.check_slots_beyond),
    Mutation("verify_gives_its_token_too_early", REQUEST, "tl.where(accepted == n - 1, tl", "tl.where(accepted >= 0, tl", _verify(Strategy.REJECTION, **WARM, **DRAFTS, **BONUS)),
    # vLLM #47386: the recovered token was drawn with the draft's noise
    Mutation("verify_shares_the_drafts_noise", FINISH, "RECOVER = tl.constexpr(_RECOVER)", "RECOVER = tl.constexpr(2)", _verify(Strategy.REJECTION, **WARM)),
    Mutation(
        "verify_no_residual", RESIDUAL,
        "tl.maximum(tl.fma(p, p_share, -(q * q_share)), 0.0)", "p * p_share",
        _verify(Strategy.REJECTION, count=2000, **DENSE, **FLAT, **WHOLE),
    ),
    # DeepSpec #31, vLLM #40269: the declared distribution was not the sampled one
    Mutation(
        "verify_draft_at_another_temperature", JUDGE,
        "log_q = log_mass(y, draft_origin, draft_total, scale)", "log_q = log_mass(y, draft_origin, draft_total, 1.0)",
        _verify(Strategy.REJECTION, count=2000, **DENSE, **FLAT, **WHOLE),
    ),
    # vLLM #41834: a NaN draft row
    Mutation("verify_trusts_an_empty_draft_row", JUDGE, "drafted & (tl.exp(log_q) > 0)", "drafted", _verify(Strategy.REJECTION, Strategy.BLOCK, **DENSE)),
    Mutation(
        "verify_emits_the_rejected_token_again", FINISH,
        "p = tl.where(token == refused, 0.0, mass(x, origin, scale))", "p = mass(x, origin, scale)", _verify(Strategy.REJECTION, **ONE_HOT),
    ),
    Mutation("verify_accepts_whatever_is_possible", JUDGE, "stays = log_uniform < log_ratio", "stays = log_ratio > -80.0", _verify(Strategy.REJECTION, **WARM, **DRAFTS)),
    Mutation("verify_step_idx_off_by_one", JUDGE, "uniforms(seed, step_idx + column, ACCEPT)", "uniforms(seed, step_idx + column + 1, ACCEPT)", _verify(Strategy.REJECTION, **WARM, **DRAFTS)),
    Mutation("verify_runs_past_the_end_token", REQUEST, "stops & (column <= accepted)", "stops & (column < 0)", _verify(Strategy.GREEDY, **FLAGS, **DRAFTS)),
    Mutation("verify_one_token_over_the_limit", REQUEST, "tl.load(max_dec_ptr + b) - step_idx", "tl.load(max_dec_ptr + b) - step_idx + 1", _verify(Strategy.GREEDY, **FLAGS, **DRAFTS)),
    Mutation("verify_drafts_in_prefill", REQUEST, "tl.load(encoder_ptr + b) > 0, 0, limit", "tl.load(encoder_ptr + b) > 0, limit, limit", _verify(Strategy.GREEDY, **FLAGS, **DRAFTS)),
    Mutation("verify_drafts_while_reasoning", REQUEST, "tl.load(reasoning_ptr + b) == 1", "tl.load(reasoning_ptr + b) == 9", _verify(Strategy.GREEDY, **FLAGS, **DRAFTS)),
    Mutation("verify_greedy_ties_by_higher_id", ARITHMETIC, 
        "tl.min(tl.where(tile.to(tl.float32) == top, token, 2147483647))",
        "tl.max(tl.where(tile.to(tl.float32) == top, token, -1))", _verify(Strategy.GREEDY, **TIES)),
    Mutation(
        "verify_block_judged_by_the_wrong_uniform", FINISH,
        "column[None, :] == column[:, None] - 1", "column[None, :] == column[:, None]", _verify(Strategy.BLOCK, **WARM, **SEVERAL),
    ),
    Mutation("verify_block_weight_unbounded", JUDGE, "until - highest, log_uniform", "until, log_uniform", _verify(Strategy.BLOCK, count=2000, **DENSE | SEVERAL | WHOLE)),
    Mutation("verify_block_reads_the_first_residual_alone", JUDGE, "return (may | (column == 0)) & (column < limit)", "return (column == 0) & (column < limit)", _verify(Strategy.BLOCK, **DENSE | SEVERAL)),
    Mutation("verify_block_of_all_drafts_is_not_enough", JUDGE, "(judged_by < log_weight)", "(judged_by < log_weight - 0.3)", _verify(Strategy.BLOCK, **DENSE)),
    Mutation("verify_window_off_by_one", TOPP, "following >= window", "following > window", _verify(Strategy.TOPP, **SEVERAL)),
    # FastDeploy's top_p_candidates: an empty set when top_p is not reached
    Mutation("sampling_empty_candidates", CANDIDATES, "tl.where(reached, column + 1, columns)", "tl.where(reached, column + 1, 0)", CANDIDATES_TEST),
    Mutation("sampling_seeds_one_apart", EXPAND, "_add_seed(seed, 4 * step)", "_add_seed(seed, step)", EXPAND_TEST),
    # vLLM #50979: a threshold on values keeps every tie
    Mutation("sampling_top_k_keeps_ties", AMONG, "if wanted == ties:", "if wanted <= ties:", SELECTION_TEST),
    Mutation("sampling_top_p_without_top_k", ENDING, "weight = tl.where(is_kept(x, id, logit, last), weight, 0)", "weight = weight + 0", over(test_sampling.CASES, test_sampling.check, top_k=bool, top_p=bool)),
    Mutation("sampling_ties_of_the_bracket_forgotten", ENDING, "until_high = above + high", "until_high = above + 0 * high", SELECTION_TEST),
    Mutation("sampling_trusts_a_wrong_bracket", ENDING, "part = tl.where((goal <= above) | (goal > until_among + low), FAILED, part)", "part = part + 0", test_sampling.check_a_wrong_guess),
    Mutation("sampling_draws_beside_the_candidates", SETTLE, "masses += _masses_of_candidates(", "masses += 0 * _masses_of_candidates(", SELECTION_TEST),
    Mutation("survey_one_token_short", SURVEY, "reached = count >= k", "reached = count >= k - 1", SURVEY_TEST),
    Mutation("survey_ends_a_token_early", SURVEY, "missed = count < k", "missed = count <= k", SURVEY_TEST),
    Mutation("survey_forgets_what_lies_above", SURVEY, "best + tl.cumsum(tokens * weight", "0 * best + tl.cumsum(tokens * weight", SURVEY_TEST),
    Mutation("survey_tokens_worth_their_own_step", SURVEY, "tl.cumsum(tokens * next_weight", "tl.cumsum(tokens * weight", SURVEY_TEST),
    Mutation("survey_before_all_have_counted", SURVEY, "== programs - 1", "== 0", SURVEY_TEST),
    Mutation("survey_counts_the_next_step", SURVEY, "number == step, reach", "number == step + 1, reach", SURVEY_TEST),
    Mutation("min_p_before_the_temperature", LIMITS, "top + temperature * tl.log(part)", "top + tl.log(part) + 0.0 * temperature", MIN_P_TEST),
    Mutation("min_p_widens_the_set", LIMITS, "stricter = limited & (floor > cut_logit)", "stricter = limited", MIN_P_TEST),
    Mutation("adjust_takes_rows_for_requests", ADJUST, "request = tl.load(request_ptr + row).to(tl.int64)", "request = row", _adjusting("requests", "presence", "counts")),
    Mutation("adjust_allows_what_has_a_bias", ADJUST, "mask=here & possible", "mask=here", _adjusting("allowed", "bias")),
    Mutation("adjust_bans_without_the_words_beginning", ADJUST, "(want < 0) | (want == have)", "(want < 0) | (want >= have - have)", _adjusting("words")),
    Mutation("adjust_presence_for_each_time", ADJUST, "tl.where(count > 0.0, presence, 0.0)", "presence * count", _adjusting("presence", "counts")),
    Mutation("adjust_repetition_forgets_the_prompt", ADJUST, "known = known | _bit(", "known = known & _bit(", _adjusting("repetition", "prompt")),
    Mutation("adjust_repetition_lifts_what_is_negative", ADJUST, "tl.where(x > 0.0, inverse, repetition)", "inverse", _adjusting("repetition", "counts")),
    Mutation("tree_one_node_too_many", BUILD, "(rank < nodes - 1)", "(rank < nodes)", BUILD_TEST),
    Mutation("tree_first_candidates_ask_the_list", BUILD, "tl.where(draft & (chosen < topk), 0, parent)", "parent", BUILD_TEST),
    # SGLang warns of a token without a chosen parent, and goes on with what hangs on it
    Mutation("tree_a_lost_branch_stays", BUILD, "parent = tl.where(hangs, parent, -1)", "parent = parent", BUILD_TEST),
    Mutation("tree_siblings_go_back", BUILD, "together & (node[None, :] > node[:, None])", "together & (node[None, :] < node[:, None])", BUILD_TEST),
    Mutation("tree_nan_is_a_score", BUILD, 'tl.maximum(tl.load(at, mask=place < candidates, other=float("-inf")), float("-inf"))', 'tl.load(at, mask=place < candidates, other=float("-inf"))', _growing(scores=lambda scores: scores == "nan")),
    Mutation("tree_depth_is_one", BUILD, "depth += (above >= 0).to(tl.int32)", "depth = (parent >= 0).to(tl.int32)", BUILD_TEST),
    # vLLM #47386, on trees
    Mutation("tree_one_noise_for_both", WALK, "step_idx + step, ACCEPT", "step_idx + step, RECOVER", _walking(Strategy.REJECTION, **WARM)),
    Mutation("tree_noise_stays_at_the_root", WALK, "step_idx + step, RECOVER", "step_idx, RECOVER", _walking(Strategy.TARGET_MATCH, Strategy.REJECTION, **WARM)),
    Mutation("tree_twins_count_twice", WALK, "children & ~again", "children", _walking(Strategy.REJECTION, **WARM)),
    Mutation("tree_children_are_drawn_again", WALK, "p = tl.where(token == at_column(tokens, child, NODES), 0.0, p)", "p = tl.where(token == -1, 0.0, p)", _walking(Strategy.REJECTION, **WARM)),
    Mutation("tree_any_node_is_a_child", WALK, "there & (parent == node)", "there", _walking(*test_tree.STRATEGIES)),
    Mutation("tree_one_step_too_deep", WALK, " & (step + 1 < WIDTH)", "", _walking(*test_tree.STRATEGIES)),
    Mutation("tree_index_past_the_end", WALK, "path = tl.where(column < count, path, -1)", "path = path", _walking(*test_tree.STRATEGIES, **FLAGS)),
    Mutation("tree_children_beyond_the_cut", WALK, 'x = tl.where(is_kept(x, tokens, row[3], row[4]), x, float("-inf"))', "x = x", _walking(Strategy.REJECTION, cut=bool, **WARM)),
    Mutation("tree_parents_after_their_children", WALK, "known & (parent >= 0) & (parent < at)", "known & (parent >= 0)", test_tree.test_a_child_that_comes_before_its_parent_is_none),
    Mutation("tree_int32_offsets", WALK, "at * target[2], target[3]", "(at * target[2]).to(tl.int32), target[3]", test_tree.check_far_rows),
    Mutation("shards_count_ids_from_their_own_first_chunk", SHARD_DRAW, "tl.arange(0, CHUNKS) * CHUNK + within", "within + 0 * tl.arange(0, CHUNKS)", DRAWN_SHARDS),
    Mutation("shards_cut_at_an_id_of_the_whole", SHARD_DRAW, "(cut[0], cut[1] - first)", "cut", DRAWN_SHARDS),
    Mutation("shards_leave_the_last_chunk_to_its_owner", LAYOUT, "[tail, *heads[shard.rank + 1 :]]", "[tail, *heads[shard.rank :]]", DRAWN_SHARDS),
    Mutation("shards_rank_against_their_own_logit", SHARD_SCORE, "sampled = torch.stack(list(everyone)).amax(dim=0)", "sampled = everyone[shard.rank]", SCORED_SHARDS),
    Mutation("shards_best_tokens_by_their_own_ids", SHARD_SCORE, "= ids + first", "= ids", SCORED_SHARDS),
    Mutation("eight_bits_nan_is_the_largest_number", DEVICE, "tl.where((x & 127) == 127, float(\"-inf\"), value)", "value", LOGPROBS_TEST),
    Mutation("eight_bits_of_another_bias", DEVICE, "* 256.0", "* 128.0", LOGPROBS_TEST),
)  # fmt: skip
