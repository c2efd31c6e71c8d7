"""The workloads over logits: what each moves at least, and what else could do it.

Floors count each input once and each output once; what an op re-reads counts against it.
"""

from __future__ import annotations

import torch

from ..accept import accept
from ..cases._case import VOCAB
from ..logprobs import logprobs
from ..sampling import DRAFT, sample
from ..verify import Strategy, VerifyInputs, verify
from .inputs import random_logits
from .selection import selection_workloads
from .small import small_workloads
from .trees import tree_workloads
from .workload import Call, Workload

WIDTH = 4  # the last token and three drafts


def workloads() -> list[Workload]:
    """All of them, in the order of the table."""
    found = []
    for rows, floor, micros in ((32, None, 12.0), (256, 1.33, None), (1024, 1.33, None)):
        found.append(_logprobs(rows, 20, floor, micros, compiled=rows != 1024))
    for rows, floor in ((32, None), (256, 1.25), (1024, None)):
        found.append(_logprobs(rows, 0, floor, None, compiled=False))
    found.append(_verify("rejection, dense draft", 256, 0.7, True, Strategy.REJECTION, 1.5))
    found.append(_verify("rejection, dense draft", 256, 1.0, True, Strategy.REJECTION, None))
    found.append(_verify("rejection, dense draft", 64, 1.0, True, Strategy.REJECTION, 1.7))
    found.append(_verify("rejection, dense draft", 64, 0.7, True, Strategy.REJECTION, None))
    # Rows that are not read as words of two logits at 16 bytes: at most 1.15 times those that are.
    for vocab, dtype in ((VOCAB + 1, torch.bfloat16), (VOCAB, torch.float16)):
        what = f"rejection, dense draft, V={vocab:,}, {str(dtype).removeprefix('torch.')}"
        found.append(
            _verify(what, 64, 1.0, True, Strategy.REJECTION, 1.7 * 1.15, vocab=vocab, dtype=dtype)
        )
    found.append(_verify("rejection, one-hot draft", 256, 0.7, False, Strategy.REJECTION, None))
    found.append(_verify("block verification, dense draft", 256, 0.7, True, Strategy.BLOCK, 1.6))
    found.append(_verify("greedy", 256, 0.0, False, Strategy.GREEDY, None))
    found += [*tree_workloads(), *selection_workloads()]
    return [*found, _accept_copy(64), *small_workloads()]


def _logprobs(
    rows: int, k: int, floor: float | None, micros: float | None, compiled: bool
) -> Workload:
    def build(i: int) -> dict[str, Call]:
        logits = random_logits(rows, VOCAB, seed=i)
        tokens = torch.randint(0, VOCAB, (rows,), device="cuda")
        return {
            "ours": lambda: logprobs(logits, tokens, k),
            "torch": lambda: _torch_logprobs(logits, tokens, k),
        }

    what = f"top-{k} logprobs + rank" if k else "sampled-token logprob + rank"
    size = rows * VOCAB * 2 + rows * (20 + 12 * k)
    return Workload(
        f"{what}, {rows} rows", "logprobs", size, build, floor, micros, compiled=compiled
    )


def _torch_logprobs(logits: torch.Tensor, tokens: torch.Tensor, k: int) -> tuple[torch.Tensor, ...]:
    lp = logits.float().log_softmax(dim=1)
    chosen = lp.gather(1, tokens[:, None])
    rank = (lp >= chosen).sum(dim=1)
    return chosen, rank, *(lp.topk(k, dim=1) if k else ())


def _verify(
    what: str,
    batch: int,
    temperature: float,
    dense: bool,
    strategy: Strategy,
    floor: float | None,
    vocab: int = VOCAB,
    dtype: torch.dtype = torch.bfloat16,
) -> Workload:
    def build(i: int) -> dict[str, Call]:
        given = verify_inputs(batch, strategy, temperature, dense, vocab, dtype, seed=i)
        calls: dict[str, Call] = {"ours": lambda: verify(given)}
        target, draft, ids = given.target_logits, given.draft_logits, given.step_input_ids
        if draft is not None and strategy == Strategy.REJECTION:
            calls["torch"] = lambda: _torch_rejection(target, draft, ids, temperature)
        return calls

    rows = batch * (2 * WIDTH - 1 if dense else WIDTH)
    name = f"{what}, K={WIDTH - 1}, {batch} requests, temperature {temperature:g}"
    return Workload(name, "verify", rows * vocab * dtype.itemsize + batch * 80, build, floor)


