"""Files out of an artifact: a zip file from a machine on which a stranger's code ran."""

from __future__ import annotations

import re

from bot.safe_zip import BadArchive, opened, plain, read

MOST_MEMBERS = 200
LARGEST = 256 << 20


def members(archive: bytes, wanted: re.Pattern[str], largest: int = LARGEST) -> dict[str, bytes]:
    """The members whose whole name is `wanted`, at most `largest` bytes in all. Raises `BadArchive`.

    Nothing is written anywhere, and a name is never used as a path before it matched. Links and encrypted members are
    refused, as is a name that comes twice: two readers could see two files.
    """
    made: dict[str, bytes] = {}
    with opened(archive, MOST_MEMBERS) as file:
        listed = file.infolist()
        if len({one.filename for one in listed}) < len(listed):
            raise BadArchive("twice")
        for one in listed:
            if not wanted.fullmatch(one.filename) or one.is_dir():
                continue
            if not plain(one):
                raise BadArchive("kind")
            made[one.filename] = read(file, one, largest)
            largest -= len(made[one.filename])
    return made
