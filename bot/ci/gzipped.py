"""Files of a saved run that were left compressed with gzip, as storage and proxies deliver logs."""

from __future__ import annotations

import gzip
import tempfile
import zlib
from typing import BinaryIO, cast

from bot.ci.source import LARGEST_LOG

_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 20
# What is larger than this goes to a file.
_IN_MEMORY = 8 << 20


def unpacked(file: BinaryIO) -> BinaryIO | None:
    """The content of `file`, which it takes over; None where more than the largest log is in it.

    A file that is not compressed is given back as it is. Of one that is cut off or broken one gets
    what came before the break.
    """
    magic = file.read(len(_MAGIC))
    file.seek(0)
    if magic != _MAGIC:
        return file
    content = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
    with file, gzip.GzipFile(fileobj=file) as packed:
        while chunk := _next_chunk(packed):
            content.write(chunk)
            if content.tell() > LARGEST_LOG:
                content.close()
                return None
    content.seek(0)
    return cast(BinaryIO, content)


def _next_chunk(packed: gzip.GzipFile) -> bytes:
    """Empty at the end, and where the file is broken."""
    try:
        return packed.read1(_CHUNK)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return b""
