"""``adjust_logits`` on a GPU: one launch, every logit read once and written once.

What holds for whole rows is done in the pass; then the few tokens of a row's lists are done once
more, each by its own lane, by the program that has just stored their part of the row.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import load_logits, read_logit, wait_for_another
from .._hardware import after_another
from .._launch import Launcher, cdiv
from .adjustments import Adjustments

TILE = 2048  # tokens of a program
LIST = 128  # entries of a list that are looked at together
WARPS = 4


def adjust_triton(
    logits: torch.Tensor,
    given: Adjustments,
    *,
    launch: Launcher | None = None,
    tile: int = TILE,
    together: int = LIST,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """See ``kernels.sampling.adjust_logits``; ``tile`` and ``together`` are smaller in tests."""
    rows, vocab = logits.shape
    launch = launch or Launcher()
    adjusted = out
    if adjusted is None:
        adjusted = launch.empty(rows, vocab, dtype=torch.float32, device=logits.device)
    if rows == 0:
        return adjusted
    tiles = cdiv(vocab, tile)
    penalties = (given.repetition_penalty, given.frequency_penalty, given.presence_penalty)
    penalised = any(part is not None for part in penalties)
    seen = (given.output_counts, given.prompt_mask) if penalised else (None, None)
    longest = 1 if given.bad_words is None else given.bad_words.shape[2]
    launch(
        _adjust_kernel, rows * tiles,
        (
            logits, *logits.stride(), adjusted,
            None if given.requests is None else given.requests.contiguous(), _requests(given, rows),
            _listed(given.bitmask), _listed(given.allowed_ids),
            (*_listed(given.bias_ids), None if given.bias is None else given.bias.contiguous()),
            tuple(None if part is None else part.contiguous() for part in penalties),
            (*_listed(seen[0]), *_listed(seen[1])),
            _listed(given.bad_words), _listed(given.latest),
            vocab, tiles,
        ),
        lambda: {
            "PENALISED": penalised, "LONGEST": longest, "TILE": tile, "LIST": together,
            "num_warps": WARPS,
            # The sums and products of the law, each of them rounded.
            "enable_fp_fusion": False, **after_another(),
        },
    )  # fmt: skip
    return adjusted


def _listed(values: torch.Tensor | None) -> tuple[torch.Tensor | None, int]:
    """(values, how many a row or a request has)."""
    return (None, 0) if values is None else (values.contiguous(), values.shape[1])


def _requests(given: Adjustments, rows: int) -> int:
    """How many requests there are settings of."""
    of_requests = (
        given.allowed_ids, given.bias_ids, given.repetition_penalty, given.frequency_penalty,
        given.presence_penalty, given.output_counts, given.prompt_mask, given.bad_words,
    )  # fmt: skip
    return next((len(part) for part in of_requests if part is not None), rows)


@triton.jit(do_not_specialize=["tiles", "requests"])
def _adjust_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    adjusted_ptr,  # out float32 [R, V]
    request_ptr, requests,  # int [R], Q
    bitmask,  # int32 [R, words] and its words
    allowed, bias,  # int [Q, A] and A, int [Q, N], N and float32 [Q, N]
    penalties, seen,  # float32 [Q] three times, int [Q, V], V, int32 [Q, words] and its words
    bad_words, latest,  # int [Q, W, L] and W, int [R, H] and H
    vocab, tiles,
    PENALISED: tl.constexpr, LONGEST: tl.constexpr, TILE: tl.constexpr, LIST: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    program = tl.program_id(0)
    row = (program // tiles).to(tl.int64)
    first = (program % tiles) * TILE
    request = row
    if request_ptr is not None:
        request = tl.load(request_ptr + row).to(tl.int64)
    known = (request >= 0) & (request < requests)
    row_ptr = logits_ptr + row * stride_r
    out_ptr = adjusted_ptr + row * vocab
    token = first + tl.arange(0, TILE)
    x = _read(row_ptr, stride_v, bitmask, row, token, token < vocab)
    if known:
        some = _has_allowed(allowed, request, vocab, LIST)
        if PENALISED:
            x = _penalise(x, token, token < vocab, request, penalties, seen)
        x = tl.where(some, float("-inf"), x)
    tl.store(out_ptr + token, x, mask=token < vocab)
    if known:
        if allowed[0] is not None:
            tl.debug_barrier()
            for start in range(0, allowed[1], LIST):
                id, here = _ids(allowed, request, start, first, vocab, TILE, LIST)
                y = _read(row_ptr, stride_v, bitmask, row, id, here)
                if PENALISED:
                    y = _penalise(y, id, here, request, penalties, seen)
                tl.store(out_ptr + id, y, mask=here)
        if bias[0] is not None:
            tl.debug_barrier()
            for start in range(0, bias[1], LIST):
                id, here = _ids(bias, request, start, first, vocab, TILE, LIST)
                at = request * bias[1] + start + tl.arange(0, LIST)
                y = _read(row_ptr, stride_v, bitmask, row, id, here)
                y += tl.load(bias[2] + at, mask=here, other=0.0)
                if PENALISED:
                    y = _penalise(y, id, here, request, penalties, seen)
                possible = tl.load(out_ptr + id, mask=here, other=0.0) > float("-inf")
                tl.store(out_ptr + id, y, mask=here & possible)
        if bad_words[0] is not None:
            tl.debug_barrier()
            for start in range(0, bad_words[1], LIST):
                id, here = _banned(
                    bad_words, latest, request, row, start, first, vocab, LONGEST, TILE, LIST
                )
                tl.store(out_ptr + id, float("-inf") + id.to(tl.float32) * 0.0, mask=here)


@triton.jit
def _read(row_ptr, stride, bitmask, row, id, there):
    """Logits as the law reads them, -inf where the grammar forbids."""
    x = read_logit(load_logits(row_ptr + id.to(tl.int64) * stride, there))
    x = tl.where(x == 0.0, 0.0, x)  # -0.0
    if bitmask[0] is not None:
        x = tl.where(_bit(bitmask[0] + row * bitmask[1], id, there), x, float("-inf"))
    return x


@triton.jit
def _bit(words_ptr, id, there):
    """Whether bit id % 32 of word id // 32 is set."""
    word = tl.load(words_ptr + id // 32, mask=there, other=0)
    return ((word >> (id % 32)) & 1) != 0


@triton.jit
def _has_allowed(allowed, request, vocab, LIST: tl.constexpr):
    """Whether the request has a list of the tokens that it may generate."""
    found = tl.full([], 0, tl.int32)
    if allowed[0] is not None:
        for start in range(0, allowed[1], LIST):
            place = start + tl.arange(0, LIST)
            id = tl.load(
                allowed[0] + request * allowed[1] + place, mask=place < allowed[1], other=-1
            )
            found += tl.sum(((id >= 0) & (id < vocab)).to(tl.int32))
    return found > 0


@triton.jit
def _ids(listed, request, start, first, vocab, TILE: tl.constexpr, LIST: tl.constexpr):
    """(ids, whether they are tokens of this tile) [LIST] of a request's list from ``start`` on."""
    place = start + tl.arange(0, LIST)
    id = tl.load(listed[0] + request * listed[1] + place, mask=place < listed[1], other=-1)
    here = (id >= first) & (id < first + TILE) & (id < vocab)
    return tl.where(here, id, first).to(tl.int32), here


@triton.jit
def _penalise(x, id, there, request, penalties, seen):
    """The logits of tokens after the request's penalties."""
    repetition = tl.full([], 1.0, tl.float32)
    frequency = tl.full([], 0.0, tl.float32)
    presence = tl.full([], 0.0, tl.float32)
    if penalties[0] is not None:
        repetition = tl.load(penalties[0] + request)
        repetition = tl.where(repetition > 0.0, repetition, 1.0)
    if penalties[1] is not None:
        frequency = tl.load(penalties[1] + request)
    if penalties[2] is not None:
        presence = tl.load(penalties[2] + request)
    # Most requests have none, and their counts are twice what their logits are.
    asked = (repetition != 1.0) | (frequency != 0.0) | (presence != 0.0)
    there = there & (id < tl.where(asked, 2147483647, 0))
    count = tl.zeros_like(x)
    if seen[0] is not None:
        count = tl.load(seen[0] + request * seen[1] + id, mask=there, other=0)
        count = count.to(tl.float32)
    known = count > 0.0
    if seen[2] is not None:
        known = known | _bit(seen[2] + request * seen[3], id, there)
    inverse = tl.div_rn(1.0, repetition)
    x = tl.where(known, x * tl.where(x > 0.0, inverse, repetition), x)
    x = x - frequency * count
    return x - tl.where(count > 0.0, presence, 0.0)


@triton.jit
def _banned(
    bad_words, latest, request, row, start, first, vocab,
    LONGEST: tl.constexpr, TILE: tl.constexpr, LIST: tl.constexpr,
):  # fmt: skip
    """(last tokens, whether they are tokens of this tile that would complete a bad word) [LIST] of
    a request's bad words from ``start`` on."""
    word = start + tl.arange(0, LIST)
    there = word < bad_words[1]
    at = bad_words[0] + (request * bad_words[1] + word) * LONGEST
    matches = there
    for back in tl.static_range(1, LONGEST):
        want = tl.load(at + LONGEST - 1 - back, mask=there, other=-1)
        have = tl.load(latest[0] + row * latest[1] + latest[1] - back)
        matches = matches & ((want < 0) | (want == have))
    id = tl.load(at + LONGEST - 1, mask=there, other=-1)
    here = matches & (id >= first) & (id < first + TILE) & (id < vocab)
    return tl.where(here, id, first).to(tl.int32), here
