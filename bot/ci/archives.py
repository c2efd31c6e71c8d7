"""JUnit and coverage files out of artifacts: zip files that a stranger made."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

from bot.safe_zip import BadArchive, is_plain_file, open_archive, read_member

# A test run's results are some megabytes; what is much more is no report, or a bomb.
MOST_MEMBERS = 5_000
MOST_FILES = 200
LARGEST_FILE = 100 << 20
LARGEST_ALL = 300 << 20
_JUNIT = re.compile(rb"<testsuites?[\s>/]")
_COBERTURA = re.compile(rb"<coverage[\s>]")
_LCOV = re.compile(rb"(?m)^(?:TN:|SF:)")


@dataclass(frozen=True)
class ArchivedReport:
    """A report in an archive: `kind` is `junit` or `coverage`, `name` is safe as a file's name."""

    kind: str
    name: str
    data: bytes


def reports(archive: bytes) -> Iterator[ArchivedReport]:
    """The JUnit and coverage files in a zip file, told by their content.

    Raises `BadArchive`: it is broken, or larger than a report can be.

    Names in it are never used as paths; links, encrypted members and names that lead elsewhere are
    left out.
    """
    left, files = LARGEST_ALL, 0
    with open_archive(archive, MOST_MEMBERS) as file:
        for member in filter(_wanted, file.infolist()):
            data = read_member(file, member, min(left, LARGEST_FILE))
            left -= len(data)
            kind = _kind(data)
            if kind is None:
                continue
            files += 1
            if files > MOST_FILES:
                raise BadArchive("files")
            yield ArchivedReport(kind, _safe(member.filename), data)


def _wanted(member: zipfile.ZipInfo) -> bool:
    name = member.filename.replace("\\", "/")
    if member.is_dir() or not is_plain_file(member):
        return False
    if name.startswith("/") or ":" in name or ".." in name.split("/"):
        return False
    return name.lower().endswith((".xml", ".info", ".lcov"))


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
