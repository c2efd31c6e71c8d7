"""JUnit and coverage files out of artifacts: zip files that a stranger made."""

from __future__ import annotations

import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

# A test run's results are some megabytes; what is much more is no report, or a bomb.
MOST_MEMBERS = 5_000
MOST_FILES = 200
LARGEST_FILE = 100 << 20
LARGEST_ALL = 300 << 20
HIGHEST_RATIO = 200
_SMALL = 1 << 20
_CHUNK = 1 << 20
# What `zipfile` and its decompressors raise for bytes that are no such archive.
_BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError, ValueError)
_JUNIT = re.compile(rb"<testsuites?[\s>/]")
_COBERTURA = re.compile(rb"<coverage[\s>]")
_LCOV = re.compile(rb"(?m)^(?:TN:|SF:)")


class Refused(Exception):
    """The archive is broken, or larger than a report can be."""


@dataclass(frozen=True)
class Found:
    """A report in an archive: `kind` is `junit` or `coverage`, `name` is safe as a file's name."""

    kind: str
    name: str
    data: bytes


def reports(archive: bytes) -> Iterator[Found]:
    """The JUnit and coverage files in a zip file, told by their content. Raises `Refused`.

    Names in it are never used as paths; links, encrypted members and names that lead elsewhere are left out.
    """
    try:
        with zipfile.ZipFile(BytesIO(archive)) as opened:
            yield from _reports(opened)
    except _BROKEN as error:
        raise Refused(type(error).__name__) from None


def _reports(opened: zipfile.ZipFile) -> Iterator[Found]:
    members = opened.infolist()
    if len(members) > MOST_MEMBERS:
        raise Refused("members")
    left, files = LARGEST_ALL, 0
    for member in members:
        if not _wanted(member):
            continue
        data = _read(opened, member, min(left, LARGEST_FILE))
        left -= len(data)
        kind = _kind(data)
        if kind is None:
            continue
        files += 1
        if files > MOST_FILES:
            raise Refused("files")
        yield Found(kind, _safe(member.filename), data)


def _wanted(member: zipfile.ZipInfo) -> bool:
    name = member.filename.replace("\\", "/")
    mode = member.external_attr >> 16
    if member.is_dir() or member.flag_bits & 1 or (mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG)):
        return False
    if name.startswith("/") or ":" in name or ".." in name.split("/"):
        return False
    return name.lower().endswith((".xml", ".info", ".lcov"))


def _read(opened: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """What comes out counts, not what the archive says of it."""
    made = bytearray()
    with opened.open(member) as stream:
        while chunk := stream.read(_CHUNK):
            made += chunk
            bomb = len(made) > _SMALL and len(made) > HIGHEST_RATIO * max(1, member.compress_size)
            if bomb or len(made) > most:
                raise Refused("size")
    return bytes(made)


def _kind(data: bytes) -> str | None:
    head = data[:4096]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.decode("utf-16", "replace").encode()
    if _JUNIT.search(head):
        return "junit"
    return "coverage" if _COBERTURA.search(head) or _LCOV.search(head) else None


def _safe(name: str) -> str:
    """The last part of a name as letters, digits, dots and dashes."""
    last = re.sub(r"[^A-Za-z0-9._-]+", "_", name.replace("\\", "/").rsplit("/", 1)[-1])
    return last.lstrip(".")[-80:] or "results.xml"
