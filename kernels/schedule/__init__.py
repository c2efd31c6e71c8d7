"""A step's bookkeeping: `output_schedule`, `gather_next_token`, `update_status`, and the host's
`next_launch`."""

from __future__ import annotations

from typing import NamedTuple

import torch

from kernels._dispatch import use_triton
from kernels._validate import BOOL, FLOATS, INT32, INTS, Args
from kernels.schedule.launch import Launch, next_launch
from kernels.schedule.reference import (
    PADDING,
    gather_next_token_reference,
    output_schedule_reference,
    update_status_reference,
)

__all__ = [
    "PADDING",
    "Launch",
    "OutputSchedule",
    "gather_next_token",
    "next_launch",
    "output_schedule",
    "update_status",
]


class OutputSchedule(NamedTuple):
    """Where a step's rows come from and go to.

    All int32 on the device; nothing here needs a host sync.
    """

    seq_lens_output: torch.Tensor  # [B]
    cu_seqlens_q: torch.Tensor  # [B+1], input rows before each slot
    cu_seqlens_q_output: (
        torch.Tensor
    )  # [B+1], output rows before each slot; the last is their number
    batch_id_per_token_output: torch.Tensor  # [capacity], PADDING behind the last row
    output_rows: (
        torch.Tensor
    )  # [capacity], the input row of each output row, PADDING behind the last

    @classmethod
    def empty(cls, bsz: int, capacity: int, device: torch.device | str) -> OutputSchedule:
        """Buffers to fill with `output_schedule(..., out=...)`, to reuse memory under a CUDA
        graph."""
        sizes = (bsz, bsz + 1, bsz + 1, capacity, capacity)
        return cls(*(torch.empty(size, dtype=torch.int32, device=device) for size in sizes))


def output_schedule(
    seq_lens_this_time: torch.Tensor,
    seq_lens_encoder: torch.Tensor,
    *,
    capacity: int,
    out: OutputSchedule | None = None,
) -> OutputSchedule:
    """Which input rows of a packed step put out a token, for speculative and plain batches alike;
    one launch.

    A slot with `seq_lens_this_time` 0 puts out nothing, a prefill (`seq_lens_encoder > 0`) or plain
    slot one row, a speculative slot one row for each input token.

    Args:
        seq_lens_this_time: [B] int32, input tokens of each slot. A negative one counts as 0.
        seq_lens_encoder: [B] int32.
        capacity: rows to make room for, at least the number of output rows (B for a plain batch, B
            * (K+1) for a speculative one). Rows beyond it are dropped from the two maps, while the
            offsets stay true.

    Returns: an `OutputSchedule`, `out` if given. Raises TypeError or ValueError for a wrong type,
    dtype, shape or device, or input rows beyond int32.

    Source: outputs of FastDeploy's `speculate_pre_process`.
    """
    args = Args("output_schedule")
    lens = args.tensor("seq_lens_this_time", seq_lens_this_time, ("B",), INT32).contiguous()
    encoder = args.tensor("seq_lens_encoder", seq_lens_encoder, ("B",), INT32).contiguous()
    args.integer("capacity", capacity, 0, (1 << 31) - 1)
    slots = args.sizes["B"]
    if out is None:
        out = OutputSchedule.empty(slots, capacity, lens.device)
    for name, value, size in zip(
        out._fields, out, (slots, slots + 1, slots + 1, capacity, capacity), strict=True
    ):
        _contiguous(args, name, args.tensor(name, value, (size,), INT32))
    if slots == 0:
        _idle(out)
    elif use_triton(args.op, lens.device):
        from kernels.schedule.triton import output_schedule_triton

        output_schedule_triton(lens, encoder, *out)
    else:
        output_schedule_reference(lens, encoder, *out)
    return out


def _idle(out: OutputSchedule) -> None:
    for offsets in (out.cu_seqlens_q, out.cu_seqlens_q_output):
        offsets.zero_()
    for places in (out.batch_id_per_token_output, out.output_rows):
        places.fill_(PADDING)


