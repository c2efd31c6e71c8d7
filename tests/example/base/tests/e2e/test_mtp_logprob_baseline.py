"""A fixed prompt through the model runner under MTP: its logprobs must be the stored ones.

Regenerate tests/e2e/baselines/mtp_top_logprobs.json with LANTERN_RECORD=1 when they should change.
"""

import sys
from pathlib import Path

import numpy as np

from lantern.config import EngineConfig, SpecMethod, SpeculativeConfig
from lantern.request import Request, SamplingParams
from lantern.worker.gpu_model_runner import GPUModelRunner

sys.path.insert(0, str(Path(__file__).parent))
from baseline import load_or_record

VOCAB = 32


def toy_logits(context):
    """A model small enough to be exact everywhere: quarters, from the last two tokens."""
    last, before = context[-1], context[-2]
    ids = np.arange(VOCAB)
    return ((ids * (7 * last + 3) + 5 * before) % 41).astype("float64") / 4.0


def generate(steps, drafts_per_step=2):
    """Top logprobs of each generated token, as [[id, logprob], ...] with the token's own first."""
    cfg = EngineConfig(
        vocab_size=VOCAB,
        max_num_seqs=1,
        enable_logprob=True,
        speculative=SpeculativeConfig(method=SpecMethod.MTP),
    )
    runner = GPUModelRunner(cfg)
    request = Request("baseline", [3, 1, 4, 1, 5], SamplingParams(logprobs=2))
    rows = []
    for _ in range(steps):
        context = [*request.prompt_token_ids, *request.output_token_ids]
        drafts, logits = [], [toy_logits(context)]
        for _ in range(drafts_per_step):
            drafts.append(int(logits[-1].argmax()))
            logits.append(toy_logits([*context, *drafts]))
        drafts[-1] = (drafts[-1] + 1) % VOCAB  # the head is wrong about the last one
        out = runner.execute(np.stack(logits), [request], [drafts])
        count = int(out.accept_num[0])
        request.output_token_ids.extend(out.accept_tokens[0, :count].tolist())
        for ids, scores in zip(out.logprobs.token_ids, out.logprobs.scores, strict=True):
            pairs = zip(ids.tolist(), scores.tolist(), strict=True)
            rows.append([[token, round(score, 5)] for token, score in pairs])
    return rows


def test_mtp_top_logprobs_match_baseline():
    rows = generate(steps=4)
    assert rows == generate(steps=4), "two runs differ"
    assert rows == load_or_record("mtp_top_logprobs", rows), "logprobs differ from the baseline"
