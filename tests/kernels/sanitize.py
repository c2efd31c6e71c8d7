"""Every op once at odd and at real sizes, for a memory checker: ``compute-sanitizer --tool memcheck
python -m tests.kernels.sanitize [PART...]``, and the same with ``racecheck``. Each part ends with a
line. Run it without a checker first, which compiles.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module

import torch

from kernels import OPS
from kernels.accept import accept
from kernels.logprobs import logprobs
from kernels.sampling import (
    Adjustments,
    adjust_logits,
    expand_sampling_params,
    sample,
    top_k_top_p_cut,
    top_k_top_p_sample,
    top_p_candidates,
)
from kernels.verify import CHUNK
from kernels.verify.strategy import Strategy
from kernels.verify.triton import verify_triton
from tests.kernels.verify_cases import Case, make_inputs


def trusted_cases(op: str) -> None:
    """The cases that ``specbot kernels run`` judges an op by."""
    for case in import_module(f"kernels.cases.{op}").CASES:
        case.call(case.build(torch.device("cuda")))


def score_and_sample() -> None:
    """accept, logprobs and sampling over three rows, one of them all ties."""
    for vocab in (151_936, 50_257, 33):
        for dtype in (torch.bfloat16, torch.float32):
            _score_and_sample(vocab, dtype)
    two = torch.ones(2, device="cuda")
    expand_sampling_params(
        torch.tensor([0, 3, 5], device="cuda"), 7, two.long(), two, two.long(), two, 24
    )


def _score_and_sample(vocab: int, dtype: torch.dtype) -> None:
    logits = torch.randn(3, vocab, device="cuda").to(dtype)
    logits[1] = 0
    tokens, ids = torch.tensor([0, vocab - 1, -1], device="cuda"), torch.arange(3, device="cuda")
    warm, top_p = torch.full((3,), 0.8, device="cuda"), torch.tensor([0.9, 1.0, 0.5], device="cuda")
    for k in (0, min(vocab, 20), min(vocab, 64)):
        logprobs(logits, tokens, k)
    k = torch.tensor([0, 20, 900], device="cuda")
    cut = top_k_top_p_cut(logits, warm, k, top_p)
    for limits in ((k, top_p), (k, None), (None, top_p), (None, None)):
        top_k_top_p_sample(logits, ids, ids, warm, *limits)
    sample(logits, ids, ids, warm)
    sample(logits, ids, ids, warm, cut=cut)
    top_k_top_p_sample(logits, ids, ids, warm, k, top_p, warm * 0.1)
    listed = torch.tensor([[0, vocab - 1, vocab, -1]] * 3, device="cuda")
    words = torch.full((3, -(-vocab // 32)), -2, dtype=torch.int32, device="cuda")
    counts = torch.ones(3, vocab, dtype=torch.uint8, device="cuda")
    adjust_logits(
        logits,
        Adjustments(
            requests=torch.tensor([2, -1, 3], device="cuda"), bitmask=words, allowed_ids=listed,
            bias_ids=listed, bias=listed.float(), presence_penalty=warm, output_counts=counts,
            prompt_mask=words, bad_words=listed[..., None].expand(3, 4, 2), latest=listed[:, :1],
        ),
    )  # fmt: skip
    logprobs(logits, tokens, 5, temperature=warm, cut_logit=cut[0], cut_id=cut[1])
    top_p_candidates(logits, warm, top_p, 5)
    num = torch.tensor([1, 0], dtype=torch.int32, device="cuda")
    cu = torch.tensor([0, 2, 3], dtype=torch.int32, device="cuda")
    accept(torch.zeros(2, 2, dtype=torch.int64, device="cuda"), num, cu, num * 0, logits=logits)


def verify_all(strategy: Strategy) -> None:
    """One strategy, with and without a cut, and where it takes one with drafts of another
    vocabulary."""
    dense = strategy in (Strategy.REJECTION, Strategy.BLOCK)
    sizes = [(100, 16), (96, 16)] + ([] if strategy == Strategy.TOPP else [(151_936, CHUNK)])
    for vocab, chunk in sizes:
        for draft_vocab in (None, vocab, vocab - 5) if dense else (None,):
            for cut in (False, True):
                case = Case(
                    strategy, 4, 4, vocab, draft_vocab, torch.bfloat16, "normal", None, cut, True, False, chunk,
                    7 + vocab,
                )  # fmt: skip
                verify_triton(make_inputs(case), chunk=chunk)


PARTS: dict[str, Callable[[], None]] = {
    **{op: partial(trusted_cases, op) for op in OPS},
    "sizes": score_and_sample,
    **{strategy.name: partial(verify_all, strategy) for strategy in Strategy},
}


def main(names: list[str]) -> None:
    """Prints a line after each part, so that a report can be told from its neighbours."""
    for name in names or list(PARTS):
        PARTS[name]()
        torch.cuda.synchronize()
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
