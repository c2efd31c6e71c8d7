"""``logprobs`` against float64, and the order of ties whatever k, batch and padding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import pytest
import torch

from kernels.logprobs import logprobs
from kernels.logprobs.reference import logprobs_reference
from tests.kernels.conftest import gpu_only, poison
from tests.kernels.gpu_checks import assert_graph_replays, assert_no_recompilation, assert_no_sync
from tests.kernels.logits import DTYPES, PLACES, far_rows, make_logits, rows_from
from tests.kernels.properties import (
    DEVICE,
    bounded,
    close,
    examples,
    for_the_law,
    property_test,
    same,
)
from tests.kernels.strategies import coin, independent, mostly


@dataclass(frozen=True)
class Case:
    rows: int
    vocab: int
    k: int
    dtype: torch.dtype
    values: str  # what the logits look like
    mapped: bool  # through an index map with -1 entries
    strided: bool
    temperature: bool
    cut: bool
    chunk: int
    seed: int


def draw(rng: Random) -> Case:
    vocab = rng.choice([32, 33, 64, 65, 100, 257, 600])
    return Case(
        rows=mostly(rng, [1], [2, 3]),
        vocab=vocab,
        k=min(vocab, rng.choice([0, 1, 2, 5, 20, 31, 32, rng.randint(0, 64)])),
        dtype=rng.choice(DTYPES),
        values=rng.choice(["normal", "ties", "few finite", "specials", "constant", "wide"]),
        mapped=coin(rng),
        strided=coin(rng),
        temperature=coin(rng),
        cut=coin(rng),
        chunk=64 if DEVICE == "cuda" else rng.choice([64, 256]),
        seed=rng.getrandbits(31),
    )


CASES = independent(draw)


def _wide_ids(case: Case) -> bool:
    """On a GPU a property of the case's own, because there each variant costs seconds of
    compiling."""
    return case.mapped if DEVICE == "cuda" else case.seed % 2 == 1


def inputs(case: Case) -> dict[str, torch.Tensor | int | None]:
    gen = torch.Generator().manual_seed(case.seed)
    total = case.rows + 3 if case.mapped else case.rows
    width = case.vocab + 7 if case.strided else case.vocab
    logits = make_logits(case.values, (total, width), gen).to(case.dtype).to(DEVICE)
    tokens = torch.randint(-1, case.vocab, (case.rows,), generator=gen)
    rows = torch.randint(-1, total, (case.rows,), generator=gen).to(DEVICE) if case.mapped else None
    scales = torch.tensor([0.0, 0.3, 0.7, 1.0, 2.0])
    pick = torch.randint(0, len(scales), (case.rows,), generator=gen)
    at = torch.randint(0, case.vocab, (case.rows,), generator=gen).to(DEVICE)
    source = (rows if rows is not None else torch.arange(case.rows, device=DEVICE)).clamp(min=0)
    last = logits.float()[source, at]
    last = last.where(~last.isnan(), float("-inf"))
    return {
        "logits": logits[:, : case.vocab],
        "token_ids": (tokens if _wide_ids(case) else tokens.int()).to(DEVICE),
        "k": case.k,
        "rows": rows,
        "temperature": scales[pick].to(DEVICE) if case.temperature else None,
        "cut_logit": last if case.cut else None,
        "cut_id": at if case.cut else None,
    }


def run(given: dict, **options: int) -> tuple[torch.Tensor, ...]:
    from kernels.logprobs.triton import logprobs_triton

    return logprobs_triton(**given, **options)


def compare(got: tuple[torch.Tensor, ...], want: tuple[torch.Tensor, ...]) -> None:
    # Past 100 nats float32 itself has no 1e-5 to give.
    size = want[0][want[0].isfinite()].abs().max().item() if want[0].isfinite().any() else 0.0
    size = max(
        size, want[3][want[3].isfinite()].abs().max().item() if want[3].isfinite().any() else 0.0
    )
    tolerance = max(1e-5, size * 3e-7)
    same("rank", got[1], want[1])
    same("topk_ids", got[2], want[2])
    close("logprob", got[0], want[0], tolerance)
    close("topk_logprobs", got[3], want[3], tolerance)
    finite = want[4].isfinite()
    largest = want[4][finite].abs().max().item() if finite.any() else 0.0
    close("logz", got[4], want[4], max(1e-5, largest * 3e-7))


def check(case: Case) -> None:
    given = inputs(case)
    compare(run(given, chunk=case.chunk, group=16), logprobs_reference(**for_the_law(given)))


test_matches_reference = property_test(CASES)(check)


def draw_pair(rng: Random) -> tuple[Case, int]:
    case, k2 = draw(rng), rng.randint(1, 64)
    return replace(case, k=min(case.k, k2)), min(k2, case.vocab)


PREFIX_CASES = independent(draw_pair)


def check_prefix(pair: tuple[Case, int]) -> None:
    """topk(k1) == topk(k2)[:k1] bit for bit, with the rows in another order and padded ones
    between."""
    case, k2 = pair
    given = inputs(case)
    rows = given["rows"] if case.mapped else torch.arange(case.rows, device=DEVICE)
    few = run(given | {"rows": rows}, chunk=case.chunk, group=16)
    order = torch.randperm(case.rows, generator=torch.Generator().manual_seed(case.seed)).to(DEVICE)
    # Entry r of the few is entry 1 + place of r of the many; entry 0 is padding.
    moved = {
        name: torch.cat([value[:1], value[order]])
        for name, value in (given | {"rows": rows}).items()
        if isinstance(value, torch.Tensor) and name != "logits"
    }
    moved["rows"][0] = -1
    many = run(given | moved | {"k": max(k2, case.k)}, chunk=case.chunk, group=16)
    for name, index in (
        ("logprob", 0),
        ("rank", 1),
        ("topk_ids", 2),
        ("topk_logprobs", 3),
        ("logz", 4),
    ):
        value = many[index][1:]
        same(name, value[:, : case.k] if index in (2, 3) else value, few[index][order])
    assert many[0][0].isnan() and many[1][0] == 0 and (many[2][0] == -1).all()


PREFIXES = max(60, examples() // 5)
test_topk_is_a_prefix = bounded(PREFIX_CASES, check_prefix, PREFIXES)


@pytest.mark.parametrize("vocab", [32, 2047, 2049, 20_011])
def test_whole_size_chunks(vocab: int) -> None:
    case = Case(2, vocab, 20, torch.bfloat16, "ties", True, False, True, False, 0, vocab)
    given = inputs(case)
    got = logprobs(**given)
    compare(
        (got.logprob, got.rank, got.topk_ids, got.topk_logprobs, got.logz),
        logprobs_reference(**for_the_law(given)),
    )


@pytest.mark.parametrize("vocab", [4104, 4099])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_rows_may_begin_anywhere(vocab: int, dtype: torch.dtype) -> None:
    gen = torch.Generator().manual_seed(vocab)
    logits = make_logits("specials", (3, vocab), gen).to(dtype).to(DEVICE)
    tokens = torch.tensor([0, vocab - 1, 2048], device=DEVICE)
    want = logprobs(logits, tokens, 20)
    compare(tuple(vars(want).values()), run_law(logits, tokens))
    for before in PLACES:
        got = logprobs(rows_from(logits, before), tokens, 20)
        for name, value in vars(want).items():
            same(f"{name}, {before} before", getattr(got, name), value)


def run_law(logits: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return logprobs_reference(logits, tokens, 20, None, None, None, None)


def test_a_row_of_minus_infinity_and_a_row_of_nan() -> None:
    logits = torch.tensor([float("-inf"), float("nan")], device=DEVICE)[:, None].expand(2, 40)
    got = logprobs(logits, torch.tensor([3, 5], device=DEVICE), 4)
    assert got.topk_ids.tolist() == [[0, 1, 2, 3]] * 2
    assert got.rank.tolist() == [40, 40]
    assert (got.logprob == float("-inf")).all() and (got.topk_logprobs == float("-inf")).all()


def test_a_tied_best_token_has_the_rank_of_the_tie() -> None:
    logits = torch.zeros(1, 32, device=DEVICE)
    logits[0, [4, 9]] = 2.0
    got = logprobs(logits, torch.tensor([9], device=DEVICE), 3)
    assert got.rank.tolist() == [2]
    assert got.topk_ids.tolist() == [[4, 9, 0]]


def test_infinity_is_better_than_the_largest_number() -> None:
    """+inf is read as the largest float32, which a bfloat16 cannot hold: their keys must not be cut
    alike."""
    logits = torch.zeros(1, 40, dtype=torch.bfloat16, device=DEVICE)
    logits[0, 7], logits[0, 9] = torch.finfo(torch.bfloat16).max, float("inf")
    assert logprobs(logits, torch.tensor([7], device=DEVICE), 3).topk_ids.tolist() == [[9, 7, 0]]


def test_rows_may_be_asked_for_without_a_sampled_token() -> None:
    logits = torch.eye(3, 40, device=DEVICE)
    got = logprobs(logits, None, 1, rows=torch.tensor([2, -1], device=DEVICE))
    assert got.topk_ids.tolist() == [[2], [-1]]
    assert got.logprob.isnan().all() and got.rank.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"k": 65}, ValueError, r"k must be in 0\.\.64, got 65"),
        ({"k": -1}, ValueError, r"k must be in 0\.\.64"),
        ({"k": True}, TypeError, "k must be an int"),
        ({"logits": torch.zeros(2, 8)}, ValueError, r"k must be in 0\.\.8, got 20"),
        ({"logits": torch.zeros(2, 0)}, ValueError, "at least one column"),
        ({"logits": torch.zeros(2, 99).long()}, TypeError, r"int64\[2, 99\] on cpu"),
        ({"token_ids": torch.zeros(3, dtype=torch.int64)}, ValueError, r"\[R\] with .*R=2"),
        ({"token_ids": torch.zeros(2)}, TypeError, "token_ids must be int32 or int64"),
        ({"temperature": torch.ones(2).double()}, TypeError, "temperature must be float32"),
        ({"cut_logit": torch.zeros(2)}, ValueError, "go together"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(change: dict, error: type, text: str) -> None:
    given = {"logits": torch.zeros(2, 99), "token_ids": torch.zeros(2, dtype=torch.int64), "k": 20}
    with pytest.raises(error, match=text):
        logprobs(**given | change)


def test_no_entries() -> None:
    got = logprobs(
        torch.zeros(0, 40, device=DEVICE), torch.zeros(0, dtype=torch.int64, device=DEVICE), 5
    )
    assert got.topk_ids.shape == (0, 5)


def test_the_reference_serves_a_cpu_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    got = logprobs(torch.tensor([[0.0, 1.0, 0.0]]), torch.tensor([1]), 2)
    assert got.topk_ids.tolist() == [[1, 0]]


@gpu_only
@pytest.mark.parametrize("vocab", [151_936, 128_256, 262_144, 50_257, 8193])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_real_vocabularies(vocab: int, dtype: torch.dtype) -> None:
    for values in ("normal", "ties", "specials"):
        for k in (0, 1, 20, 64):
            case = Case(9, vocab, k, dtype, values, True, k == 1, True, k == 20, 0, vocab + k)
            given = inputs(case)
            compare(run(given), logprobs_reference(**for_the_law(given)))


@gpu_only
def test_on_a_gpu_no_sync_graph_and_one_compilation() -> None:
    from kernels.logprobs import merge, stream

    logits = torch.randn(300, 5000, device="cuda").bfloat16()
    tokens = torch.randint(0, 5000, (300,), device="cuda")
    assert_no_sync(lambda: logprobs(logits, tokens, 20))
    assert_graph_replays(lambda: logprobs(logits, tokens, 20).topk_logprobs)

    def call(n: int) -> None:
        logprobs(logits[:n], tokens[:n], n % 65)

    for kernel in (stream._chunk_kernel, merge._merge_kernel):
        assert_no_recompilation(kernel, call, [3, 1, 2, 16, 17, 64, 128, 300])


def check_far_rows() -> None:
    """Rows more than 2**31 elements into the logits are scored like any other."""
    values = torch.randn(3, 40, generator=torch.Generator().manual_seed(1))
    tokens = torch.tensor([1, 2, 3], device=DEVICE)
    given = {"k": 5, "rows": None, "temperature": None, "cut_logit": None, "cut_id": None}
    near = values.bfloat16().to(DEVICE)
    want = logprobs_reference(logits=near, token_ids=tokens, **given)
    compare(
        run({"logits": far_rows(values), "token_ids": tokens} | given, chunk=64, group=16), want
    )


test_far_rows = check_far_rows


@gpu_only
def test_more_than_two_to_the_31_elements() -> None:
    vocab, rows = 151_936, 15_000
    logits = poison(torch.empty(rows, vocab, dtype=torch.bfloat16, device="cuda"))
    logits[-2:] = torch.randn(2, vocab, device="cuda").bfloat16()
    index = torch.tensor([rows - 1, rows - 2], device="cuda")
    tokens = torch.tensor([7, vocab - 1], device="cuda")
    given = {"k": 20, "temperature": None, "cut_logit": None, "cut_id": None}
    got = run({"logits": logits, "token_ids": tokens, "rows": index} | given)
    near = {"logits": logits[-2:], "token_ids": tokens, "rows": torch.tensor([1, 0], device="cuda")}
    compare(got, logprobs_reference(**near | given))
