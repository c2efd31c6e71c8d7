"""The law of ``accept``, in plain PyTorch."""

from __future__ import annotations

import torch


def accept_reference(
    accept_tokens: torch.Tensor,  # int64 [B, S]
    accept_num: torch.Tensor,  # int32 [B]
    cu_seqlens_q_output: torch.Tensor,  # int [B+1]
    seq_lens_encoder: torch.Tensor,  # int32 [B]
    logits: torch.Tensor | None,  # [T, V]
    *,
    rows: torch.Tensor | None = None,  # out [B*S, V]
) -> tuple[torch.Tensor, ...]:
    """See ``kernels.accept.accept``."""
    batch, width = accept_tokens.shape
    first_row = cu_seqlens_q_output[:-1].long()  # [B]
    owned = cu_seqlens_q_output[1:].long() - first_row  # [B]
    count = accept_num.long().clamp(0, width).minimum(owned.clamp(min=0))  # [B]
    count = torch.where(seq_lens_encoder > 0, count.clamp(max=1), count)

    cu_tokens = torch.zeros(batch + 1, dtype=torch.int32, device=accept_num.device)
    cu_tokens[1:] = count.cumsum(0)

    column = torch.arange(width, device=accept_num.device)  # [S]
    valid = column[None, :] < count[:, None]  # [B, S]
    token_ids = torch.full((batch * width,), -1, dtype=torch.int64, device=accept_num.device)
    row_index = token_ids.clone()
    total = int(valid.sum())
    token_ids[:total] = accept_tokens[valid]  # row-major: request after request
    row_index[:total] = (first_row[:, None] + column[None, :])[valid]

    if logits is None:
        return token_ids, row_index, cu_tokens
    if rows is None:
        rows = torch.empty(batch * width, logits.shape[1], dtype=logits.dtype, device=logits.device)
    rows[:total] = logits[row_index[:total]]
    return token_ids, row_index, cu_tokens, rows
