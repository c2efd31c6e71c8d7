"""The per-step output message: `pack_message` on the device, one copy to the host, `unpack_message`
there.

`LAYOUT.md` beside this file shows the words of a message; `layout.py` declares them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import torch

from kernels._dispatch import use_triton
from kernels._validate import BOOL, FLOAT32, INT32, INTS, Args
from kernels.message.layout import (
    CURRENT,
    DRAFT,
    INVALID,
    PREEMPTED,
    TARGET,
    Layout,
    MessageError,
    pack_bits,
    read,
)
from kernels.message.reference import pack_reference

__all__ = [
    "DRAFT",
    "PREEMPTED",
    "TARGET",
    "Message",
    "MessageError",
    "copy_to_host",
    "message_words",
    "pack_message",
    "unpack_message",
]

NOTHING_RECEIVED = -2
_META = next(field for field in CURRENT.header if field.name == "meta")


@dataclass(frozen=True)
class Message:
    """What a step sent.

    Row r of `tokens`, `scores` and `ranks` belongs to the slot whose `rows` hold r.
    """

    running: bool
    message_flag: int
    token_counts: list[int]  # [B], with the codes 0 and PREEMPTED
    tokens: torch.Tensor  # [rows, num_logprobs] int32; column 0 is the sampled token
    scores: torch.Tensor  # [rows, num_logprobs] float32
    ranks: torch.Tensor  # [rows] int32

    def rows(self, slot: int) -> slice:
        """The rows of a slot."""
        ends = list(accumulate(max(count, 0) for count in self.token_counts))
        return slice(ends[slot] - max(self.token_counts[slot], 0), ends[slot])


def message_words(bsz: int, num_logprobs: int, rows: int) -> int:
    """The words of a message: 3 + bsz + rows * (2 num_logprobs + 1)."""
    return CURRENT.length({"bsz": bsz, "num_logprobs": num_logprobs, "rows": rows})


def pack_message(
    sampled_token_ids: torch.Tensor,
    logprob_token_ids: torch.Tensor,
    logprob_scores: torch.Tensor,
    logprob_ranks: torch.Tensor,
    accept_num: torch.Tensor,
    cu_batch_token_offset: torch.Tensor,
    *,
    message_flag: int = TARGET,
    running: torch.Tensor | bool = True,
    message_id: int = 1,
    num_logprobs: int | None = None,
    seq_lens_decoder: torch.Tensor | None = None,
    prompt_lens: torch.Tensor | None = None,
    preempted: torch.Tensor | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """The message of one step, packed on the device in one launch.

    Args:
        sampled_token_ids: [N] int32 or int64, packed by request: slot b's are at
            `cu_batch_token_offset[b]` on.
        logprob_token_ids: [N, C] int32 or int64, C = 1 + top k. Column 0 is taken from
            `sampled_token_ids`.
        logprob_scores: [N, C] float32.
        logprob_ranks: [N] int32 or int64.
        accept_num: [B] int32. cu_batch_token_offset: [B+1] int32, its exclusive sum.
        message_flag: 0..255; TARGET or DRAFT.
        running: whether any request still runs, a bool or a [1] bool tensor on the device (no host
            sync either way).
        message_id: 1..2**31-1 except 2, which the engine's queue reserves.
        num_logprobs: columns to send, 1..min(C, 65535); C when None. Columns beyond it are not
            touched.
        seq_lens_decoder, prompt_lens: [B] or [B, 1]; a slot with fewer tokens read than its prompt
            has sends nothing.
        preempted: [B] bool or int; such a slot sends the count PREEMPTED and no rows.
        out: int32 [>= message_words(B, num_logprobs, N)], to reuse memory under a CUDA graph.

    Returns:
        `out`, or a new int32 [message_words(B, num_logprobs, N)]. Only the words of used rows are
        written; a reader knows from the counts where they end.

    A count that reaches outside the N rows, an id or rank outside its word: the packer writes
    INVALID, and `unpack_message` raises. It cannot raise here, since it would have to read device
    memory.

    Raises:
        TypeError, ValueError: a wrong type, dtype, shape or device; a message field out of range.

    Source: the protocol of FastDeploy's speculative top-k message after its #7883, without the
    unused slots, rows and columns: for 256 slots of 4 tokens and k=1 it moves 21 KB where the fixed
    structure had 530 KB.
    """
    args = Args("pack_message")
    args.tensor("logprob_token_ids", logprob_token_ids, ("N", "C"), INTS)
    args.tensor("sampled_token_ids", sampled_token_ids, ("N",), INTS)
    args.tensor("logprob_scores", logprob_scores, ("N", "C"), FLOAT32)
    args.tensor("logprob_ranks", logprob_ranks, ("N",), INTS)
    accept_num = args.tensor("accept_num", accept_num, ("B",), INT32).contiguous()
    offsets = args.tensor(
        "cu_batch_token_offset", cu_batch_token_offset, ("B+1",), INT32
    ).contiguous()
    if (seq_lens_decoder is None) != (prompt_lens is None):
        raise args.fail("seq_lens_decoder and prompt_lens go together")
    decoder = _per_slot(args, "seq_lens_decoder", seq_lens_decoder)
    prompt = _per_slot(args, "prompt_lens", prompt_lens)
    if preempted is not None:
        preempted = args.tensor("preempted", preempted, ("B",), (*BOOL, *INTS)).contiguous()
    if isinstance(running, torch.Tensor):
        args.tensor("running", running, (1,), BOOL)
    slots, available = args.sizes["B"], args.sizes["C"]
    columns = available if num_logprobs is None else num_logprobs
    args.integer("num_logprobs", columns, 1, min(available, 65535))
    args.integer("message_id", message_id, 1, (1 << 31) - 1)
    if message_id == -NOTHING_RECEIVED:
        raise args.fail("message_id 2 is reserved: its negative means that nothing was received")
    args.integer("bsz", slots, 1, (1 << 31) - 1)
    meta = pack_bits(_META, {"message_flag": message_flag, "num_logprobs": columns})
    needed = message_words(slots, columns, args.sizes["N"])
    if out is None:
        out = torch.empty(needed, dtype=torch.int32, device=logprob_token_ids.device)
    args.tensor("out", out, ("_",), INT32)
    if out.numel() < needed or not out.is_contiguous():
        raise args.fail(f"out must be contiguous with at least {needed} words, has {out.numel()}")
    if use_triton(args.op, out.device):
        from kernels.message.triton import pack_triton as pack
    else:
        pack = pack_reference
    pack(
        sampled_token_ids,
        logprob_token_ids,
        logprob_scores,
        logprob_ranks,
        accept_num,
        offsets,
        meta=meta,
        message_id=message_id,
        running=running,
        columns=columns,
        seq_lens_decoder=decoder,
        prompt_lens=prompt,
        preempted=preempted,
        out=out,
    )
    return out


def copy_to_host(message: torch.Tensor, host: torch.Tensor | None = None) -> torch.Tensor:
    """Start the one copy of a packed message to pinned host memory; returns the host words.

    The copy is asynchronous on a GPU: wait for the current stream (or an event recorded on it)
    before reading.
    `host`: int32, pinned, at least as long; made when None. Pass a prefix of the message to move
    less, down to `message_words(B, num_logprobs, most rows this step)`.
    """
    args = Args("copy_to_host")
    args.tensor("message", message, ("_",), INT32)
    if host is None:
        host = torch.empty(message.shape, dtype=torch.int32, pin_memory=message.is_cuda)
    Args("copy_to_host").tensor("host", host, ("_",), INT32)
    if host.device.type != "cpu" or host.numel() < message.numel():
        raise args.fail(f"host must be on the CPU with at least {message.numel()} words")
    if message.is_cuda and not host.is_pinned():
        raise args.fail("host must be pinned: a copy to pageable memory waits for the device")
    host = host[: message.numel()]
    host.copy_(message, non_blocking=True)
    return host


def unpack_message(
    words: torch.Tensor | bytes | bytearray | memoryview,
    *,
    message_id: int = 1,
    layout: Layout = CURRENT,
) -> Message:
    """The message in `words` (int32 on the CPU, or bytes); extra words at the end are ignored.

    Raises MessageError, with the field and its value, for anything but a whole message of this
    layout: nothing received, another message id, a width that was not sent, a reserved bit, a
    count, id or rank out of range, too few words. A reader of an older layout fails in the same way
    on a newer message.
    """
    if not isinstance(words, torch.Tensor):
        if len(words) == 0 or len(words) % 4:
            raise MessageError(f"a message is a run of 32-bit words, got {len(words)} bytes")
        words = torch.frombuffer(bytearray(words), dtype=torch.int32)
    if words.dtype != torch.int32 or words.dim() != 1 or words.device.type != "cpu":
        raise MessageError(
            f"a message is int32 [words] on the CPU, got {words.dtype} {list(words.shape)}"
        )
    if words.numel() and abs(int(words[0])) != message_id:
        nothing = " (nothing was received)" if int(words[0]) == NOTHING_RECEIVED else ""
        raise MessageError(
            f"stop_word must be {message_id} or -{message_id}, got {int(words[0])}{nothing}"
        )
    values, sizes = read(layout, words)
    if layout is CURRENT:
        _refuse_invalid(values)
    return Message(
        running=int(values["stop_word"]) > 0,
        message_flag=sizes["message_flag"],
        token_counts=values["token_counts"].tolist(),
        tokens=values["tokens"],
        scores=values["scores"],
        ranks=values["ranks"].squeeze(1),
    )


def _refuse_invalid(values: dict[str, torch.Tensor]) -> None:
    tokens = values["tokens"]
    for name, part, lowest in (
        ("sampled token", tokens[:, :1], 0),
        ("top-k token", tokens[:, 1:], -1),
        ("rank", values["ranks"], 0),
    ):
        if part.numel() and int(part.min()) < lowest:
            value = "one that fits no word" if int(part.min()) == INVALID else int(part.min())
            raise MessageError(f"a {name} must be at least {lowest}, got {value}")


def _per_slot(args: Args, name: str, value: torch.Tensor | None) -> torch.Tensor | None:
    """A [B] view of an optional per-slot argument given as [B] or [B, 1]."""
    if value is None:
        return None
    column = isinstance(value, torch.Tensor) and value.dim() == 2
    checked = args.tensor(name, value, ("B", 1) if column else ("B",), INTS)
    return (checked.reshape(-1) if column else checked).contiguous()
