"""The whole loop: speculation must not change what is said, only how soon.

The oracle is a plain greedy loop that uses no kernel. The wide matrix runs the ops' references on a
CPU (a GPU runs the kernels); a narrow one runs the kernels through the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
import torch
from scipy.stats import chi2

from kernels.decode import Engine, Model, Output, Progress, Request, Settings, Shape, decode
from kernels.sampling import DRAFT, sample
from kernels.verify import Strategy
from tests.kernels.conftest import gpu_only
from tests.kernels.properties import DEVICE

SPECULATING = ("ngram", "suffix", "mtp", "hybrid")


@pytest.fixture
def references(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On a CPU the references answer, which are the law and much faster than interpreted
    kernels."""
    monkeypatch.setattr("kernels._dispatch.interpreting", lambda: False)
    yield


def model(dtype: torch.dtype = torch.float32, seed: int = 1, **shape: float) -> Model:
    return Model(Shape(**shape), seed=seed, dtype=dtype, device=DEVICE)


def requests(lengths: tuple[tuple[int, int], ...], **kwargs: object) -> list[Request]:
    """A prompt and a number of tokens each; every second prompt repeats itself, so that lookups
    find something."""
    gen = torch.Generator().manual_seed(5)
    made = []
    for i, (prompt, tokens) in enumerate(lengths):
        ids = torch.randint(0, 64, (prompt,), generator=gen).tolist()
        ids = (ids[: 1 + prompt // 3] * 4)[:prompt] if i % 2 else ids
        made.append(Request(tuple(ids), tokens, seed=i, **kwargs))
    return made


@cache
def shared_model(dtype: torch.dtype) -> Model:
    """One for all tests, so that the plain text of a request is computed once."""
    return model(dtype)


MIXED = ((5, 12), (17, 9), (1, 14), (8, 1), (3, 7), (11, 10))


def forced(model: Model, text: list[int]) -> torch.Tensor:
    """Logits [len(text), V] of one pass over a whole text: row i is what the model says after token
    i."""
    tokens = torch.tensor(text, device=DEVICE)
    place = torch.arange(len(text), device=DEVICE)
    return model.head(model.forward(tokens, place * 0, place, model.new_cache(1, len(text))))


@cache
def plain_greedy(model: Model, request: Request, settings: Settings) -> list[int]:
    """One token at a time, the whole text again for each; the lowest id of the best."""
    text = list(request.prompt)
    room = min(request.max_tokens, settings.max_model_len - len(text))
    while len(text) < len(request.prompt) + room:
        logits = forced(model, text)[-1]
        text.append(int((logits == logits.max()).nonzero()[0]))
        if text[-1] in settings.end_tokens:
            break
    return text[len(request.prompt) :]


def tokens_per_step(outputs: list[Output]) -> float:
    return sum(len(o.tokens) for o in outputs) / sum(len(o.accept_num) for o in outputs)


@pytest.mark.usefixtures("references")
@pytest.mark.parametrize("drafts", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("proposer", SPECULATING)
def test_greedy_text_is_the_plain_one(proposer: str, drafts: int) -> None:
    """Overlap on and off, one rank and two, more requests than slots, prompts whole and in chunks,
    ends by EOS."""
    given = requests(MIXED)
    for overlap, ranks, dtype in ((False, 1, torch.float32), (True, 2, torch.bfloat16)):
        net = shared_model(dtype)
        settings = Settings(
            proposer, drafts, overlap=overlap, tp_size=ranks, max_bsz=4, max_model_len=24,
            prefill_chunk=4 if overlap else None, end_tokens=(0, 9), logprobs=2,
        )  # fmt: skip
        outputs = decode(net, given, settings)
        limits = Settings(max_model_len=24, end_tokens=(0, 9))  # the same for all: computed once
        assert [o.tokens for o in outputs] == [plain_greedy(net, r, limits) for r in given]


@pytest.mark.parametrize("proposer", SPECULATING)
def test_greedy_text_is_the_plain_one_through_the_kernels(proposer: str) -> None:
    net, given = model(torch.bfloat16), requests(((4, 6), (9, 5), (2, 4)))
    settings = Settings(proposer, 3, max_bsz=2, overlap=True, prefill_chunk=5, logprobs=1)
    outputs = decode(net, given, settings)
    assert [o.tokens for o in outputs] == [plain_greedy(net, r, settings) for r in given]


@pytest.mark.usefixtures("references")
def test_speculation_does_something() -> None:
    """Every proposer gains on text that repeats itself; without one a step brings one token."""
    net = model(
        mixing=0.0, gain=4.0
    )  # without mixing the next token follows from the last: greedy text is a loop
    given = requests(((9, 40), (9, 40)))
    assert tokens_per_step(decode(net, given)) == 1.0
    for proposer in SPECULATING:
        assert tokens_per_step(decode(net, given, Settings(proposer, 3))) > 2.0, proposer


@pytest.mark.usefixtures("references")
def test_the_hybrid_accepts_more_than_its_draft_head_proposed() -> None:
    """Two of four drafts are the head's: a step of four or five tokens has some that were looked
    up."""
    net = model(mixing=0.0, gain=4.0)
    (output,) = decode(net, requests(((9, 60),)), Settings("hybrid", 4))
    assert max(output.accept_num) == 5


@pytest.mark.usefixtures("references")
@pytest.mark.parametrize("proposer", SPECULATING)
def test_sampled_text_is_the_plain_one_under_target_match(proposer: str) -> None:
    """A draw depends on (seed, position) and the logits: what was drafted, and how many, must not
    show."""
    warm = [
        replace(r, temperature=t, top_k=k, top_p=p)
        for r, (t, k, p) in zip(
            requests(MIXED), [(1.0, 0, 1.0), (0.7, 5, 1.0), (0.0, 0, 0.9), (1.0, 0, 0.8), (0.5, 3, 0.9), (2.0, 0, 1.0)],
            strict=True,
        )
    ]  # fmt: skip
    net = model()
    plain = decode(net, warm, Settings(max_bsz=6, strategy=Strategy.TARGET_MATCH))
    for drafts, overlap in ((1, True), (3, False)):
        settings = Settings(
            proposer,
            drafts,
            strategy=Strategy.TARGET_MATCH,
            max_bsz=2,
            overlap=overlap,
            prefill_chunk=3,
        )
        assert [o.tokens for o in decode(net, warm, settings)] == [o.tokens for o in plain]


@pytest.mark.usefixtures("references")
@pytest.mark.parametrize("strategy", [Strategy.REJECTION, Strategy.BLOCK])
def test_a_greedy_request_among_sampled_ones_stays_greedy(strategy: Strategy) -> None:
    net, given = model(), requests(MIXED)
    given = [replace(r, temperature=0.0 if i % 2 else 1.0) for i, r in enumerate(given)]
    settings = Settings("mtp", 3, strategy=strategy)
    outputs = decode(net, given, settings)
    for i in (1, 3, 5):
        assert outputs[i].tokens == plain_greedy(net, given[i], settings)


def assert_scores(net: Model, request: Request, output: Output, settings: Settings) -> None:
    """Logprob, rank and top k of every token against a pass over the whole text in float64."""
    text = [*request.prompt, *output.tokens]
    logits = forced(net, text)[len(request.prompt) - 1 : -1].double()
    if settings.mode == "processed" and request.temperature > 0:
        logits = logits / request.temperature
    scores = logits.log_softmax(dim=-1)
    for i, token in enumerate(output.tokens):
        assert output.logprobs[i] == pytest.approx(scores[i, token].item(), abs=1e-5)
        assert output.logz[i] == pytest.approx(logits[i].logsumexp(dim=-1).item(), abs=1e-5)
        assert output.ranks[i] == int((logits[i] >= logits[i, token]).sum())
        best = sorted(range(net.shape.vocab), key=lambda v: (-logits[i, v].item(), v))[
            : settings.logprobs
        ]
        assert output.topk_ids[i] == best
        assert output.topk_logprobs[i] == pytest.approx(scores[i, best].tolist(), abs=1e-5)


@pytest.mark.usefixtures("references")
@pytest.mark.parametrize("mode", ["raw", "processed"])
@pytest.mark.parametrize("proposer", ["ngram", "mtp"])
def test_every_token_carries_its_own_logprob(proposer: str, mode: str) -> None:
    """A row from the wrong step, a rejected draft or a padded slot would show here."""
    net = model(torch.bfloat16)
    given = [replace(r, temperature=0.8 * (i % 3)) for i, r in enumerate(requests(MIXED))]
    settings = Settings(
        proposer, 3, overlap=True, max_bsz=3, prefill_chunk=4, logprobs=3, mode=mode
    )
    for request, output in zip(given, decode(net, given, settings), strict=True):
        assert sum(output.accept_num) == len(output.tokens) == request.max_tokens
        assert_scores(net, request, output, settings)


@pytest.mark.usefixtures("references")
def test_another_width_changes_no_shared_column() -> None:
    """Seed 000's question: the baseline differs after the width of the top-k changed.

    Here it must only be wider.
    """
    net, given = model(torch.bfloat16), requests(MIXED)
    narrow = decode(net, given, Settings("mtp", 2, logprobs=3))
    wide = decode(net, given, Settings("mtp", 2, logprobs=20))
    for few, many in zip(narrow, wide, strict=True):
        assert [ids[:3] for ids in many.topk_ids] == few.topk_ids
        assert [scores[:3] for scores in many.topk_logprobs] == few.topk_logprobs
        assert (few.tokens, few.logprobs, few.ranks) == (many.tokens, many.logprobs, many.ranks)


@pytest.mark.usefixtures("references")
def test_the_same_call_gives_the_same_outputs() -> None:
    given = [replace(r, temperature=1.0) for r in requests(MIXED)]
    settings = Settings("hybrid", 4, logprobs=2)
    first = decode(model(seed=3), given, settings)
    assert first == decode(model(seed=3), given, settings)
    assert first != decode(model(seed=4), given, settings)
    other_seed = [replace(r, seed=r.seed + 100) for r in given]
    assert first != decode(model(seed=3), other_seed, settings)
    # a request says the same alone and in a crowd
    assert decode(model(seed=3), given[:1], settings) == first[:1]


@pytest.mark.usefixtures("references")
def test_the_draft_head_goes_on_from_the_last_accepted_row() -> None:
    """Not from the row of a draft that was refused, which stands behind it."""
    net = model()
    engine = Engine(net, Settings("mtp", 3, max_bsz=3))
    for request in requests(MIXED[:3]):
        engine.submit(request)
    worker, s = engine.workers[0], engine.workers[0].slots
    compared = 0
    while all(engine.jobs) or not compared:
        engine.step()
        for slot in range(3):
            length = int(s.prompt_lens[slot] + s.step_idx[slot])
            text = s.token_ids_all[slot, : length - 1]
            place = torch.arange(length - 1, device=DEVICE)
            hidden = net.forward(text, place * 0, place, net.new_cache(1, length))[-1]
            assert int(worker.guess.token[slot]) == int(text[-1])
            torch.testing.assert_close(worker.guess.hidden[slot], hidden, rtol=1e-9, atol=1e-9)
            compared += 1
    assert compared > 6


@pytest.mark.usefixtures("references")
@pytest.mark.parametrize("overlap", [False, True])
def test_ranks_agree_and_only_one_speaks(overlap: bool) -> None:
    engine = Engine(model(), Settings("hybrid", 3, tp_size=3, max_bsz=2, overlap=overlap))
    for request in requests(MIXED):
        engine.submit(replace(request, temperature=1.0))
    steps = 0
    while engine.busy:
        engine.step()
        steps += 1
        first, *others = (vars(worker.slots) for worker in engine.workers)
        for other in others:
            for name, value in first.items():
                assert torch.equal(value, other[name]), f"{name} differs after step {steps}"
    assert steps > 10


@pytest.mark.usefixtures("references")
def test_tokens_arrive_in_order_while_requests_join() -> None:
    net, given = model(), requests(MIXED)
    engine = Engine(net, Settings("mtp", 2, max_bsz=2, overlap=True))
    seen: dict[int, list[int]] = {}

    def read(news: list[Progress]) -> None:
        for progress in news:
            assert progress.first == len(seen.setdefault(progress.number, []))
            seen[progress.number] += progress.output.tokens[progress.first :]

    for number, request in enumerate(given):
        assert engine.submit(request) == number
        read(engine.step())
    while engine.busy:
        read(engine.step())
    assert [seen[i] for i in range(len(given))] == [plain_greedy(net, r, Settings()) for r in given]


@pytest.mark.usefixtures("references")
def test_requests_end_where_they_must() -> None:
    net = model()
    (request,) = requests(((4, 30),))
    free = plain_greedy(net, request, Settings())
    for proposer in ("none", *SPECULATING):
        settings = Settings(proposer, 0 if proposer == "none" else 3, max_model_len=14)
        (full,) = decode(net, [request], settings)
        assert (full.tokens, full.finish_reason) == (free[:10], "length")
        (ended,) = decode(net, [request], replace(settings, end_tokens=(free[5],)))
        assert (ended.tokens, ended.finish_reason) == (free[: free.index(free[5]) + 1], "stop")
        (one,) = decode(net, [replace(request, max_tokens=1)], settings)
        assert (one.tokens, one.accept_num, one.finish_reason) == (free[:1], [1], "length")


@pytest.mark.usefixtures("references")
def test_a_draft_budget_bounds_every_step() -> None:
    net, given = model(mixing=0.0, gain=4.0), requests(((9, 30), (9, 30), (9, 30)))
    settings = Settings("ngram", 4, draft_budget=7, max_bsz=3)
    engine = Engine(net, settings)
    widest = 0
    for request in given:
        engine.submit(request)
    engine.step()
    while engine.busy:
        engine.step()
        lengths = engine.workers[0].slots.seq_lens_this_time
        engine.workers[0].propose()
        widest = max(widest, int(lengths.sum()))
        assert int(lengths.sum()) <= 7
    assert widest == 7


def test_what_cannot_be_decoded_is_refused() -> None:
    engine = Engine(model(), Settings(max_model_len=8))
    for request, text in (
        (Request((), 3), "a prompt of 1 to 7 tokens"),
        (Request((1,) * 8, 3), "a prompt of 1 to 7 tokens"),
        (Request((1,), 0), "max_tokens of at least 1"),
        (Request((64,), 3), "prompt tokens must be in 0..63"),
    ):
        with pytest.raises(ValueError, match=text):
            engine.submit(request)
    assert not engine.busy and engine.step() == []
    for settings, text in (
        ({"proposer": "eagle"}, "proposer must be one of"),
        ({"proposer": "ngram"}, "does not go with num_speculative_tokens=0"),
        ({"num_speculative_tokens": 2}, "does not go with"),
        ({"strategy": Strategy.TOPP}, "not lossless"),
        ({"mode": "logits"}, "mode must be raw or processed"),
        ({"tp_size": 0}, "must be at least 1"),
    ):
        with pytest.raises(ValueError, match=text):
            Settings(**settings)


@pytest.mark.usefixtures("references")
def test_drafts_are_declared_as_they_were_drawn() -> None:
    """Drawn again from what `verify` will be told, each draft of the head comes out the same; a
    lookup is certain."""
    net = model(mixing=0.0, gain=4.0)
    drawn = certain = 0
    for steps in (3, 6, 9, 12):
        engine = Engine(net, Settings("hybrid", 4, max_bsz=2))
        for request in requests(((9, 60), (9, 60)), temperature=0.6):
            engine.submit(request)
        for _ in range(steps):
            engine.step()
        worker, s = engine.workers[0], engine.workers[0].slots
        worker.propose()
        for slot in range(2):
            one = slice(slot, slot + 1)
            for i in range(int(s.seq_lens_this_time[slot]) - 1):
                token, logits = int(s.draft_tokens[slot, i + 1]), worker.drafts.logits[one, i]
                if i < 2:  # the head's own
                    again = sample(
                        logits, s.seeds[one], s.step_idx[one] + i, s.temperature[one], stream=DRAFT
                    )
                    assert int(again) == token
                    drawn += 1
                else:
                    assert float(logits.softmax(dim=1)[0, token]) == 1.0
                    certain += 1
    assert drawn >= 8 and certain >= 1


def exact_joint(
    net: Model, prompt: tuple[int, ...], tokens: int, temperature: float
) -> torch.Tensor:
    """Probability of every continuation of that many tokens, in order of their ids. [V **
    tokens]"""
    probability = []
    for text in product(range(net.shape.vocab), repeat=tokens):
        logits = forced(net, [*prompt, *text]).double()[len(prompt) - 1 : -1] / temperature
        chosen = logits.log_softmax(dim=-1)[torch.arange(tokens), torch.tensor(text)]
        probability.append(chosen.sum().exp())
    return torch.stack(probability).cpu()


@pytest.mark.usefixtures("references")
@pytest.mark.parametrize(
    ("strategy", "proposer"),
    [
        (Strategy.REJECTION, "mtp"),
        (Strategy.REJECTION, "hybrid"),
        (Strategy.REJECTION, "ngram"),
        (Strategy.BLOCK, "hybrid"),
    ],
)
def test_sampled_text_has_the_model_s_distribution(strategy: Strategy, proposer: str) -> None:
    """Continuations of three tokens over a vocabulary of 4, drafted by a head that disagrees;
    chi-square at 1e-9."""
    net = model(vocab=4, dim=8, layers=1, gain=1.5, agreement=-1.0)
    draws = 50_000 if DEVICE == "cuda" else 1_200
    prompt, temperature = (1, 2, 1, 3, 2, 1), 0.8
    given = [Request(prompt, 3, temperature=temperature, seed=seed) for seed in range(draws)]
    settings = Settings(proposer, 2, strategy=strategy, max_bsz=500, max_model_len=16)
    counts = torch.zeros(4**3, dtype=torch.float64)
    for output in decode(net, given, settings):
        first, second, third = output.tokens
        counts[first * 16 + second * 4 + third] += 1
    expected = exact_joint(net, prompt, 3, temperature) * draws
    assert float(expected.sum()) == pytest.approx(draws)
    # cells too rare for the chi-square approximation count as one
    rare = expected < 5
    counts = torch.cat([counts[~rare], counts[rare].sum()[None]])
    expected = torch.cat([expected[~rare], expected[rare].sum()[None]]).clamp(min=1e-9)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert len(expected) > 12
    assert statistic < chi2.isf(1e-9, len(expected) - 1)


@gpu_only
def test_a_step_waits_for_the_device_only_where_it_reads() -> None:
    """Under overlap nothing but the read of the last step's answer may wait."""
    engine = Engine(model(), Settings("ngram", 3, overlap=True, max_bsz=4))
    for request in requests(MIXED[:4]):
        engine.submit(request)
    for _ in range(3):
        engine.step()
    worker = engine.workers[0]
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        worker.propose()
        sent = worker.launch(16)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert sent is not None
