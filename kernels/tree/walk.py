"""``verify_tree`` on a GPU: one streaming pass for max and sum of every chunk of every node's row,
then one program a request walks its tree, and reads again only the chunks that it draws from.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._chunk_stats import best_of_row, load_stats, pick_chunk, stream_stats
from .._device import (
    LOG2E,
    is_kept,
    load_logits,
    pick,
    read_cut,
    read_logit,
    read_temperature,
    uniforms,
    wait_for_another,
)
from .._hardware import after_another
from .._launch import Launcher, cdiv
from .._random import ACCEPT as _ACCEPT
from .._random import RECOVER as _RECOVER
from .._tile_arithmetic import mass
from .._tile_loads import chunks_per_program, streaming
from ..verify.request import at_column, contiguous, store_step
from ..verify.residual import read_tile
from ..verify.strategy import Strategy
from .inputs import TreeInputs

ACCEPT = tl.constexpr(_ACCEPT)
RECOVER = tl.constexpr(_RECOVER)
WALK_WARPS = 4


def verify_tree_triton(
    given: TreeInputs,
    *,
    chunk: int,
    launch: Launcher | None = None,
    out: tuple[torch.Tensor, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(accept_tokens, accept_index, accept_num), in ``out`` if that is given; see
    ``kernels.tree.verify_tree``."""
    launch = launch or Launcher()
    batch, nodes = given.draft_tokens.shape
    device = given.draft_tokens.device
    tokens, index, count = out or (
        launch.empty(batch, given.most_tokens, dtype=torch.int64, device=device),
        launch.empty(batch, given.most_tokens, dtype=torch.int64, device=device),
        launch.empty(batch, dtype=torch.int32, device=device),
    )
    if batch == 0:
        return tokens, index, count
    vocab = given.target_logits.shape[2]
    chunks = cdiv(vocab, chunk)
    partial = launch.empty(batch, nodes, chunks, 2, dtype=torch.float32, device=device)
    per_program = chunks_per_program(batch * nodes, chunks, most=3)
    tree, target, warm = _tree_of(given), _target_of(given), _warm(given)
    launch(
        _tree_stats_kernel, batch * nodes * cdiv(chunks, per_program),
        (tree, target, warm, partial, chunks, per_program),
        lambda: {
            "CHUNK": chunk, **streaming(given.target_logits, cut=target[5] is not None),
            **after_another(),
        },
    )  # fmt: skip
    step_idx = given.step_idx.contiguous()
    # A greedy walk reads no seed, but its branch is compiled all the same.
    seeds = step_idx if given.seeds is None else given.seeds.contiguous()
    emit = (
        given.max_dec_len.contiguous(), given.end_tokens.contiguous(), given.end_tokens.shape[0],
        tokens, count,
    )  # fmt: skip
    launch(
        _walk_kernel, batch,
        (tree, target, warm, partial, chunks, seeds, step_idx, emit, index),
        lambda: {
            "MATCH": given.strategy != Strategy.REJECTION, "WIDTH": given.most_tokens,
            "COLUMNS": triton.next_power_of_2(given.most_tokens),
            "NODES": triton.next_power_of_2(nodes), "CHUNK": chunk,
            "CHUNKS": triton.next_power_of_2(chunks), "num_warps": WALK_WARPS, **after_another(),
        },
    )  # fmt: skip
    return tokens, index, count


def _tree_of(given: TreeInputs) -> tuple[object, ...]:
    """(tokens [B, N] and its strides, parents [B, N] and its strides, N, stopped [B])."""
    return (
        given.draft_tokens, *given.draft_tokens.stride(),
        given.parents, *given.parents.stride(),
        given.draft_tokens.shape[1], contiguous(given.stop_flags),
    )  # fmt: skip


def _target_of(given: TreeInputs) -> tuple[object, ...]:
    """(logits [B, N, V] and its strides, V, cut_logit [B, N], cut_id [B, N])."""
    logits = given.target_logits
    return (
        logits, *logits.stride(), logits.shape[2],
        contiguous(given.target_cut_logit), contiguous(given.target_cut_id),
    )  # fmt: skip


def _warm(given: TreeInputs) -> torch.Tensor | None:
    """The temperatures, None where every request is greedy."""
    return None if given.strategy == Strategy.GREEDY else contiguous(given.temperature)


