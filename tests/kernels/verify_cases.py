"""Cases of ``verify`` that the property, mutation and GPU tests share."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from hypothesis import strategies as st

from kernels.verify.reference import Inputs, verify_reference
from kernels.verify.strategy import Strategy
from tests.kernels.logits import make_logits
from tests.kernels.properties import DEVICE, for_the_law

DTYPES = [torch.bfloat16, torch.float16, torch.float32]
# What a kernel is compiled for varies less on a GPU, where each variant costs a second of compiling.
GPU = DEVICE == "cuda"


@dataclass(frozen=True)
class Case:
    strategy: Strategy
    batch: int
    width: int
    vocab: int
    draft_vocab: int | None  # None: one-hot drafts
    dtype: torch.dtype
    values: str
    temperature: float | None  # None: mixed, greedy requests among them
    cut: bool
    flags: bool
    strided: bool
    chunk: int
    seed: int


@st.composite
def cases(draw: st.DrawFn, batch: int = 4, strategies: tuple[Strategy, ...] = tuple(Strategy)) -> Case:
    strategy = draw(st.sampled_from(strategies))
    vocab = draw(st.sampled_from([31, 96, 100] if GPU else [2, 8, 16, 31, 33, 100]))
    dense = strategy in (Strategy.REJECTION, Strategy.BLOCK) and draw(st.booleans())
    return Case(
        strategy=strategy,
        batch=draw(st.integers(1, batch)),
        width=draw(st.sampled_from([2, 4]) if GPU else st.integers(1, 6)),
        vocab=vocab,
        draft_vocab=max(1, vocab + draw(st.sampled_from([0, 0, 0, -5, 6]))) if dense else None,
        dtype=draw(st.sampled_from(DTYPES[::2] if GPU else DTYPES)),
        values=draw(st.sampled_from(["normal", "flat", "ties", "few finite", "specials", "nan"])),
        temperature=draw(st.sampled_from([None, 0.0, 0.6, 1.0])),
        cut=draw(st.booleans()),
        flags=draw(st.booleans()),
        strided=draw(st.booleans()),
        chunk=16 if GPU else draw(st.sampled_from([16, 64])),
        seed=draw(st.integers(0, 2**31)),
    )


def make_inputs(case: Case) -> Inputs:
    gen = torch.Generator().manual_seed(case.seed)

    def ints(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=gen)

    batch, width, vocab = case.batch, case.width, case.vocab
    n = ints(0, width + 1, batch)
    first = ints(0, 3, 1)
    cu = torch.cat([torch.zeros(1, dtype=torch.int64), n.cumsum(0)]) + first
    rows = int(cu[-1]) + 1
    target = _logits(case, (rows, vocab), gen)
    draft = _logits(case, (batch, width - 1, case.draft_vocab), gen) if case.draft_vocab else None
    ids = _draft_ids(case, target, draft, cu, gen)
    scales = torch.tensor([0.0, 0.6, 1.0, 1.7])
    temperature = scales[ints(0, 4, batch)]
    if case.temperature is not None:
        temperature = torch.full((batch,), case.temperature)
    step_idx = ints(0, 50, batch)
    flags = case.flags
    topp = case.strategy == Strategy.TOPP
    columns = min(vocab, int(ints(1, 6, 1)))
    candidates = torch.stack([torch.randperm(vocab, generator=gen)[:columns] for _ in range(rows)])
    if topp and width > 1:
        # Drafts that are the best or the second best, so that the window is ever looked at.
        row = (cu[:-1, None] + torch.arange(width - 1)).clamp(max=rows - 1)
        place = (ints(0, 4, batch, width - 1) == 0).long().clamp(max=columns - 1)
        likely = torch.rand(batch, width - 1, generator=gen) < 0.9
        ids[:, 1:] = torch.where(likely, candidates[row, place], ids[:, 1:])
    scores = torch.rand(rows, columns, generator=gen).sort(dim=1, descending=True).values / columns
    made = Inputs(
        step_input_ids=ids,
        seq_lens_this_time=n.int(),
        cu_seqlens_q_output=cu.int() if case.seed % 2 else cu,
        step_idx=step_idx,
        max_dec_len=step_idx + (ints(0, width + 2, batch) if flags else 99),
        end_tokens=ints(0, vocab, int(ints(0, 3, 1))) if flags else torch.zeros(0, dtype=torch.int64),
        seeds=ints(-(2**62), 2**62, batch),
        target_logits=None if topp else target,
        draft_logits=draft,
        temperature=temperature,
        target_cut_logit=_cut(target, gen)[0] if case.cut and not topp else None,
        target_cut_id=None,
        draft_cut_logit=None,
        draft_cut_id=None,
        candidate_ids=candidates,
        candidate_scores=scores,
        candidate_lens=ints(0, columns + 2, rows).int(),
        top_p=torch.rand(batch, generator=gen),
        seq_lens_encoder=(ints(0, 4, batch) == 0).int() * 7 if flags else None,
        stop_flags=ints(0, 5, batch) == 0 if flags else None,
        is_block_step=ints(0, 5, batch) == 0 if flags else None,
        reasoning_status=ints(0, 3, batch).int() if flags else None,
        strategy=case.strategy,
        verify_window=int(ints(1, 4, 1)),
        reject_all=flags and case.seed % 11 == 0 and not GPU,
        accept_all=flags and case.seed % 11 == 1 and not GPU,
    )
    if made.target_cut_logit is not None:
        logit, token = _cut(target, gen)
        made = replace(made, target_cut_logit=logit, target_cut_id=token)
        if draft is not None and width > 1:
            logit, token = _cut(draft.flatten(0, 1), gen)
            shape = (batch, width - 1)
            made = replace(made, draft_cut_logit=logit.view(shape), draft_cut_id=token.view(shape))
    return to_device(made)


def _logits(case: Case, shape: tuple[int, ...], gen: torch.Generator) -> torch.Tensor:
    wide = (*shape[:-1], shape[-1] + 3) if case.strided else shape
    flat = (int(torch.tensor(wide[:-1]).prod()), wide[-1])
    if case.values == "flat":
        values = torch.randn(flat, generator=gen) * 0.3
    elif case.values == "nan":
        values = make_logits("normal", flat, gen)
        values[torch.rand(flat[0], generator=gen) < 0.3] = float("nan")
    else:
        values = make_logits(case.values, flat, gen)
    return values.view(wide).to(case.dtype).to(DEVICE)[..., : shape[-1]]


def _draft_ids(
    case: Case, target: torch.Tensor, draft: torch.Tensor | None, cu: torch.Tensor, gen: torch.Generator
) -> torch.Tensor:
    """Drafts of every kind: the target's best, a likely token, anything, and ids that are no token."""
    batch, width = case.batch, case.width
    rows = (cu[:-1, None] + torch.arange(width)).clamp(max=target.shape[0] - 1)
    best = target.cpu().float().nan_to_num(-1e30).argmax(dim=1)[rows]
    anything = torch.randint(-1, case.vocab + 2, (batch, width), generator=gen)
    kind = torch.rand(batch, width, generator=gen)
    ids = torch.where(kind < 0.4, best, anything.clamp(0, case.vocab - 1))
    ids = torch.where(kind > 0.95, anything, ids)
    ids = torch.cat([torch.zeros(batch, 1, dtype=torch.int64), ids[:, : width - 1]], dim=1)
    return torch.cat([ids, ids], dim=1)[:, :width] if case.strided else ids


