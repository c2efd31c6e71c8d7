"""The workloads that move little: a launch is their floor, so their target is in microseconds."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..accept import accept
from ..message import pack_message
from ..ngram import ngram_propose
from ..schedule import output_schedule, update_status
from .histories import KINDS, histories_of
from .workload import Call, Workload


def small_workloads() -> list[Workload]:
    """accept, schedule, message and ngram at B = 256."""
    batch, width, length = 256, 4, 8192
    kilobytes = batch * width * 8 * 4
    return [
        Workload("accept, index map, B=256", "accept", kilobytes, _accept(batch, width),
        at_most_us=4.0),
        Workload("output schedule, B=256", "schedule", kilobytes, _schedule(batch, width),
        at_most_us=4.0),
        Workload("status update, B=256", "schedule", kilobytes, _update(batch, width),
        at_most_us=4.0),
        Workload("message pack, k=20, B=256", "message", batch * 504, _message(batch, width, 20),
        at_most_us=4.0),
        _ngram_of_every_kind(batch, width, length),
    ]  # fmt: skip


def _ints(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.randint(low, high, shape, dtype=dtype, device="cuda")


def _full(value: int, *shape: int, dtype: torch.dtype = torch.int32) -> torch.Tensor:
    return torch.full(shape, value, dtype=dtype, device="cuda")


def _accept(batch: int, width: int) -> Callable[[int], dict[str, Call]]:
    def build(i: int) -> dict[str, Call]:
        tokens = _ints(0, 1000, batch, width)
        num = _ints(1, width + 1, batch, dtype=torch.int32)
        cu = torch.arange(batch + 1, dtype=torch.int32, device="cuda") * width
        encoder = _full(0, batch)

        def eager() -> tuple[torch.Tensor, ...]:
            offsets = torch.nn.functional.pad(num.cumsum(0), (1, 0))
            valid = torch.arange(width, device="cuda") < num[:, None]
            slot = torch.where(
                valid, offsets[:-1, None] + torch.arange(width, device="cuda"), batch * width
            )
            ids = torch.full((batch * width + 1,), -1, dtype=torch.int64, device="cuda")
            rows = ids.clone()
            ids.scatter_(0, slot.flatten(), tokens.flatten())
            rows.scatter_(
                0,
                slot.flatten(),
                (cu[:-1, None] + torch.arange(width, device="cuda")).flatten().long(),
            )
            return ids, rows, offsets

        return {"ours": lambda: accept(tokens, num, cu, encoder), "torch": eager}

    return build


def _schedule(batch: int, width: int) -> Callable[[int], dict[str, Call]]:
    def build(i: int) -> dict[str, Call]:
        lens, encoder = _ints(0, width + 1, batch, dtype=torch.int32), _full(0, batch)
        return {"ours": lambda: output_schedule(lens, encoder, capacity=batch * width)}

    return build


def _update(batch: int, width: int) -> Callable[[int], dict[str, Call]]:
    def build(i: int) -> dict[str, Call]:
        given = {
            "accept_tokens": _ints(5, 1000, batch, width),
            "accept_num": _ints(1, width + 1, batch, dtype=torch.int32),
            "step_idx": _full(0, batch, dtype=torch.int64),
            "stop_flags": torch.zeros(batch, dtype=torch.bool, device="cuda"),
            "seq_lens_this_time": _full(width, batch),
            "seq_lens_encoder": _full(0, batch),
            "seq_lens_decoder": _full(50, batch),
            "token_ids_all": _full(0, batch, 4096, dtype=torch.int64),
            "prompt_lens": _full(50, batch, dtype=torch.int64),
            "max_dec_len": _full(1 << 30, batch, dtype=torch.int64),
            "end_tokens": _full(3, 2, dtype=torch.int64),
            "step_input_ids": _full(0, batch, width, dtype=torch.int64),
        }
        rollback = _full(0, batch)
        running = torch.zeros(1, dtype=torch.bool, device="cuda")
        return {"ours": lambda: update_status(**given, mask_rollback=rollback, has_running=running)}

    return build


def _message(batch: int, width: int, k: int) -> Callable[[int], dict[str, Call]]:
    def build(i: int) -> dict[str, Call]:
        rows = batch * width
        num = _ints(1, width + 1, batch, dtype=torch.int32)
        offsets = torch.nn.functional.pad(num.cumsum(0), (1, 0)).int()
        sampled = _ints(0, 1000, rows)
        ids, scores = _ints(0, 1000, rows, k + 1), torch.randn(rows, k + 1, device="cuda")
        ranks = _ints(1, 1000, rows)
        return {"ours": lambda: pack_message(sampled, ids, scores, ranks, num, offsets)}

    return build


def _ngram_of_every_kind(batch: int, width: int, length: int) -> Workload:
    return Workload(
        f"ngram, {batch} requests x {length:,} tokens", "ngram", batch * length * 4,
        _ngram(batch, width, length, KINDS[0]), at_most_us=8.0,
        others={kind: _ngram(batch, width, length, kind) for kind in KINDS[1:]},
    )  # fmt: skip


def _ngram(batch: int, width: int, length: int, kind: str) -> Callable[[int], dict[str, Call]]:
    def build(i: int) -> dict[str, Call]:
        history = histories_of(kind, batch, length, seed=i)
        prompt = _full(length // 2, batch, dtype=torch.int64)
        step = _full(length // 2 - width - 1, batch, dtype=torch.int64)
        want, room = _full(width - 1, batch), _full(1 << 20, batch, dtype=torch.int64)
        drafts, lens = _full(0, batch, width, dtype=torch.int64), _full(1, batch)
        encoder, decoder = _full(0, batch), _full(length - width, batch)
        return {
            "ours": lambda: ngram_propose(
                history, prompt, step, want, room, drafts, lens, encoder, decoder, max_ngram=4
            )
        }

    return build
