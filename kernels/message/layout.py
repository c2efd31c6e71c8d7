"""The layout of a per-step output message, declared once: packer, unpacker and `LAYOUT.md` all come
from it.

A message is a run of 32-bit words: a header, then one group of fields repeated. Every size is a
number or the name of a field that was read before, so that a reader never assumes a width that the
writer did not say.

    python -m kernels.message        prints LAYOUT.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

INT32_MIN = -(1 << 31)
PREEMPTED = -9
"""A count that says: this slot's request was preempted; it has no rows."""
INVALID = INT32_MIN
"""What a packer writes for a value that has no place in its field. A reader refuses it."""
TARGET, DRAFT = 3, 4


class MessageError(ValueError):
    """A message that cannot be what its writer meant: another layout, a field out of range, too few
    words."""


@dataclass(frozen=True)
class Bits:
    """A part of a word.

    `allowed` names the only values a reader takes, () every value that fits.
    """

    name: str
    shift: int
    width: int
    meaning: str
    allowed: tuple[int, ...] = ()

    @property
    def highest(self) -> int:
        return (1 << self.width) - 1


@dataclass(frozen=True)
class Field:
    """`size` words: a number, or the name of a size read before it."""

    name: str
    dtype: torch.dtype
    size: int | str
    meaning: str
    bits: tuple[Bits, ...] = ()


@dataclass(frozen=True)
class Layout:
    """A header, then `group` repeated `repeat` times.

    The size `rows` is the sum of the positive counts.
    """

    name: str
    header: tuple[Field, ...]
    repeat: int | str
    group: tuple[Field, ...]

    def offsets(self, fields: tuple[Field, ...], sizes: Mapping[str, int]) -> dict[str, int]:
        """Where each field starts, in words, and under `end` how many words all of them take."""
        places, at = {}, 0
        for field in fields:
            places[field.name] = at
            at += words(field.size, sizes)
        places["end"] = at
        return places

    def length(self, sizes: Mapping[str, int]) -> int:
        """The words of a whole message."""
        group = self.offsets(self.group, sizes)["end"]
        return self.offsets(self.header, sizes)["end"] + words(self.repeat, sizes) * group


def words(size: int | str, sizes: Mapping[str, int]) -> int:
    """A size as a number."""
    return size if isinstance(size, int) else sizes[size]


COUNTS = (
    "rows of each slot; 0: nothing to send (stopped, or its prompt is still being read); "
    f"{PREEMPTED}: preempted"
)

CURRENT = Layout(
    name="current",
    header=(
        Field(
            "stop_word",
            torch.int32,
            1,
            "the message id, negated once no request runs; 2 and 0 are reserved",
        ),
        Field(
            "meta",
            torch.int32,
            1,
            "what the rows are and how wide they are",
            bits=(
                Bits(
                    "message_flag",
                    0,
                    8,
                    f"{TARGET}: tokens of the target model, {DRAFT}: of the draft model",
                ),
                Bits(
                    "num_logprobs",
                    8,
                    16,
                    "columns of a row: the sampled token, then the top k; at least 1",
                ),
                Bits(
                    "reserved",
                    24,
                    8,
                    "0, so that a later layout can make this reader refuse it",
                    (0,),
                ),
            ),
        ),
        Field("bsz", torch.int32, 1, "slots"),
        Field("token_counts", torch.int32, "bsz", COUNTS),
    ),
    repeat="rows",
    group=(
        Field(
            "tokens",
            torch.int32,
            "num_logprobs",
            "ids: the sampled token, then the top k; -1: no such token",
        ),
        Field("scores", torch.float32, "num_logprobs", "their logprobs"),
        Field("ranks", torch.int32, 1, "rank of the sampled token"),
    ),
)

# The layout that FastDeploy's engine read before its #7883 packed the width into meta: kept as the
# old reader that a new message has to fail in. Its flag takes the whole word, so a width in the
# upper bits makes it neither 3 nor 4.
FIXED = Layout(
    name="fixed, before the width was sent",
    header=(
        Field("stop_word", torch.int32, 1, "the message id, negated once no request runs"),
        Field(
            "meta",
            torch.int32,
            1,
            "what the rows are",
            bits=(Bits("message_flag", 0, 32, "3 target, 4 draft", (TARGET, DRAFT)),),
        ),
        Field("bsz", torch.int32, 1, "slots in use, of 512"),
        Field("token_counts", torch.int32, 512, COUNTS),
    ),
    repeat=512,
    group=(
        Field("tokens", torch.int32, 6 * 21, "row j, column k at 21 j + k"),
        Field("scores", torch.float32, 6 * 21, "likewise"),
        Field("ranks", torch.int32, 6, "of token j"),
    ),
)


def pack_bits(field: Field, values: Mapping[str, int]) -> int:
    """The word of a field made of bits; MessageError for a value that does not fit, or is not
    allowed."""
    word = 0
    for part in field.bits:
        value = values.get(part.name, 0)
        _check(part, value)
        word |= value << part.shift
    return word


