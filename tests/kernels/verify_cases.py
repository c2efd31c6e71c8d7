"""Cases of ``verify`` that the property, mutation and GPU tests share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from random import Random

import torch
from hypothesis.strategies import SearchStrategy

from kernels.verify.inputs import VerifyInputs
from kernels.verify.reference import verify_reference
from kernels.verify.strategy import Strategy
from tests.kernels.logits import DTYPES, make_logits
from tests.kernels.properties import DEVICE, examples, for_the_law
from tests.kernels.strategies import coin, independent, integers, mostly

# What a kernel is compiled for varies less on a GPU, where each variant costs seconds of compiling.
GPU = DEVICE == "cuda"
KINDS = 32 + examples() // 80


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
    slots: bool = False  # the draft's logits lie in a buffer of other requests too
    bonus: bool = False  # the token after all drafts is given


# (batch, width) and (vocabulary, chunk) for the interpreter, whose time is that of requests x
# columns x chunks: most cases are small in both, and few are large in one.
FEW = [(1, 1), (1, 3), (1, 4), (2, 2), (2, 3), (3, 2)]
SHORT = [(2, 16), (8, 16), (16, 16), (31, 16), (33, 16), (33, 64), (100, 64)]
LONG = [(65, 16), (100, 16)]


def cases(
    batch: int = 4, strategies: tuple[Strategy, ...] = tuple(Strategy)
) -> SearchStrategy[Case]:
    return independent(lambda rng: draw(rng, batch, strategies))


def draw(rng: Random, batch: int, strategies: tuple[Strategy, ...]) -> Case:
    # On a GPU all that a kernel is compiled for comes from the case's kind.
    kind = Random(rng.randrange(KINDS)) if GPU else rng
    strategy = kind.choice(strategies)
    if GPU:
        sizes, (vocab, chunk) = (
            (rng.randint(1, batch), kind.choice([2, 4])),
            (kind.choice([31, 96, 100]), 16),
        )
    else:
        sizes = mostly(rng, FEW, list(product(range(1, batch + 1), range(1, 7))))
        vocab, chunk = mostly(rng, SHORT, LONG)
    dense = strategy in (Strategy.REJECTION, Strategy.BLOCK) and coin(kind)
    return Case(
        strategy=strategy,
        batch=sizes[0],
        width=sizes[1],
        vocab=vocab,
        draft_vocab=max(1, vocab + kind.choice([0, 0, 0, -5, 6])) if dense else None,
        dtype=kind.choice(DTYPES[::2] if GPU else DTYPES),
        values=rng.choice(["normal", "flat", "flat", "ties", "few finite", "specials", "nan"]),
        temperature=rng.choice([None, None, 0.0, 0.6, 0.6, 1.0]),
        cut=coin(kind),
        flags=coin(kind),
        strided=coin(kind),
        chunk=chunk,
        # odd: the offsets are int32
        seed=2 * rng.getrandbits(30) + kind.getrandbits(1) if GPU else rng.getrandbits(31),
        slots=coin(kind),
        bonus=coin(kind) and strategy != Strategy.TOPP,
    )


def make_inputs(case: Case) -> VerifyInputs:
    gen = torch.Generator().manual_seed(case.seed)
    ints = integers(gen)
    batch, width, vocab = case.batch, case.width, case.vocab
    n = torch.where(torch.rand(batch, generator=gen) < 0.7, width, ints(0, width + 1, batch))
    first = ints(0, 3, 1)
    of_target = (n - 1).clamp(min=0) if case.bonus else n
    cu = torch.cat([torch.zeros(1, dtype=torch.int64), of_target.cumsum(0)]) + first
    rows = int(cu[-1]) + 1
    target = _logits(case, (rows, vocab), gen)
    draft = _logits(case, (batch, width - 1, case.draft_vocab), gen) if case.draft_vocab else None
    ids = _draft_ids(case, target, draft, cu, gen)
    scales = torch.tensor([0.0, 0.6, 1.0, 1.7])
    temperature = scales[ints(0, 4, batch)]
    if case.temperature is not None:
        temperature = torch.full((batch,), case.temperature)
    step_idx = ints(0, 50, batch)
    room = torch.where(
        ints(0, 3, batch) == 0, ints(0, width + 2, batch), 99
    )  # for tokens, until max_dec_len
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
    ends = 0
    if flags:
        ends = (vocab + width) % 3 if GPU else int(ints(0, 3, 1))
    made = VerifyInputs(
        step_input_ids=ids,
        seq_lens_this_time=n.int(),
        cu_seqlens_q_output=cu.int() if case.seed % 2 else cu,
        step_idx=step_idx,
        max_dec_len=step_idx + (room if flags else 99),
        end_tokens=ints(0, vocab, ends),
        seeds=ints(-(2**62), 2**62, batch),
        target_logits=None if topp else target,
        draft_logits=draft,
        bonus_token_ids=ints(0, vocab, batch) if case.bonus else None,
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
        stop_flags=ints(0, 9, batch) == 0 if flags else None,
        is_block_step=ints(0, 9, batch) == 0 if flags else None,
        reasoning_status=ints(0, 3, batch).int() if flags else None,
        strategy=case.strategy,
        verify_window=int(ints(0, 4, 1)),
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
    if case.slots and draft is not None:
        made = in_slots(made, gen)
    return to_device(made)


def in_slots(given: VerifyInputs, gen: torch.Generator) -> VerifyInputs:
    """The draft's logits among those of three other requests, which are NaN. One slot of eight is
    none that there is."""
    draft = given.draft_logits
    batch = draft.shape[0]
    slots = torch.randperm(batch + 3, generator=gen)[:batch]
    buffer = draft.new_full((batch + 3, *draft.shape[1:]), float("nan"))
    buffer[slots] = draft
    nowhere = torch.rand(batch, generator=gen) < 1 / 8
    beyond = torch.where(torch.rand(batch, generator=gen) < 0.5, -1, batch + 3)
    slots = torch.where(nowhere, beyond, slots).to(given.cu_seqlens_q_output.dtype)
    return replace(given, draft_logits=buffer, draft_slots=slots)


def _logits(case: Case, shape: tuple[int, ...], gen: torch.Generator) -> torch.Tensor:
    wide = (*shape[:-1], shape[-1] + 3) if case.strided else shape
    flat = (int(torch.tensor(wide[:-1]).prod()), wide[-1])
    if case.values == "flat":
        values = torch.randn(flat, generator=gen) * 0.3
    elif case.values == "ties":  # at the top above all
        values = torch.randn(flat, generator=gen).round()
    elif case.values == "nan":
        values = make_logits("normal", flat, gen)
        values[torch.rand(flat[0], generator=gen) < 0.3] = float("nan")
    else:
        values = make_logits(case.values, flat, gen)
    return values.view(wide).to(case.dtype).to(DEVICE)[..., : shape[-1]]


def _draft_ids(
    case: Case,
    target: torch.Tensor,
    draft: torch.Tensor | None,
    cu: torch.Tensor,
    gen: torch.Generator,
) -> torch.Tensor:
    """Drafts of every kind: the target's best, a likely token, anything, and ids that are no
    token."""
    batch, width = case.batch, case.width
    rows = (cu[:-1, None] + torch.arange(width)).clamp(max=target.shape[0] - 1)
    best = target.cpu().float().nan_to_num(-1e30).argmax(dim=1)[rows]
    declared = target.cpu()[rows]
    if draft is not None and width > 1:
        declared = torch.cat([draft, draft[:, :1]], dim=1).cpu()
    noise = -torch.empty(declared.shape).exponential_(generator=gen).log()
    likely = (
        (declared.float().nan_to_num(-1e30, 1e30, -1e30) + noise)
        .argmax(dim=2)
        .clamp(max=case.vocab - 1)
    )
    anything = torch.randint(-1, case.vocab + 2, (batch, width), generator=gen)
    kind = torch.rand(batch, width, generator=gen)
    ids = torch.where(kind < 0.4, best, likely)
    ids = torch.where(kind > 0.8, anything.clamp(0, case.vocab - 1), ids)
    ids = torch.where(kind > 0.95, anything, ids)
    ids = torch.cat([torch.zeros(batch, 1, dtype=torch.int64), ids[:, : width - 1]], dim=1)
    return torch.cat([ids, ids], dim=1)[:, :width] if case.strided else ids


def _cut(logits: torch.Tensor, gen: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    token = torch.randint(0, logits.shape[1], (logits.shape[0],), generator=gen).to(logits.device)
    return logits.float().nan_to_num(float("-inf"), 3e38).gather(1, token[:, None])[:, 0], token


def to_device(given: VerifyInputs) -> VerifyInputs:
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


def compare(given: VerifyInputs, chunk: int) -> None:
    from kernels.verify.triton import verify_triton

    tokens, count, margin = (
        part.cpu() for part in verify_reference(for_the_law(given), chunk=chunk)
    )
    got_tokens, got_count = (part.cpu() for part in verify_triton(given, chunk=chunk))
    assert got_tokens.dtype == torch.int64 and got_count.dtype == torch.int32
    sure = margin > MARGIN
    wrong = ((got_tokens != tokens).any(dim=1) | (got_count != count)) & sure
    assert not wrong.any(), (
        f"request {int(wrong.nonzero()[0])}: {got_tokens[wrong][0].tolist()}, {int(got_count[wrong][0])} tokens; "
        f"expected {tokens[wrong][0].tolist()}, {int(count[wrong][0])}, margin {float(margin[wrong][0])}"
    )
    check_promises(given, got_tokens, got_count)


def check_promises(given: VerifyInputs, tokens: torch.Tensor, count: torch.Tensor) -> None:
    """What holds however close a decision was."""
    column = torch.arange(tokens.shape[1], device=tokens.device)
    valid = column < count[:, None]
    assert (tokens[~valid] == -1).all()
    if given.target_logits is not None:
        assert (tokens[valid] >= 0).all() and (tokens[valid] < given.target_logits.shape[1]).all()
    assert (count <= given.seq_lens_this_time.cpu().clamp(min=0)).all()
