"""Sources that the linker alone needs: they define what another source only declares.

A repository links all of its ops into one library; here each source is one, and a function of
another source is missing when it is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from os.path import commonpath
from pathlib import Path

from kernels.emulator.compiler import Build
from kernels.emulator.discovery import hardware_of
from kernels.emulator.rewrite.text import mask
from kernels.emulator.symbols import undefined_functions

_SUFFIXES = (".cu", ".cc", ".cpp")
# Frameworks and the runtime define these.
_FOREIGN = ("emulator", "at", "c10", "torch", "caffe2")


def sources_to_link(root: Path, builds: Iterable[Build]) -> set[str]:
    """The sources that define the functions which those that were built declare and lack."""
    # Of a copy for other hardware its own finder knows the files.
    own = [build for build in builds if build.library and hardware_of(build.source) != "xpu"]
    lacking = {build.source: _lacking(build) for build in own if not build.modules}
    names = {name for found in lacking.values() for name in found}
    defining = _defining(root, names) if names else {}
    chosen = (
        _nearest(source, defining.get(name, ()))
        for source, found in lacking.items()
        for name in found
    )
    return {source for source in chosen if source}


def _lacking(build: Build) -> set[str]:
    assert build.library is not None
    functions = undefined_functions(build.library)
    return {name for namespace, name in functions if namespace.partition("::")[0] not in _FOREIGN}


def _defining(root: Path, names: Collection[str]) -> dict[str, list[str]]:
    """The sources that define a function of each name."""
    sources: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix not in _SUFFIXES or path.is_symlink():
            continue
        text = path.read_text("utf-8", "replace")
        for name in _defined(text, [name for name in names if name in text]):
            sources.setdefault(name, []).append(path.relative_to(root).as_posix())
    return sources


def _defined(text: str, names: Sequence[str]) -> Iterator[str]:
    code = mask(text) if names else ""
    for name in names:
        if re.search(rf"\b{re.escape(name)}\s*\([^;{{}}()]*\)\s*\{{", code):
            yield name


def _nearest(source: str, others: Iterable[str]) -> str:
    """The one of the same hardware that lies nearest; nothing where it is the source itself."""
    alike = [other for other in others if hardware_of(other) == hardware_of(source)]
    if not alike or source in alike:
        return ""
    return max(alike, key=lambda other: len(commonpath([source, other])))
