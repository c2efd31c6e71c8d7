"""Logprob records as JSON lines: a streaming reader and a writer of the same bytes for the same
record.

The reader takes lines of bytes and gives records one by one, so that memory is that of one line.
Arrays of numbers stand as JSON lists, in which "nan", "inf" and "-inf" are strings, or packed:
{"f4": "0000803f..."}, the little-endian bytes of an i4, i8, f4 or f8 array in hexadecimal. The
writer packs the numbers that nobody reads with the eye, in the smallest type that holds them
exactly: at 20 columns such a line is read three times as fast as lists. `FORMAT.md` has every
field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, TypeVar

import orjson

from checks.logprobs.arrays import (
    FieldError,
    pack,
    plain,
    plain_tables,
    read_floats,
    read_ints,
    read_tables,
)
from checks.logprobs.record import (
    IDS,
    MODES,
    UNKNOWN,
    VERSION,
    Ints,
    Record,
    RecordOrigin,
    Scalar,
    prompt_hash,
)

BEGINNING = b'{"version":'
"""Of every line that `write` made."""
LONGEST = 1 << 28
"""Bytes of the longest line that is read: a file without line ends must not fill the memory."""

T = TypeVar("T", bound=str)
_HASH = re.compile(r"[0-9a-f]{64}")
_ORIGIN = RecordOrigin.__dataclass_fields__
_REQUIRED = ("version", "id", "tokens", "logprobs")
_OPTIONAL = (
    "prompt",
    "prompt_sha256",
    "origin",
    "ids",
    "sampling",
    "speculative",
    "finish_reason",
    "texts",
)
_ARRAYS = ("ranks", "accept_num", "logz", "max_logit", "topk_ids", "topk_logprobs")
_KNOWN = frozenset((*_REQUIRED, *_OPTIONAL, *_ARRAYS))
_NO_TABLE = {"i4": ""}
_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_COMPRESSED = (
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ\0",
    b"PK\x03\x04",
    b"BZh",
)  # gzip, zstd, xz, zip, bzip2
_NOT_FINITE = re.compile("NaN|Infinity")  # as Python's json writes them


class RecordError(ValueError):
    """A line that is no record. `key` names a sentence (`errors.record-<key>`).

    line: counts from 1. args_: the sentence's arguments.
    """

    def __init__(self, key: str, line: int, /, **args: Any) -> None:
        super().__init__(key, line, args)
        self.key = key
        self.line = line
        self.args_ = args


def lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, a too long one cut after `LONGEST` + 1 bytes, which `read` refuses."""
    while line := file.readline(LONGEST + 1):
        yield line


def read(source: Iterable[bytes]) -> Iterator[Record]:
    """The records of `source`, lines with their ends; empty lines are passed over.

    Raises `RecordError` at the first line that is no record. Ids are not compared: one may stand
    there twice.
    """
    for number, line in enumerate(source, 1):
        if not line.isspace():
            yield parse(line, number)


def parse(line: bytes, number: int = 1) -> Record:
    """The record of one line. Raises `RecordError` with that line number."""
    data = _object(line, number)
    try:
        return _record(data)
    except FieldError as error:
        raise RecordError(error.key, number, field=error.field, **error.args_) from error


def write(record: Record, *, packed: bool = True) -> bytes:
    """The record's line. The same record gives the same bytes; without `packed` every array is a
    JSON list.
    """
    data: dict[str, Any] = {"version": VERSION, "id": record.id}
    if record.prompt is not None:
        data["prompt"] = record.prompt
    data["prompt_sha256"] = record.prompt_sha256
    data["origin"] = {name: getattr(record.origin, name) for name in _ORIGIN}
    data |= {"ids": record.ids, "sampling": dict(sorted(record.sampling.items()))}
    data["speculative"] = dict(sorted(record.speculative.items()))
    data["finish_reason"] = record.finish_reason
    data |= {"tokens": plain(record.tokens), "logprobs": plain(record.logprobs)}
    if record.accept_num is not None:
        data["accept_num"] = plain(record.accept_num)
    for name in ("ranks", "logz", "max_logit"):
        values = getattr(record, name)
        if values is not None:
            data[name] = pack(values) if packed else plain(values)
    if packed:
        data["topk_ids"], data["topk_logprobs"] = pack(record.topk_ids), pack(record.topk_logprobs)
    else:
        ids, logprobs = plain_tables(record.topk_ids, record.topk_logprobs)
        data |= {"topk_ids": ids, "topk_logprobs": logprobs}
    if record.texts:
        data["texts"] = {str(token): record.texts[token] for token in sorted(record.texts)}
    return orjson.dumps(data, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY)


def _object(line: bytes, number: int) -> dict[str, Any]:
    if number == 1 and line.startswith(_BOMS):
        raise RecordError("encoding", number)
    if len(line) > LONGEST:
        raise RecordError("too-long", number, most=LONGEST)
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise _broken(line, number, error) from error
    if not isinstance(data, dict):
        raise RecordError("not-an-object", number)
    return data