def gather_next_token(
    hidden: torch.Tensor, schedule: OutputSchedule, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """The rows that the head has to turn into logits, in output order:
    `hidden[schedule.output_rows]`; one launch.

    One entry for speculative and plain batches: the schedule already knows what each slot puts out.

    Args:
        hidden: [T, H] of any floating-point dtype, any strides; the packed rows of this step.
        schedule: of the same step.
        out: [capacity, H] like `hidden`.

    Returns: [capacity, H]; rows of padding, and of an input row outside `hidden`, are zero.
    Raises TypeError or ValueError for a wrong type, dtype, shape or device.
    """
    args = Args("gather_next_token")
    args.tensor("hidden", hidden, ("T", "H"), (*FLOATS, torch.float64))
    rows = _contiguous(
        args, "output_rows", args.tensor("output_rows", schedule.output_rows, ("N",), INT32)
    )
    if out is None:
        out = torch.empty(
            (rows.shape[0], hidden.shape[1]), dtype=hidden.dtype, device=hidden.device
        )
    args.tensor("out", out, ("N", "H"), (hidden.dtype,))
    if out.numel() == 0:
        return out
    if use_triton(args.op, hidden.device):
        from kernels.schedule.triton import gather_next_token_triton

        gather_next_token_triton(hidden, rows, out)
    else:
        gather_next_token_reference(hidden, rows, out)
    return out


def update_status(
    accept_tokens: torch.Tensor,
    accept_num: torch.Tensor,
    step_idx: torch.Tensor,
    stop_flags: torch.Tensor,
    seq_lens_this_time: torch.Tensor,
    seq_lens_encoder: torch.Tensor,
    seq_lens_decoder: torch.Tensor,
    token_ids_all: torch.Tensor,
    prompt_lens: torch.Tensor,
    max_dec_len: torch.Tensor,
    end_tokens: torch.Tensor,
    step_input_ids: torch.Tensor,
    *,
    mask_rollback: torch.Tensor | None = None,
    has_running: torch.Tensor | None = None,
    is_block_step: torch.Tensor | None = None,
    prefill_one_step_stop: bool = False,
    end_when_full: bool = True,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Move every request past a step, in place, in one launch and without a host sync.

    Args (io: read and written):
        accept_tokens: [B, S] int64 or int32, io. What the step put out. Cut after an end token, or
            where the request is full (`max_dec_len` tokens, or L in all). Columns from `accept_num`
            on become -1.
        accept_num: [B] int32, io: how many, at most S; cut likewise. 0 for a slot that had stopped
            before.
        step_idx: [B] or [B, 1] int64 or int32, io: the COUNT of generated tokens, grows by
            `accept_num`.
        stop_flags: [B] bool, io.
        seq_lens_this_time: [B] int32, io: becomes 1 for a slot that decodes on, else 0; a proposer
            raises it.
        seq_lens_encoder: [B] int32, io: becomes 0.
        seq_lens_decoder: [B] int32, io: tokens in the cache; grows by the prefill's length or by
            `accept_num`. A slot that stops in this step keeps it until the next, for the message;
            then it becomes 0.
        token_ids_all: [B, L] int64 or int32, io: the k-th generated token (from 1) is written at
            prompt_len + k - 1.
        prompt_lens, max_dec_len: [B] or [B, 1] int64 or int32.
        end_tokens: [E] int64 or int32, E 0 to 64. (Its length is compiled in: a server has one.)
        step_input_ids: [B, W] int64 or int32, io: column 0 becomes the last token put out.
        mask_rollback: [B] int32, written: the cache rows that this step filled in vain.
        has_running: [1] bool, written. A blocked slot that has not stopped runs.
        is_block_step: [B] bool: such a slot is left as it is.
        prefill_one_step_stop: stop a request after its prefill's token, as a prefill-only worker
            does.
        end_when_full: the last token of a full request becomes `end_tokens[0]`, if there is one:
            FastDeploy's rule. False leaves the token that was drawn, so that its logprob is that of
            a token the model chose.

    Returns: (mask_rollback, has_running). Raises TypeError or ValueError for a wrong type, dtype,
    shape or device, or strides that cannot be written.

    Source: FastDeploy's `unified_update_model_status`, where step_idx has been a count since its
    #7774; unlike it, the last tokens of a request that stops are in the history too, and a full
    history stops a request.
    """
    args = Args("update_status")
    tokens = args.tensor("accept_tokens", accept_tokens, ("B", "S"), INTS)
    num = _contiguous(args, "accept_num", args.tensor("accept_num", accept_num, ("B",), INT32))
    steps = _per_slot(args, "step_idx", step_idx)
    flags = _contiguous(args, "stop_flags", args.tensor("stop_flags", stop_flags, ("B",), BOOL))
    named = {
        "seq_lens_this_time": seq_lens_this_time,
        "seq_lens_encoder": seq_lens_encoder,
        "seq_lens_decoder": seq_lens_decoder,
    }
    lens = [
        _contiguous(args, n, args.tensor(n, value, ("B",), INT32)) for n, value in named.items()
    ]
    history = args.tensor("token_ids_all", token_ids_all, ("B", "L"), INTS)
    prompts = _per_slot(args, "prompt_lens", prompt_lens)
    most = _per_slot(args, "max_dec_len", max_dec_len)
    ends = args.tensor("end_tokens", end_tokens, ("E",), INTS).contiguous()
    args.integer("the number of end_tokens", ends.shape[0], 0, 64)
    inputs = args.tensor("step_input_ids", step_input_ids, ("B", "_"), INTS)
    blocked = args.optional("is_block_step", is_block_step, ("B",), BOOL)
    slots, device = args.sizes["B"], tokens.device
    if mask_rollback is None:
        mask_rollback = torch.empty(slots, dtype=torch.int32, device=device)
    if has_running is None:
        has_running = torch.empty(1, dtype=torch.bool, device=device)
    _contiguous(args, "mask_rollback", args.tensor("mask_rollback", mask_rollback, ("B",), INT32))
    args.tensor("has_running", has_running, (1,), BOOL)
    for name, value in (
        ("accept_tokens", tokens),
        ("token_ids_all", history),
        ("step_input_ids", inputs),
    ):
        if slots > 1 and value.stride(0) == 0:
            raise args.fail(f"{name} is written, and its rows share memory")
    if 0 in (tokens.shape[1], inputs.shape[1]):
        raise args.fail("accept_tokens and step_input_ids need at least one column")
    if slots == 0:
        has_running.zero_()
        return mask_rollback, has_running
    if use_triton(args.op, device):
        from kernels.schedule.triton import update_status_triton as update
    else:
        update = update_status_reference
    update(
        tokens,
        num,
        steps,
        flags,
        *lens,
        history,
        prompts,
        most,
        ends,
        inputs,
        mask_rollback,
        has_running,
        is_block_step=None if blocked is None else blocked.contiguous(),
        prefill_one_step_stop=bool(prefill_one_step_stop),
        end_when_full=bool(end_when_full),
    )
    return mask_rollback, has_running


def _per_slot(args: Args, name: str, value: object) -> torch.Tensor:
    """A [B] view of an argument given as [B] or [B, 1]; a view, since some of them are written."""
    column = isinstance(value, torch.Tensor) and value.dim() == 2
    checked = args.tensor(name, value, ("B", 1) if column else ("B",), INTS)
    return _contiguous(args, name, checked).view(-1)


def _contiguous(args: Args, name: str, value: torch.Tensor) -> torch.Tensor:
    if not value.is_contiguous():
        raise args.fail(f"{name} must be contiguous, got strides {value.stride()}")
    return value
