"""Broken accept, logprobs, verify and sampling: bugs that engines shipped, or nearly did, put into our kernels.

Each is one edit of one file. ``caught_by`` is the op's ordinary check; it must fail on the edited kernels.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import kernels
from kernels.verify.strategy import Strategy
from tests.kernels import test_accept, test_logprobs, test_sampling, verify_cases
from tests.kernels.properties import bounded

ROOT = Path(*kernels.__path__)
# Kernels that import another module's device functions hold the originals until they are loaded again.
USERS = {
    "kernels._device": ("kernels.logprobs.triton", "kernels.verify.triton", "kernels.sampling.triton"),
    "kernels.logprobs.triton": ("kernels.sampling.triton",),
}
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
        """Every later import of the module, and of its users, gets the edited one."""
        source = _file(self.module).read_text()
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.old!r} stands {source.count(self.old)} times in {self.module}")
        path = folder / f"{self.name}.py"  # Triton reads a kernel's source from its file
        path.write_text(source.replace(self.old, self.new))
        _load(self.module, path, patch)
        for user in USERS.get(self.module, ()):
            _load(user, _file(user), patch)


def _file(module: str) -> Path:
    return ROOT.parent.joinpath(*module.split(".")).with_suffix(".py")


def _load(name: str, path: Path, patch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def _property(cases: object, check: Callable[[object], None]) -> Test:
    """The op's own property test, without the shrinking."""
    return bounded(cases, check, 300, shrink=False)


def _verify(*strategies: Strategy, **fixed: object) -> Test:
    cases = verify_cases.cases(batch=3, strategies=strategies)
    if fixed:
        cases = cases.filter(lambda case: all(wanted(getattr(case, name)) for name, wanted in fixed.items()))
    return _property(cases, verify_cases.check)


