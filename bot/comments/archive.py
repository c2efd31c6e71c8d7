"""Files out of an artifact: a zip file from a machine on which a stranger's code ran."""

from __future__ import annotations

import re
import stat
import zipfile
import zlib
from io import BytesIO

MOST_MEMBERS = 200
LARGEST = 256 << 20
HIGHEST_RATIO = 200
_SMALL = 1 << 20
_CHUNK = 1 << 20


class BadArchive(Exception):
    """No archive that we would open, and why: one word."""


def members(archive: bytes, wanted: re.Pattern[str], largest: int = LARGEST) -> dict[str, bytes]:
    """The members whose whole name is `wanted`, at most `largest` bytes in all. Raises `BadArchive`.

    Nothing is written anywhere, and a name is never used as a path before it matched. Links and encrypted members are
    refused, as is a name that comes twice: two readers could see two files.
    """
    try:
        with zipfile.ZipFile(BytesIO(archive)) as opened:
            return _members(opened, wanted, largest)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError, ValueError) as error:
        raise BadArchive(type(error).__name__) from None


def _members(opened: zipfile.ZipFile, wanted: re.Pattern[str], largest: int) -> dict[str, bytes]:
    listed = opened.infolist()
    if len(listed) > MOST_MEMBERS:
        raise BadArchive("members")
    if len({one.filename for one in listed}) < len(listed):
        raise BadArchive("twice")
    made: dict[str, bytes] = {}
    for one in listed:
        if not wanted.fullmatch(one.filename) or one.is_dir():
            continue
        mode = one.external_attr >> 16
        if one.flag_bits & 1 or stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise BadArchive("kind")
        made[one.filename] = _read(opened, one, largest)
        largest -= len(made[one.filename])
    return made


def _read(opened: zipfile.ZipFile, one: zipfile.ZipInfo, most: int) -> bytes:
    """What comes out counts, not what the archive says of it."""
    made = bytearray()
    with opened.open(one) as stream:
        while chunk := stream.read(_CHUNK):
            made += chunk
            bomb = len(made) > _SMALL and len(made) > HIGHEST_RATIO * max(1, one.compress_size)
            if bomb or len(made) > most:
                raise BadArchive("size")
    return bytes(made)
