"""The files that a source includes, and a rewritten copy of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from kernels.emulator.discovery import hardware_of
from kernels.emulator.rewrite import rewrite, rewrite_xpu
from kernels.emulator.rewrite.text import UnbalancedBracket

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
_DIRECTIVE = re.compile(
    r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(include(?:_next)?|import|embed)\b(.*)$", re.MULTILINE
)
_SPLICE = re.compile(r"\\[ \t]*\n")
_LARGEST = 4 << 20


class SourceRefused(Exception):
    """A source that will not be compiled; the text says why."""


@dataclass
class SourceFiles:
    """A source with all that it includes from the repository: rewritten text by path.

    Includes name files by their whole paths. `switches` are names that its build defines.
    """

    source: str
    texts: dict[str, str] = field(default_factory=dict)
    switches: list[str] = field(default_factory=list)


def collect(
    root: Path,
    source: str,
    runtime: Path,
    text: str | None = None,
    rewriter: Callable[[str, str], str] | None = None,
) -> SourceFiles:
    """The files of `source` (a path relative to `root`); `text` stands for it where it is given.

    `rewriter` takes the path and the text of each. Raises `SourceRefused`.
    """
    rewriter = rewriter or _rewritten
    given = {} if text is None else {source: text}
    files = SourceFiles(source)
    pending = [source]
    while pending:
        path = pending.pop()
        if path in files.texts:
            continue
        text = given.get(path) or _read(root, path)
        _check_directives(path, text)
        places = {}
        for quote, name in _INCLUDE.findall(text):
            found = _find(root, path, quote, name, runtime)
            if found is not None:
                places[name] = found
                pending.append(found)
        files.texts[path] = _with_places(rewriter(path, text), places)
    return files


def _with_places(text: str, places: dict[str, str]) -> str:
    """`text` with the whole path of each included file: two folders may have one of a name."""

    def replace(match: re.Match[str]) -> str:
        place = places.get(match[2])
        return match[0] if place is None else f'#include "{place}"'

    return _INCLUDE.sub(replace, text)


def _read(root: Path, path: str) -> str:
    file = root / path
    if file.is_symlink() or not file.resolve().is_relative_to(root.resolve()):
        raise SourceRefused(f"{path} is a link out of the tree")
    try:
        data = file.read_bytes()
    except OSError as error:
        raise SourceRefused(f"{path}: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise SourceRefused(f"{path} is larger than {_LARGEST} bytes")
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _rewritten(path: str, text: str) -> str:
    try:
        return rewrite_xpu(text) if hardware_of(path) == "xpu" else rewrite(text)
    except (UnbalancedBracket, ValueError, IndexError) as error:
        raise SourceRefused(f"{path}: {error}") from error


def _check_directives(path: str, text: str) -> None:
    """Refuse what would read a file that is not part of the tree or of the compiler."""
    for word, rest in _DIRECTIVE.findall(_SPLICE.sub("", text)):
        target = rest.strip()
        if word == "embed":
            raise SourceRefused(f"{path}: #embed is refused")
        if not target.startswith(('"', "<")):
            raise SourceRefused(f"{path}: #{word} of a macro is refused: {target[:60]}")
        name = re.split(r'[">]', target[1:], maxsplit=1)[0]
        if name.startswith(("/", "~")) or "\\" in name:
            raise SourceRefused(f"{path}: includes a file outside of the tree: {name[:120]}")


def _find(root: Path, includer: str, quote: str, name: str, runtime: Path) -> str | None:
    """The path of an included file in the tree.

    Build files say which folders are searched; nearly always they are above the file itself, or
    are named `include` beside those. Last comes a folder beside the file or one above it, if only
    one of those has the file.
    """
    if quote == "<" and (runtime / name).is_file():
        return None
    for folder in _searched(root, includer, quote):
        path = _normal(folder / name)
        if path is not None and (root / path).is_file():
            return path
    return None if quote == "<" else _beside(root, includer, name)


def _beside(root: Path, includer: str, name: str) -> str | None:
    if name.startswith(".") or "*" in name:
        return None
    for folder in PurePosixPath(includer).parents:
        found = [path for path in (root / folder).glob(f"*/{name}") if path.is_file()]
        if len(found) == 1:
            return found[0].relative_to(root).as_posix()
    return None


def _searched(root: Path, includer: str, quote: str) -> Iterator[PurePosixPath]:
    above = PurePosixPath(includer).parents
    yield from above
    if quote == "<":
        return
    for folder in above[:-1]:
        for pattern in ("include", "*/include"):
            for include in sorted((root / folder).glob(pattern)):
                yield PurePosixPath(include.relative_to(root).as_posix())


def _normal(path: PurePosixPath) -> str | None:
    """Without `..`; None where the path leaves the tree."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