def _cut(logits: torch.Tensor, gen: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    token = torch.randint(0, logits.shape[1], (logits.shape[0],), generator=gen).to(logits.device)
    return logits.float().nan_to_num(float("-inf"), 3e38).gather(1, token[:, None])[:, 0], token


def to_device(given: Inputs) -> Inputs:
    moved = {
        name: value.to(DEVICE)
        for name, value in vars(given).items()
        if isinstance(value, torch.Tensor) and value.device.type != DEVICE
    }
    return replace(given, **moved)


MARGIN = 1e-5


def check(case: Case) -> None:
    """Equal to the law wherever no decision was closer than float32 can tell."""
    compare(make_inputs(case), case.chunk)


def compare(given: Inputs, chunk: int) -> None:
    from kernels.verify.triton import verify_triton

    tokens, count, margin = (part.cpu() for part in verify_reference(for_the_law(given), chunk=chunk))
    got_tokens, got_count = (part.cpu() for part in verify_triton(given, chunk=chunk))
    assert got_tokens.dtype == torch.int64 and got_count.dtype == torch.int32
    sure = margin > MARGIN
    wrong = ((got_tokens != tokens).any(dim=1) | (got_count != count)) & sure
    assert not wrong.any(), (
        f"request {int(wrong.nonzero()[0])}: {got_tokens[wrong][0].tolist()}, {int(got_count[wrong][0])} tokens; "
        f"expected {tokens[wrong][0].tolist()}, {int(count[wrong][0])}, margin {float(margin[wrong][0])}"
    )
    check_promises(given, got_tokens, got_count)


def check_promises(given: Inputs, tokens: torch.Tensor, count: torch.Tensor) -> None:
    """What holds however close a decision was."""
    column = torch.arange(tokens.shape[1], device=tokens.device)
    valid = column < count[:, None]
    assert (tokens[~valid] == -1).all()
    if given.target_logits is not None:
        assert (tokens[valid] >= 0).all() and (tokens[valid] < given.target_logits.shape[1]).all()
    assert (count <= given.seq_lens_this_time.cpu().clamp(min=0)).all()