def verify_inputs(
    batch: int,
    strategy: Strategy,
    temperature: float = 1.0,
    dense: bool = True,
    vocab: int = VOCAB,
    dtype: torch.dtype = torch.bfloat16,
    seed: int = 0,
) -> VerifyInputs:
    """Drafts that were drawn from logits near the target's, three a request."""
    target = random_logits(batch * WIDTH, vocab, seed=seed).to(dtype)
    near = target.view(batch, WIDTH, vocab)[:, : WIDTH - 1]
    noise = random_logits(batch, WIDTH - 1, vocab, seed=seed + 100).to(dtype)
    draft = (near + 0.5 * noise).contiguous()
    seeds = torch.arange(batch, device="cuda") + 1000 * seed
    step = torch.full((batch,), 17, device="cuda")
    warm = torch.full((batch,), temperature, device="cuda")
    flat = (WIDTH - 1) * batch
    places = (step[:, None] + torch.arange(WIDTH - 1, device="cuda")).flatten()
    drafts = sample(
        draft.view(flat, vocab), seeds.repeat_interleave(WIDTH - 1), places,
        warm.repeat_interleave(WIDTH - 1), stream=DRAFT,
    )  # fmt: skip
    last = torch.zeros(batch, 1, dtype=torch.int64, device="cuda")
    options = {"draft_logits": draft} if dense else {}
    if strategy != Strategy.GREEDY:
        options |= {"temperature": warm, "seeds": seeds}
    return VerifyInputs(
        strategy=strategy,
        step_input_ids=torch.cat([last, drafts.view(batch, -1)], 1),
        seq_lens_this_time=torch.full((batch,), WIDTH, dtype=torch.int32, device="cuda"),
        cu_seqlens_q_output=torch.arange(batch + 1, dtype=torch.int32, device="cuda") * WIDTH,
        step_idx=step,
        max_dec_len=step + 100,
        end_tokens=torch.tensor([vocab - 1], device="cuda"),
        target_logits=target,
        **options,
    )


def _torch_rejection(
    target: torch.Tensor, draft: torch.Tensor, ids: torch.Tensor, temperature: float
) -> torch.Tensor:
    """The textbook version, without stops, flags and seeds: what an engine writes first."""
    batch, width = ids.shape
    p = (target.float() / temperature).softmax(dim=1).view(batch, width, -1)
    q = (draft.float() / temperature).softmax(dim=2)
    x = ids[:, 1:, None]
    ratio = p[:, :-1].gather(2, x) / q.gather(2, x)
    stays = (torch.rand_like(ratio) < ratio)[..., 0]
    accepted = stays.int().cumprod(dim=1).sum(dim=1)
    at = accepted[:, None, None].expand(-1, 1, p.shape[2])
    last_p = p.gather(1, at)[:, 0]
    last_q = q.gather(1, at.clamp(max=width - 2))[:, 0]
    left = torch.where((accepted < width - 1)[:, None], (last_p - last_q).clamp(min=0), last_p)
    return torch.multinomial(left + 1e-20, 1)


def _accept_copy(batch: int) -> Workload:
    width, taken = 4, 3

    def build(i: int) -> dict[str, Call]:
        logits = random_logits(batch * width, VOCAB, seed=i)
        tokens = torch.zeros(batch, width, dtype=torch.int64, device="cuda")
        num = torch.full((batch,), taken, dtype=torch.int32, device="cuda")
        cu = torch.arange(batch + 1, dtype=torch.int32, device="cuda") * width
        encoder = torch.zeros(batch, dtype=torch.int32, device="cuda")
        index = torch.arange(batch * width, device="cuda").view(batch, width)[:, :taken].flatten()
        return {
            "ours": lambda: accept(tokens, num, cu, encoder, logits=logits),
            "torch": lambda: logits[index],
        }

    size = 2 * batch * taken * VOCAB * 2
    return Workload(f"accept with copied logits, {batch} requests", "accept", size, build)
