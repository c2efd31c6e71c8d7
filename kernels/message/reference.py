"""The law of the message packer, in plain PyTorch: gather the rows of every slot, then let the
layout write them."""

from __future__ import annotations

import torch

from kernels.message.layout import CURRENT, INVALID, PREEMPTED, write

INT32_MAX = (1 << 31) - 1


def count_to_send(
    accepted: int,
    offset: int,
    capacity: int,
    preempted: bool,
    decoder: int | None,
    prompt: int | None,
) -> int:
    """Rows of one slot, or the code that stands for them.

    The message then has the rows where this is positive.
    """
    if preempted:
        return PREEMPTED
    if decoder is not None and prompt is not None and decoder < prompt:
        return 0  # a chunk of the prompt: what was sampled means nothing yet
    if accepted < 0 or offset < 0 or offset + accepted > capacity:
        return INVALID
    return accepted


def pack_reference(
    sampled_token_ids: torch.Tensor,  # [N]
    logprob_token_ids: torch.Tensor,  # [N, >= columns]
    logprob_scores: torch.Tensor,  # [N, >= columns]
    logprob_ranks: torch.Tensor,  # [N]
    accept_num: torch.Tensor,  # [B]
    cu_batch_token_offset: torch.Tensor,  # [B + 1]
    *,
    meta: int,
    message_id: int,
    running: torch.Tensor | bool,
    columns: int,
    seq_lens_decoder: torch.Tensor | None,  # [B]
    prompt_lens: torch.Tensor | None,  # [B]
    preempted: torch.Tensor | None,  # [B]
    out: torch.Tensor,  # [>= header + N rows]
) -> None:
    """Write the message into `out`; words past the last used row keep what they held."""
    capacity, bsz = logprob_token_ids.shape[0], accept_num.shape[0]
    counts, rows = [], []
    for b in range(bsz):
        offset = int(cu_batch_token_offset[b])
        count = count_to_send(
            int(accept_num[b]),
            offset,
            capacity,
            preempted is not None and bool(preempted[b]),
            None if seq_lens_decoder is None else int(seq_lens_decoder[b]),
            None if prompt_lens is None else int(prompt_lens[b]),
        )
        taken = list(range(offset, offset + max(count, 0)))
        # offsets that overlap could ask for more rows than the message has room for
        counts.append(INVALID if count > 0 and len(rows) + count > capacity else count)
        rows += taken
    source = torch.tensor(rows[:capacity], dtype=torch.int64)
    ids = logprob_token_ids[source, :columns].to(torch.int64)
    ids[:, 0] = sampled_token_ids[source]
    lowest = torch.full((1, columns), -1)
    lowest[0, 0] = 0  # the sampled token is a token; only the top k may have gaps
    ranks = logprob_ranks[source].to(torch.int64).unsqueeze(1)
    sizes = {"bsz": bsz, "num_logprobs": columns, "rows": len(source)}
    values = {
        "stop_word": torch.tensor([message_id if bool(running) else -message_id]),
        "meta": torch.tensor([meta]),
        "bsz": torch.tensor([bsz]),
        "token_counts": torch.tensor(counts),
        "tokens": torch.where((ids >= lowest) & (ids <= INT32_MAX), ids, INVALID),
        "scores": logprob_scores[source, :columns],
        "ranks": torch.where((ranks >= 0) & (ranks <= INT32_MAX), ranks, INVALID),
    }
    message = write(CURRENT, values, sizes)
    out[: message.numel()] = message