@triton.jit
def _temperature_of(warm_ptr, b):
    temperature = 0.0
    if warm_ptr is not None:
        temperature = read_temperature(tl.load(warm_ptr + b))
    return temperature


@triton.jit
def _takes_part(tree, b):
    """1 for a request that is not stopped."""
    part = tl.full([], 1, tl.int32)
    if tree[7] is not None:
        part = tl.where(tl.load(tree[7] + b) != 0, 0, part)
    return part


@triton.jit
def _read_nodes(tree, b, node, vocab):
    """(token, parent, whether it is a draft that comes after its parent) of nodes of a request."""
    inside = node < tree[6]
    at = node.to(tl.int64)
    token = tl.load(tree[0] + b * tree[1] + at * tree[2], mask=inside, other=-1)
    parent = tl.load(tree[3] + b * tree[4] + at * tree[5], mask=inside, other=-1)
    known = (token >= 0) & (token < vocab)
    return token, parent, known & (parent >= 0) & (parent < at)


@triton.jit
def _row_of(target, b, node, nodes):
    """(pointer, stride, V, cut_logit, cut_id) of the target's row after a node."""
    at = node.to(tl.int64)
    cut_logit, cut_id = read_cut(target[5], target[6], b * nodes + at, True)
    return target[0] + b * target[1] + at * target[2], target[3], target[4], cut_logit, cut_id


