"""Files out of an artifact: a zip file from a machine on which a stranger's code ran."""

from __future__ import annotations

import re

from bot.safe_zip import BadArchive, is_plain_file, open_archive, read_member

MOST_MEMBERS = 200
LARGEST = 256 << 20


def members(archive: bytes, wanted: re.Pattern[str], largest: int = LARGEST) -> dict[str, bytes]:
    """The members whose whole name matches `wanted`, at most `largest` bytes in all.

    Nothing is written anywhere, and a name is never used as a path before it matched. Links and
    encrypted members are refused, as is a name that comes twice: two readers could see two files.
    Raises `BadArchive`.
    """
    contents: dict[str, bytes] = {}
    with open_archive(archive, MOST_MEMBERS) as file:
        listed = file.infolist()
        names = {member.filename for member in listed}
        if len(names) < len(listed):
            raise BadArchive("twice")
        for member in listed:
            if not wanted.fullmatch(member.filename) or member.is_dir():
                continue
            if not is_plain_file(member):
                raise BadArchive("kind")
            data = read_member(file, member, largest)
            largest -= len(data)
            contents[member.filename] = data
    return contents
