"""What both passes of ``logprobs`` read of one entry."""

from __future__ import annotations

import triton
import triton.language as tl

from .._device import is_kept, load_logits, read_id, read_logit, read_temperature


@triton.jit
def entry_of(
    entry, total, rows_ptr, rows_stride, temperature_ptr, temperature_stride,
    cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,
):  # fmt: skip
    """Row of the logits (-1 for none, or beyond the ``total`` there are), temperature, and the last
    kept token of one entry."""
    row = entry
    if rows_ptr is not None:
        row = tl.load(rows_ptr + entry * rows_stride)
        row = tl.where(row < total, row, -1)
    temperature = 1.0
    if temperature_ptr is not None:
        temperature = read_temperature(tl.load(temperature_ptr + entry * temperature_stride))
        temperature = tl.where(temperature == 0.0, 1.0, temperature)
    cut_logit = float("-inf")
    cut_id = tl.full([], 0, tl.int32)
    if cut_logit_ptr is not None:
        cut_logit = read_logit(tl.load(cut_logit_ptr + entry * cut_logit_stride))
        cut_id = read_id(tl.load(cut_id_ptr + entry * cut_id_stride))
    return row, temperature, cut_logit, cut_id


@triton.jit
def sampled_logit(row_ptr, logits_stride_v, token, vocab, cut_logit, cut_id, HAS_CUT: tl.constexpr):
    """(logit of the sampled token, whether it is a token at all)."""
    known = (token >= 0) & (token < vocab)
    return read_tokens(row_ptr, logits_stride_v, token, known, cut_logit, cut_id, HAS_CUT), known


@triton.jit
def counted_logit(
    entry, token_ptr, token_stride, row_ptr, logits_stride_v, vocab, cut_logit, cut_id,
    HAS_CUT: tl.constexpr,
):  # fmt: skip
    """What the tokens of a row are ranked against: the sampled token's logit, or the logit that is
    given in its place where the token is another GPU's."""
    if token_ptr.dtype.element_ty == tl.float32:
        x = tl.load(token_ptr + entry * token_stride)
    else:
        token = tl.load(token_ptr + entry * token_stride).to(tl.int64)
        x, _known = sampled_logit(
            row_ptr, logits_stride_v, token, vocab, cut_logit, cut_id, HAS_CUT
        )
    return x


@triton.jit
def read_tokens(row_ptr, logits_stride_v, id, there, cut_logit, cut_id, HAS_CUT: tl.constexpr):
    """Logits of the tokens ``id`` as the law reads them; -inf where ``there`` is false, and past
    the cut."""
    x = read_logit(load_logits(row_ptr + id.to(tl.int64) * logits_stride_v, there))
    if HAS_CUT:
        x = tl.where(is_kept(x, id, cut_logit, cut_id), x, float("-inf"))
    return x
