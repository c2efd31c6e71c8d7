"""``accept`` against its reference, and the cases that its relatives got wrong."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
import torch

from kernels.accept import accept
from kernels.accept.reference import accept_reference
from tests.kernels.conftest import gpu_only, poison
from tests.kernels.gpu_checks import assert_graph_replays, assert_no_recompilation, assert_no_sync
from tests.kernels.logits import DTYPES, far_rows
from tests.kernels.properties import DEVICE, for_the_law, property_test, same
from tests.kernels.strategies import coin, independent, integers


@dataclass(frozen=True)
class Case:
    batch: int
    width: int
    vocab: int
    dtype: torch.dtype
    strided: bool
    wild: bool  # counts outside 0..S, as a stale or corrupt step leaves them
    seed: int


def draw(rng: Random) -> Case:
    return Case(
        batch=rng.choice([rng.randint(1, 9), rng.choice([63, 64, 65, 130, 512])]),
        width=rng.randint(1, 7),
        vocab=rng.choice([32, 33, 100]),
        dtype=rng.choice(DTYPES),
        strided=coin(rng),
        wild=coin(rng),
        seed=rng.getrandbits(31),
    )


CASES = independent(draw)


def inputs(case: Case) -> dict[str, torch.Tensor]:
    gen = torch.Generator().manual_seed(case.seed)
    ints = integers(gen)
    rows = ints(0, case.width + 1, case.batch)
    encoder = ints(0, 3, case.batch).sub(1).clamp(min=0) * ints(1, 99, case.batch)
    rows = torch.where(encoder > 0, rows.clamp(max=1), rows)
    accepted = (ints(0, case.width + 1, case.batch)).minimum(rows)
    if case.wild:
        accepted = ints(-9, case.width + 9, case.batch)
    cu = torch.cat([torch.zeros(1, dtype=torch.int64), rows.cumsum(0)])
    logits = torch.randn(int(cu[-1]) + 1, case.vocab + 5, generator=gen).to(case.dtype)
    tokens = ints(0, 1000, case.batch, case.width + 3)
    wide = torch.stack([accepted, torch.full_like(accepted, 7)], dim=1).int()
    made = {
        "accept_tokens": tokens[:, : case.width],
        "accept_num": wide[:, 0],
        "cu_seqlens_q_output": cu.int() if case.seed % 2 else cu,
        "seq_lens_encoder": encoder.int(),
        "logits": logits[:, : case.vocab],
    }
    if not case.strided:
        made = {name: value.contiguous() for name, value in made.items()}
        return {name: value.to(DEVICE) for name, value in made.items()}
    moved = {"accept_tokens": tokens, "logits": logits, "accept_num": wide}
    moved = {name: value.to(DEVICE) for name, value in moved.items()}
    return {name: value.to(DEVICE) for name, value in made.items()} | {
        "accept_tokens": moved["accept_tokens"][:, : case.width],
        "logits": moved["logits"][:, : case.vocab],
        "accept_num": moved["accept_num"][:, 0],
    }


def check(case: Case) -> None:
    given = inputs(case)
    token_ids, row_index, cu_tokens, rows = accept_reference(*for_the_law(given).values())
    total = int(cu_tokens[-1])
    # Copying is one program a row: on the interpreter only small batches can afford it.
    copies = DEVICE == "cuda" or case.batch <= 9
    got = accept(**given if copies else given | {"logits": None})
    same("cu_tokens", got.cu_tokens, cu_tokens)
    same("token_ids", got.token_ids, token_ids)
    same("row_index", got.row_index, row_index)
    if not copies:
        return
    same("logits", got.logits[:total], rows[:total])
    # The tests' torch.empty is NaN: a row past the total that is anything else was written by
    # mistake.
    assert got.logits[total:].isnan().all()


test_matches_reference = property_test(CASES)(check)


def _example(encoder: list[int], accepted: list[int], cu: list[int]) -> dict[str, torch.Tensor]:
    tokens = torch.tensor([[10 * (b + 1) + s for s in range(4)] for b in range(len(accepted))])
    return {
        "accept_tokens": tokens.to(DEVICE),
        "accept_num": torch.tensor(accepted, dtype=torch.int32, device=DEVICE),
        "cu_seqlens_q_output": torch.tensor(cu, dtype=torch.int32, device=DEVICE),
        "seq_lens_encoder": torch.tensor(encoder, dtype=torch.int32, device=DEVICE),
    }


def test_index_map_of_a_decode_batch() -> None:
    got = accept(**_example([0, 0, 0], [1, 2, 1], [0, 2, 4, 6]))
    assert got.row_index[:4].tolist() == [0, 2, 3, 4]
    assert got.token_ids[:4].tolist() == [10, 20, 21, 30]
    assert got.cu_tokens.tolist() == [0, 1, 3, 4]
    assert got.logits is None


def test_a_prefill_slot_gives_one_row() -> None:
    got = accept(**_example([10, 0, 0], [1, 2, 1], [0, 1, 3, 5]))
    assert got.row_index[:4].tolist() == [0, 1, 2, 3]


def test_a_prefill_slot_that_accepted_nothing_writes_nothing() -> None:
    """FastDeploy's kernel wrote row cu[b] all the same: a race with the next slot's first row."""
    got = accept(**_example([10, 0], [0, 2], [0, 1, 3]))
    assert got.row_index.tolist() == [1, 2, -1, -1, -1, -1, -1, -1]


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"accept_num": torch.zeros(4, dtype=torch.int32)}, ValueError, r"accept_tokens .*B=4.*int64\[3, 4\]"),
        ({"accept_num": torch.zeros(3)}, TypeError, r"accept_num must be int32, got float32\[3\] on cpu"),
        ({"cu_seqlens_q_output": torch.zeros(3, dtype=torch.int32)}, ValueError, r"shape \[B\+1\] with B=3"),
        ({"accept_tokens": None}, TypeError, "accept_tokens must be a tensor, got NoneType"),
        ({"logits": torch.zeros(6, 32, dtype=torch.float64)}, TypeError, "float64"),
        ({"logits": torch.zeros(6, 32, device="meta")}, ValueError, "on meta"),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(change: dict, error: type, text: str) -> None:
    given = {
        name: value.cpu() for name, value in _example([0, 0, 0], [1, 2, 1], [0, 2, 4, 6]).items()
    }
    with pytest.raises(error, match=text):
        accept(**given | change)


def test_an_empty_batch() -> None:
    got = accept(
        torch.zeros(0, 3, dtype=torch.int64, device=DEVICE),
        torch.zeros(0, dtype=torch.int32, device=DEVICE),
        torch.zeros(1, dtype=torch.int32, device=DEVICE),
        torch.zeros(0, dtype=torch.int32, device=DEVICE),
    )
    assert got.cu_tokens.tolist() == [0]
    assert got.token_ids.numel() == 0


@gpu_only
def test_on_a_gpu_no_sync_graph_and_one_compilation() -> None:
    from kernels.accept import triton as module

    def call(batch: int) -> None:
        check(Case(batch, 4, 33, torch.bfloat16, False, False, 2 * batch))

    given = inputs(Case(200, 4, 100, torch.bfloat16, False, False, 3))
    assert_no_sync(lambda: accept(**given))
    assert_graph_replays(lambda: accept(**given).row_index)
    assert_no_recompilation(module._accept_kernel, call, [1, 2, 16, 17, 64, 200])


def check_far_rows() -> None:
    """Rows more than 2**31 elements into the logits come out as they are."""
    logits = far_rows(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    got = accept(**_example([0], [3], [0, 3]), logits=logits)
    same("rows", got.logits[:3], logits)


test_far_rows = check_far_rows


@gpu_only
def test_more_than_two_to_the_31_elements() -> None:
    vocab, rows = 151_936, 15_000
    logits = poison(torch.empty(rows, vocab, dtype=torch.bfloat16, device="cuda"))
    logits[-3:] = torch.arange(3, device="cuda", dtype=torch.bfloat16)[:, None]
    given = _example([0], [3], [rows - 3, rows])
    got = accept(**given, logits=logits)
    same("rows", got.logits[:3], logits[-3:])