def _broken(line: bytes, number: int, error: orjson.JSONDecodeError) -> RecordError:
    if number == 1 and line.startswith(_COMPRESSED):
        return RecordError("compressed", number)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as wrong:
        # a character that is cut in two at the end of the file was whole before the file was cut
        if not (line.endswith(b"\n") or wrong.end < len(line)):
            return RecordError("truncated", number)
        return RecordError("not-utf8", number, column=wrong.start + 1)
    if "\0" in text:
        return RecordError("encoding", number)
    if not line.endswith(b"\n"):
        return RecordError("truncated", number)
    if _NOT_FINITE.match(text, error.pos):
        return RecordError("not-finite", number, column=error.colno)
    return RecordError("not-json", number, column=error.colno)


def _record(data: dict[str, Any]) -> Record:
    _check_fields(data)
    tokens = read_ints(data["tokens"], "tokens", None)
    n = len(tokens)
    topk_ids, topk_logprobs = read_tables(
        data.get("topk_ids", _NO_TABLE), data.get("topk_logprobs", _NO_TABLE), n
    )
    prompt, digest = _prompt(data)
    return Record(
        id=_text(data, "id"),
        tokens=tokens,
        logprobs=read_floats(data["logprobs"], "logprobs", n),
        topk_ids=topk_ids,
        topk_logprobs=topk_logprobs,
        prompt_sha256=digest,
        prompt=prompt,
        ranks=read_ints(data["ranks"], "ranks", n) if "ranks" in data else None,
        accept_num=_accept_num(data, n),
        logz=read_floats(data["logz"], "logz", n) if "logz" in data else None,
        max_logit=read_floats(data["max_logit"], "max_logit", n) if "max_logit" in data else None,
        origin=_origin(data),
        sampling=_scalars(data, "sampling"),
        speculative=_scalars(data, "speculative"),
        ids=_one_of(data.get("ids", "token"), "ids", IDS),
        texts=_texts(data),
        finish_reason=_text(data, "finish_reason", ""),
    )


def _check_fields(data: dict[str, Any]) -> None:
    """All that a record needs is there, nothing is there that is not known, and the version is
    ours.
    """
    if "version" not in data:
        raise FieldError("missing", "version")
    if type(data["version"]) is not int or data["version"] != VERSION:
        raise FieldError("version", "version", given=str(data["version"]), wanted=VERSION)
    for name in _REQUIRED:
        if name not in data:
            raise FieldError("missing", name)
    unknown = sorted(data.keys() - _KNOWN)
    if unknown:
        raise FieldError("unknown-field", unknown[0])


def _accept_num(data: dict[str, Any], n: int) -> Ints | None:
    if "accept_num" not in data:
        return None
    steps = read_ints(data["accept_num"], "accept_num", None)
    if (steps < 0).any() or int(steps.sum()) != n:
        raise FieldError("accept-num", "accept_num", wanted=n)
    return steps


def _prompt(data: dict[str, Any]) -> tuple[str | None, str]:
    """The prompt, where it is there, and its hash. One of the two must be there, and both must
    agree.
    """
    prompt = _text(data, "prompt") if "prompt" in data else None
    digest = _text(data, "prompt_sha256") if "prompt_sha256" in data else None
    if prompt is None and digest is None:
        raise FieldError("missing", "prompt_sha256")
    if digest is None:
        return prompt, prompt_hash(prompt or "")
    if digest != UNKNOWN and not _HASH.fullmatch(digest):
        raise FieldError("prompt-hash", "prompt_sha256")
    if prompt is not None and prompt_hash(prompt) != digest:
        raise FieldError("prompt-hash", "prompt_sha256")
    return prompt, digest


def _origin(data: dict[str, Any]) -> RecordOrigin:
    given = data.get("origin", {})
    if not isinstance(given, dict) or not given.keys() <= _ORIGIN.keys():
        raise FieldError("origin", "origin", names=list(_ORIGIN))
    return RecordOrigin(
        model=_text(given, "model", UNKNOWN),
        mode=_one_of(_text(given, "mode", UNKNOWN), "mode", MODES),
        device=_text(given, "device", UNKNOWN),
        engine=_text(given, "engine", UNKNOWN),
        engine_version=_text(given, "engine_version", UNKNOWN),
        logits_dtype=_text(given, "logits_dtype", UNKNOWN),
    )


def _scalars(data: dict[str, Any], field: str) -> dict[str, Scalar]:
    values = data.get(field, {})
    if not isinstance(values, dict):
        raise FieldError("scalars", field)
    if any(isinstance(value, list | dict) for value in values.values()):
        raise FieldError("scalars", field)
    return values


def _texts(data: dict[str, Any]) -> dict[int, str]:
    given = data.get("texts", {})
    try:
        texts = {int(token): text for token, text in given.items()}
    except (AttributeError, ValueError) as error:
        raise FieldError("texts", "texts") from error
    if not all(isinstance(text, str) for text in texts.values()):
        raise FieldError("texts", "texts")
    return texts


def _text(data: dict[str, Any], field: str, default: str | None = None) -> str:
    value = data.get(field, default)
    if not isinstance(value, str):
        raise FieldError("text", field)
    return value


def _one_of(value: Any, field: str, choices: tuple[T, ...]) -> T:
    for choice in choices:
        if value == choice:
            return choice
    raise FieldError("choice", field, choices=list(choices))