def unpack_bits(field: Field, word: int) -> dict[str, int]:
    """The parts of a word; MessageError for a value that is not allowed."""
    parts = {part.name: (word >> part.shift) & part.highest for part in field.bits}
    for part in field.bits:
        _check(part, parts[part.name])
    return parts


def _check(part: Bits, value: int) -> None:
    if not 0 <= value <= part.highest:
        raise MessageError(
            f"{part.name} must fit {part.width} bits (0..{part.highest}), got {value}"
        )
    if part.allowed and value not in part.allowed:
        allowed = " or ".join(map(str, part.allowed))
        raise MessageError(
            f"{part.name} must be {allowed}, got {value}: the message has another layout"
        )


def write(
    layout: Layout, values: Mapping[str, torch.Tensor], sizes: Mapping[str, int]
) -> torch.Tensor:
    """The words of a message from a tensor per field: [size] for the header, [repeat, size] for the
    group."""
    message = torch.full((layout.length(sizes),), INVALID, dtype=torch.int32)
    head = layout.offsets(layout.header, sizes)
    inside = layout.offsets(layout.group, sizes)
    for field in layout.header:
        message[head[field.name] :][: words(field.size, sizes)] = values[field.name].to(torch.int32)
    groups = message[head["end"] :].view(-1, inside["end"])
    for field in layout.group:
        part = values[field.name].to(field.dtype).contiguous().view(torch.int32)
        groups[:, inside[field.name] :][:, : words(field.size, sizes)] = part
    return message


def read(layout: Layout, message: torch.Tensor) -> tuple[dict[str, torch.Tensor], dict[str, int]]:
    """The fields of a message (as `write` takes them) and its sizes; MessageError where it is not
    of this layout.

    `message`: int32 [>= words], on the CPU. Words after the last used row are not looked at.
    """
    values: dict[str, torch.Tensor] = {}
    sizes: dict[str, int] = {}
    at = 0
    for field in layout.header:
        size = words(field.size, sizes)
        values[field.name] = part = _take(message, at, size, field.name)
        at += size
        if size == 1:
            sizes[field.name] = int(part)
            sizes |= unpack_bits(field, int(part))
        if field.name == "bsz" and sizes["bsz"] < 1:
            raise MessageError(f"bsz must be at least 1, got {sizes['bsz']}")
    counts = values["token_counts"]
    if bool(((counts < 0) & (counts != PREEMPTED)).any()):
        raise MessageError(f"a slot has a count that means nothing: {int(counts.min())}")
    if sizes.get("num_logprobs", 1) < 1:
        raise MessageError("num_logprobs is 0: the writer did not send its width")
    sizes["rows"] = int(counts.clamp(min=0).sum())
    repeat = words(layout.repeat, sizes)
    inside = layout.offsets(layout.group, sizes)
    groups = _take(message, at, repeat * inside["end"], "rows").view(repeat, inside["end"])
    for field in layout.group:
        part = groups[:, inside[field.name] :][:, : words(field.size, sizes)]
        values[field.name] = part.contiguous().view(field.dtype)
    return values, sizes


def _take(message: torch.Tensor, at: int, size: int, name: str) -> torch.Tensor:
    if at + size > message.numel():
        raise MessageError(
            f"{name} needs words {at}..{at + size}, the message has {message.numel()}"
        )
    return message[at : at + size]


def describe(layout: Layout) -> str:
    """The layout as Markdown: a table for the header, one for the repeated group."""
    lines = ["| word | field | type | words | meaning |", "|---|---|---|---|---|"]
    lines += _table(layout.header)
    lines += ["", f"Then, {layout.repeat} times:", ""]
    lines += ["| word | field | type | words | meaning |", "|---|---|---|---|---|"]
    lines += _table(layout.group)
    return "\n".join(lines)


def _table(fields: tuple[Field, ...]) -> list[str]:
    lines, fixed, named = [], 0, []
    for field in fields:
        at = " + ".join(([str(fixed)] if fixed or not named else []) + named)
        dtype = str(field.dtype).removeprefix("torch.")
        lines.append(f"| {at} | `{field.name}` | {dtype} | {field.size} | {field.meaning} |")
        for part in field.bits:
            places = f"bits {part.shift}..{part.shift + part.width - 1}"
            lines.append(f"| | {places}: `{part.name}` | | | {part.meaning} |")
        if isinstance(field.size, int):
            fixed += field.size
        else:
            named.append(field.size)
    return lines


def document() -> str:
    """The text of LAYOUT.md."""
    return (
        "# The per-step output message\n\n"
        "Generated by `python -m kernels.message`. All words have 32 bits; "
        "`rows` is the sum of the positive\n"
        "`token_counts`, in slot order. Only the columns in use are sent.\n\n"
        + describe(CURRENT)
        + f"\n\nA packer writes {INVALID} for a value that does not fit its field; "
        + "a reader refuses it.\n"
    )