DENSE = {"draft_vocab": lambda vocab: vocab is not None}
ONE_HOT = {"draft_vocab": lambda vocab: vocab is None}
FLAGS = {"flags": lambda flags: flags}
ACCEPT, LOGPROBS = "kernels.accept.triton", "kernels.logprobs.triton"
VERIFY, SAMPLING, DEVICE = "kernels.verify.triton", "kernels.sampling.triton", "kernels._device"
ACCEPT_TEST = _property(test_accept.CASES, test_accept.check)
LOGPROBS_TEST = _property(test_logprobs.CASES, test_logprobs.check)
PREFIX_TEST = _property(test_logprobs.PREFIX_CASES, test_logprobs.check_prefix)
SAMPLING_TEST = _property(test_sampling.CASES, test_sampling.check)
CANDIDATES_TEST = _property(test_sampling.CASES, test_sampling.check_candidates)
EXPAND_TEST = _property(test_sampling.EXPAND_CASES, test_sampling.check_expand)

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
        "logprobs_int32_offsets", LOGPROBS,
        "row * logits_stride_t\n        end = ", "(row * logits_stride_t).to(tl.int32)\n        end = ",
        test_logprobs.check_far_rows,
    ),
    Mutation("logprobs_rank_off_by_one", LOGPROBS, "(x >= sampled)", "(x > sampled)", LOGPROBS_TEST),
    Mutation(
        "logprobs_rank_counts_past_the_vocabulary", LOGPROBS,
        'tl.where(sampled == float("-inf"), vocab, rank)', "rank", LOGPROBS_TEST,
    ),
    # FastDeploy #7883: the order of ties came from the sort
    Mutation(
        "logprobs_ties_by_higher_id", DEVICE,
        "(key[None, :] == key[:, None]) & (place[None, :] < place[:, None])",
        "(key[None, :] == key[:, None]) & (place[None, :] > place[:, None])", LOGPROBS_TEST,
    ),
    Mutation(
        "logprobs_tie_order_depends_on_k", LOGPROBS,
        "order = order_among(key, BEST)", "order = tl.where(k > 8, order_among(key, BEST), order_among(-key, BEST))",
        PREFIX_TEST,
    ),
    Mutation("logprobs_one_class_too_few", LOGPROBS, "order_among(fold, BEST) == k - 1", "order_among(fold, BEST) == k - 2", LOGPROBS_TEST),
    Mutation("logprobs_rows_ignored", LOGPROBS, "row = tl.load(rows_ptr + entry * rows_stride)", "row = entry", LOGPROBS_TEST),
    Mutation("logprobs_raw_for_processed", LOGPROBS, "(tops - origin) * (LOG2E / temperature)", "(tops - origin) * LOG2E", LOGPROBS_TEST),
    # vLLM #47594: a block of -inf or NaN
    Mutation(
        "logprobs_nan_in_the_sum", DEVICE, "y = read_logit(x)\n        top = tl.max(y)\n        total",
        "y = x\n        top = tl.max(y)\n        total", LOGPROBS_TEST,
    ),
    Mutation("cut_drops_its_last_token", DEVICE, "(token <= cut_id)", "(token < cut_id)", LOGPROBS_TEST),
    # vLLM #47386: the recovered token was drawn with the draft's noise
    Mutation("verify_shares_the_drafts_noise", VERIFY, "RECOVER = tl.constexpr(_RECOVER)", "RECOVER = tl.constexpr(2)", _verify(Strategy.REJECTION)),
    Mutation("verify_no_residual", VERIFY, "tl.maximum(tl.where(with_draft, weight, 1.0) * p - q, 0.0)", "tl.where(with_draft, weight, 1.0) * p", _verify(Strategy.REJECTION, **DENSE)),
    # DeepSpec #31, vLLM #40269: the declared distribution was not the sampled one
    Mutation(
        "verify_draft_at_another_temperature", VERIFY,
        "log_q = _log_mass(y, draft_origin, draft_total, scale)", "log_q = _log_mass(y, draft_origin, draft_total, 1.0)",
        _verify(Strategy.REJECTION, **DENSE),
    ),
    # vLLM #41834: a NaN draft row
    Mutation("verify_trusts_an_empty_draft_row", VERIFY, "drafted & (tl.exp(log_q) > 0)", "drafted", _verify(Strategy.REJECTION, Strategy.BLOCK, **DENSE)),
    Mutation(
        "verify_emits_the_rejected_token_again", VERIFY,
        "tl.where(token == tl.where(with_draft, x, -1), 0.0, p)", "p", _verify(Strategy.REJECTION, **ONE_HOT),
    ),
    Mutation("verify_accepts_whatever_is_possible", VERIFY, "stays = log_uniform < log_ratio", "stays = log_ratio > -80.0", _verify(Strategy.REJECTION)),
    Mutation("verify_step_idx_off_by_one", VERIFY, "uniforms(seed, step_idx + column, ACCEPT)", "uniforms(seed, step_idx + column + 1, ACCEPT)", _verify(Strategy.REJECTION)),
    Mutation("verify_runs_past_the_end_token", VERIFY, "stops & (column <= accepted)", "stops & (column < 0)", _verify(Strategy.GREEDY, **FLAGS)),
    Mutation("verify_one_token_over_the_limit", VERIFY, "tl.load(max_dec_ptr + b) - step_idx", "tl.load(max_dec_ptr + b) - step_idx + 1", _verify(Strategy.GREEDY, **FLAGS)),
    Mutation("verify_drafts_in_prefill", VERIFY, "tl.load(encoder_ptr + b) > 0, 0, limit", "tl.load(encoder_ptr + b) > 0, limit, limit", _verify(Strategy.GREEDY, **FLAGS)),
    Mutation("verify_drafts_while_reasoning", VERIFY, "tl.load(reasoning_ptr + b) == 1", "tl.load(reasoning_ptr + b) == 9", _verify(Strategy.GREEDY, **FLAGS)),
    Mutation("verify_greedy_ties_by_higher_id", DEVICE, "tl.min(tl.where(y == top, token, 2147483647))", "tl.max(tl.where(y == top, token, -1))", _verify(Strategy.GREEDY)),
    Mutation(
        "verify_block_judged_by_the_wrong_uniform", VERIFY,
        "column[None, :] == column[:, None] - 1", "column[None, :] == column[:, None]", _verify(Strategy.BLOCK),
    ),
    Mutation("verify_block_weight_unbounded", VERIFY, "until - highest, log_uniform", "until, log_uniform", _verify(Strategy.BLOCK)),
    Mutation("verify_window_off_by_one", VERIFY, "following >= window", "following > window", _verify(Strategy.TOPP)),
    # FastDeploy's top_p_candidates: an empty set when top_p is not reached
    Mutation("sampling_empty_candidates", SAMPLING, "tl.where(reached, column + 1, columns)", "tl.where(reached, column + 1, 0)", CANDIDATES_TEST),
    Mutation("sampling_seeds_one_apart", SAMPLING, "_add_seed(seed, 4 * step)", "_add_seed(seed, step)", EXPAND_TEST),
    # vLLM #50979: a threshold on values keeps every tie
    Mutation("sampling_top_k_keeps_ties", SAMPLING, "wanted = tl.minimum(tl.maximum(wanted, 1), tl.sum(ties))", "wanted = tl.sum(ties)", test_sampling.check_ties_past_the_best_64),
    Mutation("sampling_top_p_without_top_k", SAMPLING, "tl.where(k <= best, tl.max(until), 1.0)", "1.0", SAMPLING_TEST),
)  # fmt: skip
