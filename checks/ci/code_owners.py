"""Who owns the files of a change, by the repository's CODEOWNERS.

The file that counts is the base's, as on GitHub: a change cannot appoint its own reviewers. Of
several lines that match a file the last one counts; one without owners takes the file from all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checks.core.config import matches
from checks.core.tree import Tree

# GitHub takes the first of these that there is.
_PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
_OWNER = re.compile(r"@[\w.-]{1,60}(?:/[\w.-]{1,100})?|[^@\s]{1,64}@[\w.-]{1,100}")


@dataclass(frozen=True, slots=True)
class OwnedFiles:
    """Changed `files` that one line of CODEOWNERS, `pattern`, gives to `owners`."""

    pattern: str
    owners: tuple[str, ...]
    files: tuple[str, ...]


def owned_files(base: Tree, paths: Iterable[str]) -> list[OwnedFiles]:
    """`paths` by the line of the base's CODEOWNERS that decides on each, in the file's order."""
    lines = list(_lines(base))
    found: dict[int, list[str]] = {}
    for path in paths:
        deciding = [n for n, (_, globs, _) in enumerate(lines) if matches(path, globs)]
        if deciding:
            found.setdefault(deciding[-1], []).append(path)
    groups = []
    for number in sorted(found):
        pattern, _, owners = lines[number]
        if owners:
            groups.append(OwnedFiles(pattern, owners, tuple(found[number])))
    return groups


def _lines(base: Tree) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """(pattern, globs, owners) of each line."""
    data = next((text for text in map(base.read, _PLACES) if text is not None), b"")
    for line in data.decode("utf-8", "replace").splitlines():
        words = line.split(" #")[0].split()
        if words and not words[0].startswith("#"):
            owners = tuple(word for word in words[1:] if _OWNER.fullmatch(word))
            yield words[0], _globs(words[0]), owners


def _globs(pattern: str) -> tuple[str, ...]:
    """A pattern of CODEOWNERS, which is one of .gitignore, as globs from the top of the tree."""
    is_anchored = "/" in pattern.rstrip("/")
    body = pattern.strip("/")
    if not body:
        return ()
    top = body if is_anchored else f"**/{body}"
    if pattern.endswith("/"):
        return (f"{top}/**",)
    # `docs/*` means the files of that folder alone, `docs` all that is in it.
    return (top,) if body.endswith("/*") else (top, f"{top}/**")
