"""How many tokens the next launch must have room for, known on the host before the device has
answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Launch:
    """What the host needs to launch a step."""

    token_num: int
    """Rows to launch, padding included. Never below the true number; equal to it where `exact`."""
    real_bsz: int
    """Requests that run."""
    exact: bool
    """False where `token_num` is a bound: a consumer must then cut to the device's own count."""
    empty_run: bool
    """True where this rank has no request and runs only to meet the others in their collectives."""


def next_launch(
    seq_lens_this_time: Sequence[int],
    *,
    num_speculative_tokens: int,
    overlap: bool,
    prefill_tokens: int = 0,
    ep_token_nums: Sequence[int] | None = None,
    tp_size: int = 1,
    sequence_parallel: bool = False,
) -> Launch:
    """The next launch of this rank.

    Host arithmetic only; every rank of a TP group must give the same answer.

    Args:
        seq_lens_this_time: host copy of the last step's input tokens of each slot. Without overlap
            it is this step's own; with overlap the device is still at work on it, so only whether a
            slot runs can be relied on.
        num_speculative_tokens: K; a decoding request takes at most K + 1 rows. 0 for a plain batch.
        overlap: the launch is prepared before the accepted counts are known.
        prefill_tokens: prompt tokens that join in the next launch under overlap (without it they
            are already in `seq_lens_this_time`).
        ep_token_nums: under expert parallelism, the `token_num` of every rank, this one's included,
            from a gather of the first answer. All ranks launch the largest, and a rank without
            requests makes an empty run: one that stayed away would leave the others waiting in
            their all-to-all.
        tp_size, sequence_parallel: with sequence parallelism the rows are split over TP ranks, so
            their number is rounded up to a multiple.

    Raises ValueError for negative counts or a size below 1.

    Source: FastDeploy #7172 (a bound of requests times tokens per step under overlap), #7001 (no
    sync for it), #7314 (the empty run under EP), #7960 and #7788 (consumers that took the bound for
    the count).
    """
    counts = (num_speculative_tokens, prefill_tokens, *(ep_token_nums or ()))
    if any(count < 0 for count in counts) or tp_size < 1:
        raise ValueError(
            "next_launch: counts must not be negative and tp_size at least 1, "
            f"got {counts}, {tp_size}"
        )
    running = [length for length in seq_lens_this_time if length > 0]
    if overlap:
        tokens = len(running) * (num_speculative_tokens + 1) + prefill_tokens
    else:
        tokens = sum(running)
    own = tokens
    if ep_token_nums is not None:
        tokens = max(tokens, *ep_token_nums)
    if sequence_parallel:
        tokens = -(-tokens // tp_size) * tp_size
    return Launch(
        token_num=tokens,
        real_bsz=len(running),
        exact=not overlap and tokens == own,
        empty_run=own == 0 and tokens > 0,
    )
