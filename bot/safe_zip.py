"""Zip files that a stranger made: read in memory, and never more of them than the caller takes."""

from __future__ import annotations

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO

HIGHEST_RATIO = 200
_SMALL = 1 << 20
_CHUNK = 1 << 20
# What `zipfile` and its decompressors raise for bytes that are no such archive; a place in the file
# that no file has is an OverflowError.
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class BadArchive(Exception):
    """No archive that we would open, and why: one word."""


@contextmanager
def open_archive(archive: bytes, most_members: int) -> Iterator[zipfile.ZipFile]:
    """The zip file, to be read inside. Raises `BadArchive`, also for what turns out to be broken
    there."""
    try:
        with zipfile.ZipFile(BytesIO(archive)) as made:
            if len(made.infolist()) > most_members:
                raise BadArchive("members")
            yield made
    except _ZIP_ERRORS as error:
        raise BadArchive(type(error).__name__) from None


def is_plain_file(member: zipfile.ZipInfo) -> bool:
    """A file that is neither a link nor encrypted."""
    return not member.flag_bits & 1 and stat.S_IFMT(member.external_attr >> 16) in (0, stat.S_IFREG)


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """A member of at most `most` bytes: what comes out counts, not what the archive says of it.
    Raises `BadArchive`."""
    made = bytearray()
    with archive.open(member) as stream:
        while chunk := stream.read(_CHUNK):
            made += chunk
            bomb = len(made) > _SMALL and len(made) > HIGHEST_RATIO * max(1, member.compress_size)
            if bomb or len(made) > most:
                raise BadArchive("size")
    return bytes(made)