@triton.jit(do_not_specialize=["chunks", "per_program"])
def _tree_stats_kernel(
    tree, target, warm_ptr,
    partial_ptr,  # out float32 [B, N, chunks, 2]
    chunks, per_program,
    CHUNK: tl.constexpr, PACKED: tl.constexpr, ANYWHERE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    program = tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    first = (program % programs) * per_program
    row = (program // programs).to(tl.int64)
    nodes = tree[6]
    b = row // nodes
    node = row % nodes
    _token, _parent, there = _read_nodes(tree, b, node, target[4])
    if (there | (node == 0)) & (_takes_part(tree, b) > 0):
        row_ptr, stride, vocab, cut_logit, cut_id = _row_of(target, b, node, nodes)
        stream_stats(
            row_ptr, stride, vocab, cut_logit, cut_id, _temperature_of(warm_ptr, b), first,
            tl.minimum(first + per_program, chunks), partial_ptr + row * chunks * 2,
            target[5] is not None, CHUNK, PACKED, ANYWHERE,
        )  # fmt: skip


@triton.jit(do_not_specialize=["chunks"])
def _walk_kernel(
    tree, target, warm_ptr, partial_ptr, chunks, seed_ptr, step_idx_ptr, emit,
    index_ptr,  # out int64 [B, WIDTH]
    MATCH: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr, NODES: tl.constexpr,
    CHUNK: tl.constexpr, CHUNKS: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    nodes = tree[6]
    place = tl.arange(0, NODES)
    tokens, parent, there = _read_nodes(tree, b, place, target[4])
    twin = (parent[:, None] == parent[None, :]) & (tokens[:, None] == tokens[None, :])
    twin = twin & there[None, :] & (place[None, :] < place[:, None])
    again = tl.max(twin.to(tl.int32), axis=1) > 0
    temperature = _temperature_of(warm_ptr, b)
    seed = tl.load(seed_ptr + b)
    step_idx = tl.load(step_idx_ptr + b)
    part = _takes_part(tree, b)
    wait_for_another(PDL)
    column = tl.arange(0, COLUMNS)
    drafts = tl.full([COLUMNS], -1, tl.int64)
    path = tl.full([COLUMNS], -1, tl.int64)
    last = tl.full([], -1, tl.int64)
    node = tl.full([], 0, tl.int32)
    accepted = tl.full([], 0, tl.int32)
    walking = part > 0
    for step in range(WIDTH):
        if walking:
            path = tl.where(column == step, node.to(tl.int64), path)
            children = there & (parent == node) & (step + 1 < WIDTH)
            row = _row_of(target, b, node, nodes)
            tops, seconds = load_stats(partial_ptr, b * nodes + node, chunks, CHUNKS)
            top = tl.max(tops)
            child = tl.full([], NODES, tl.int32)
            token = tl.full([], -1, tl.int64)
            if temperature == 0.0:
                token = best_of_row(tops, seconds, top)
                child = _first(children & (tokens == token), NODES)
            else:
                scale = LOG2E / temperature
                chunk_uniform, token_uniform = uniforms(seed, step_idx + step, RECOVER)
                if MATCH:
                    chosen, origin = pick_chunk(tops, seconds, top, scale, chunk_uniform, CHUNKS)
                    x = read_tile(row, target[5] is not None, chosen, chosen + 1, CHUNK)
                    drawn = chosen * CHUNK + pick(mass(x, origin, scale), token_uniform, CHUNK)
                    token = drawn.to(tl.int64)
                    child = _first(children & (tokens == token), NODES)
                else:
                    origin = tl.where(top == float("-inf"), 0.0, top)
                    whole = seconds * tl.exp2((tops - origin) * scale)
                    uniform, _second = uniforms(seed, step_idx + step, ACCEPT)
                    child = _accepted_child(
                        row, target[5] is not None, tokens, children & ~again, origin, scale,
                        tl.sum(whole), uniform, NODES,
                    )  # fmt: skip
                    if child == NODES:
                        token = _draw_past(
                            row, target[5] is not None, tokens, children, whole, origin, scale,
                            chunk_uniform, token_uniform, NODES, CHUNK, CHUNKS,
                        )  # fmt: skip
            goes_on = child < NODES
            drafts = tl.where(goes_on & (column == step), at_column(tokens, child, NODES), drafts)
            accepted += goes_on.to(tl.int32)
            last = tl.where(goes_on, last, token)
            node = tl.where(goes_on, child, node)
            walking = goes_on
    count = store_step(emit, b, part, step_idx, drafts, accepted, last, WIDTH, COLUMNS)
    path = tl.where(column < count, path, -1)
    tl.store(index_ptr + b * WIDTH + column, path, mask=column < WIDTH)


@triton.jit
def _first(good, NODES: tl.constexpr):
    """The first node that holds, ``NODES`` if none does: int32."""
    return tl.min(tl.where(good, tl.arange(0, NODES), NODES))


@triton.jit
def _accepted_child(
    row, HAS_CUT: tl.constexpr, tokens, children, origin, scale, total, uniform,
    NODES: tl.constexpr,
):  # fmt: skip
    """The first child that stands: where the sum of its mass and its elder siblings' passes the
    uniform, which is the same as to try one after the other against what is left."""
    x = read_logit(load_logits(row[0] + tokens * row[1], children))
    if HAS_CUT:
        x = tl.where(is_kept(x, tokens, row[3], row[4]), x, float("-inf"))
    p = tl.where(children, mass(x, origin, scale), 0.0)
    until = tl.cumsum(p, 0)
    return _first((p > 0.0) & (uniform * total < until), NODES)


@triton.jit
def _draw_past(
    row, HAS_CUT: tl.constexpr, tokens, children, whole, origin, scale, chunk_uniform,
    token_uniform, NODES: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """A token of the target's row that is none of the children's: int64."""
    part = tl.arange(0, CHUNKS)
    place = tl.arange(0, NODES)
    left = whole
    child = _first(children, NODES)
    while child < NODES:
        # The child's chunk summed anew without children: subtracting would leave rounding behind.
        own = (at_column(tokens, child, NODES) // CHUNK).to(tl.int32)
        x = read_tile(row, HAS_CUT, own, own + 1, CHUNK)
        rest = tl.sum(_without(mass(x, origin, scale), own, tokens, children, NODES, CHUNK))
        left = tl.where(part == own, rest, left)
        child = _first(children & (place > child), NODES)
    # Nothing left means that the target has the children alone: it draws one of them after all.
    some = tl.sum(left) > 0.0
    left = tl.where(some, left, whole)
    chosen = pick(left, chunk_uniform, CHUNKS)
    x = read_tile(row, HAS_CUT, chosen, chosen + 1, CHUNK)
    gone = tl.where(some, tokens, -1)
    p = _without(mass(x, origin, scale), chosen, gone, children, NODES, CHUNK)
    return (chosen * CHUNK + pick(p, token_uniform, CHUNK)).to(tl.int64)


@triton.jit
def _without(p, chunk, tokens, children, NODES: tl.constexpr, CHUNK: tl.constexpr):
    """The mass of a chunk's tokens, 0 for those of children."""
    token = chunk * CHUNK + tl.arange(0, CHUNK)
    place = tl.arange(0, NODES)
    child = _first(children, NODES)
    while child < NODES:
        p = tl.where(token == at_column(tokens, child, NODES), 0.0, p)
        child = _first(children & (place > child), NODES)
    return p
