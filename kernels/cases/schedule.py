"""`kernels.schedule`: which rows put out a token, and every request moved past a step."""

from __future__ import annotations

import torch

from kernels.cases._case import Case, Given, Inputs, Outputs
from kernels.schedule import OutputSchedule, gather_next_token, output_schedule, update_status

WIDTH = 4
UPDATED = (
    "accept_tokens",
    "accept_num",
    "step_idx",
    "stop_flags",
    "seq_lens_this_time",
    "seq_lens_encoder",
    "seq_lens_decoder",
    "token_ids_all",
    "step_input_ids",
    "mask_rollback",
    "has_running",
)


def _step(device: torch.device) -> Given:
    inputs = Inputs(51, device)
    batch = inputs.size(7, 256)
    return {
        "seq_lens_this_time": inputs.ints(-1, WIDTH + 1, batch, dtype=torch.int32),
        "seq_lens_encoder": inputs.one_of([0, 0, 5], batch, dtype=torch.int32),
        "capacity": batch * WIDTH,
    }


def _hidden(device: torch.device) -> Given:
    inputs = Inputs(52, device)
    rows, capacity = inputs.size(9, 512), inputs.size(12, 1024)
    none = torch.empty(0, dtype=torch.int32, device=device)
    where = inputs.ints(-1, rows + 2, capacity, dtype=torch.int32)
    return {
        "hidden": inputs.normal(rows, inputs.size(65, 4096), dtype=torch.bfloat16),
        "schedule": OutputSchedule(none, none, none, none, where),
    }


def _requests(device: torch.device) -> Given:
    inputs = Inputs(53, device)
    batch, length = inputs.size(8, 256), inputs.size(40, 4096)
    step = inputs.ints(0, 10, batch)
    return {
        "accept_tokens": inputs.ints(0, 20, batch, WIDTH),
        "accept_num": inputs.ints(0, WIDTH + 1, batch, dtype=torch.int32),
        "step_idx": step,
        "stop_flags": inputs.ints(0, 5, batch) == 0,
        "seq_lens_this_time": inputs.ints(0, WIDTH + 1, batch, dtype=torch.int32),
        "seq_lens_encoder": inputs.one_of([0, 0, 0, 6], batch, dtype=torch.int32),
        "seq_lens_decoder": inputs.ints(0, 30, batch, dtype=torch.int32),
        "token_ids_all": inputs.full(-1, batch, length, dtype=torch.int64),
        "prompt_lens": inputs.ints(5, 20, batch),
        "max_dec_len": step + inputs.ints(1, 8, batch),
        "end_tokens": inputs.of([3, 5], torch.int64),
        "step_input_ids": inputs.full(0, batch, WIDTH, dtype=torch.int64),
        "mask_rollback": inputs.full(0, batch),
        "has_running": inputs.of([False], torch.bool),
        "is_block_step": inputs.ints(0, 6, batch) == 0,
    }


def _schedule(given: Given) -> Outputs:
    return output_schedule(**given)._asdict()


def _schedule_reference(given: Given) -> Outputs:
    from kernels.schedule.reference import output_schedule_reference

    lens, encoder, capacity = (
        given[n] for n in ("seq_lens_this_time", "seq_lens_encoder", "capacity")
    )
    made = OutputSchedule.empty(lens.shape[0], capacity, "cpu")
    output_schedule_reference(lens.cpu(), encoder.cpu(), *made)
    return made._asdict()


def _gather(given: Given) -> Outputs:
    return {"rows": gather_next_token(**given)}


def _gather_reference(given: Given) -> Outputs:
    from kernels.schedule.reference import gather_next_token_reference

    hidden, where = given["hidden"].cpu(), given["schedule"].output_rows.cpu()
    made = torch.empty(where.shape[0], hidden.shape[1], dtype=hidden.dtype)
    gather_next_token_reference(hidden, where, made)
    return {"rows": made}


def _update(given: Given) -> Outputs:
    update_status(**given)
    return {name: given[name] for name in UPDATED}


def _update_reference(given: Given) -> Outputs:
    from kernels.schedule.reference import update_status_reference

    given = {name: value.cpu() for name, value in given.items()}
    blocked = given.pop("is_block_step")
    update_status_reference(
        **given, is_block_step=blocked, prefill_one_step_stop=False, end_when_full=True
    )
    return {name: given[name] for name in UPDATED}


CASES = (
    Case("output-rows", _step, _schedule, _schedule_reference),
    Case("gather", _hidden, _gather, _gather_reference),
    Case("update-status", _requests, _update, _update_reference),
)
