"""Files that have another path now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from checks.core.change import ChangeSet, FileChange
from checks.core.finding import Location, Message
from checks.summary.claims.wording import MOST_NAMED
from checks.summary.model import Claim


def describe_renamed_files(change: ChangeSet) -> Iterator[Claim]:
    """One sentence for the files that went from one folder to another, and one for each that has
    another name."""
    together: dict[tuple[str, str, bool], list[FileChange]] = {}
    for file in change.files:
        if file.status != "R" or file.base_path is None or file.head_path is None:
            continue
        old, new = PurePosixPath(file.base_path), PurePosixPath(file.head_path)
        if old.name == new.name:
            key = (str(old.parent), str(new.parent), not file.hunks)
            together.setdefault(key, []).append(file)
        else:
            yield _describe_new_name(file, old, new)
    for (before, now, unchanged), files in together.items():
        names = [PurePosixPath(file.path).name for file in files]
        args = {
            "files": names[:MOST_NAMED],
            "more": max(0, len(names) - MOST_NAMED),
            "old": before,
            "new": now,
            "unchanged": unchanged,
        }
        places = tuple(Location(file.path, 0) for file in files)
        stems = tuple(PurePosixPath(name).stem for name in names)
        yield Claim(Message("files-moved", args), places, stems)


def _describe_new_name(file: FileChange, old: PurePosixPath, new: PurePosixPath) -> Claim:
    args = {"old": old.name, "new": new.name, "unchanged": not file.hunks}
    if old.parent != new.parent:
        args |= {"old": str(old), "new": str(new)}
    return Claim(Message("file-renamed", args), (Location(str(new), 0),), (new.stem, old.stem))
