"""Archives of a stranger that no zip library would write, whoever reads them."""

from __future__ import annotations

import io
import re
import struct
import zipfile

import pytest

from bot.chat.artifact_archive import members
from bot.ci.archives import reports
from bot.safe_zip import BadArchive

JUNIT = b"<testsuite>" * 50
READERS = {
    "reports": lambda data: list(reports(data)),
    "members": lambda data: members(data, re.compile(r"a\.xml")),
}


def zipped(compression: int = zipfile.ZIP_STORED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        archive.writestr("a.xml", JUNIT)
    return made.getvalue()


def placed(at: int) -> bytes:
    """An archive that says, as 64 bits, that its member begins at byte `at`."""
    whole = zipped()
    directory, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    entry = bytearray(whole[directory:end]) + struct.pack("<HHQ", 1, 8, at)
    entry[30:32] = struct.pack("<H", 12)
    entry[42:46] = b"\xff" * 4
    tail = bytearray(whole[end:])
    tail[12:16] = struct.pack("<I", len(entry))
    return whole[:directory] + bytes(entry) + bytes(tail)


@pytest.fixture(params=READERS)
def read(request):
    return READERS[request.param]


def test_a_member_is_read_where_the_archive_says(read):
    assert len(read(placed(0))) == 1


@pytest.mark.hostile("archives")
@pytest.mark.parametrize("at", [1, 1 << 20, 1 << 62, 1 << 63, (1 << 64) - 1])
def test_a_member_that_begins_nowhere_is_refused(read, at):
    with pytest.raises(BadArchive):
        read(placed(at))


@pytest.mark.hostile("archives")
@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_is_spoilt_is_refused_or_read_whole(read, compression):
    """Whatever the decompressor makes of it: bits that it never looks at may be wrong."""
    whole = zipped(compression)
    begin, end = whole.index(b"a.xml") + 5, whole.index(b"PK\x01\x02")
    refused = 0
    for at in range(begin, end):
        try:
            assert read(whole[:at] + b"\xff" * (end - at) + whole[end:]) == read(whole)
        except BadArchive:
            refused += 1
    assert refused > (end - begin) / 2
