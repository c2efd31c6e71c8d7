"""What libraries define, by the names that a linker knows."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernels.emulator.toolchain import find_toolchain, run_compiler

# `name(parameters)` of no template, behind its namespaces.
_FUNCTION = re.compile(r"((?:\w+::)*)(\w+)(\(.*\))")
# The one symbol is the other's address, looked up when the library is loaded.
_ALIAS = """
extern void DEFINED(void);
static void (*find(void))(void) { return DEFINED; }
void WANTED(void) __attribute__((ifunc("find")));
"""


@dataclass(frozen=True)
class Namesake:
    """A function in another namespace: the library that defines it, its symbol, and the names of
    `wanted` and of itself."""

    library: Path
    symbol: str
    wanted: str
    name: str


def defines(library: Path, symbol: str) -> bool:
    """Whether a library defines a symbol; one that only names it needs it too."""
    return symbol in _defined(library, symbol)


def undefined_functions(library: Path) -> set[tuple[str, str]]:
    """The functions that a library lacks, but for those of the system's: the namespace (`a::b::`)
    and the name of each."""
    said = subprocess.run(
        ["nm", "-D", "--undefined-only", str(library)], capture_output=True, text=True, check=False
    )
    symbols = [line.split()[-1] for line in said.stdout.splitlines()]
    # What the system defines has a version.
    own = [symbol for symbol in symbols if symbol.startswith("_Z") and "@" not in symbol]
    names = [_FUNCTION.fullmatch(readable) for readable in _readable(own)] if own else []
    return {(name[1], name[2]) for name in names if name is not None}


def find_namesake(symbol: str, libraries: Iterable[Path]) -> Namesake | None:
    """The only function that has the name and the types of parameters of `symbol`, in another
    namespace."""
    wanted = _FUNCTION.fullmatch(_readable([symbol])[0])
    if wanted is None:
        return None
    found = []
    for library in libraries:
        symbols = list(_defined(library, wanted[2]))
        for other, readable in zip(symbols, _readable(symbols), strict=True):
            name = _FUNCTION.fullmatch(readable)
            if name is not None and name.group(2, 3) == wanted.group(2, 3):
                found.append(Namesake(library, other, wanted[1] + wanted[2], name[1] + name[2]))
    return found[0] if len(found) == 1 else None


def make_alias(wanted: str, defined: str) -> Path | None:
    """A library with the symbol `wanted`, which is `defined`; nothing where none can be built."""
    folder = Path(tempfile.mkdtemp(prefix="alias-"))
    source, library = folder / "alias.c", folder / "alias.so"
    source.write_text(_ALIAS, encoding="utf-8")
    command = [find_toolchain().path, "-x", "c", "-shared", "-fPIC", str(source)]
    command += [f"-DWANTED={wanted}", f"-DDEFINED={defined}", "-o", str(library)]
    return library if run_compiler(command, folder).returncode == 0 else None


def _defined(library: Path, word: str) -> Iterator[str]:
    """The symbols with `word` in them that a library defines."""
    if word.encode() not in library.read_bytes():
        return
    said = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=False
    )
    for line in said.stdout.splitlines():
        symbol = line.split()[-1]
        if word in symbol:
            yield symbol


def _readable(symbols: list[str]) -> list[str]:
    """Symbols as C++ writes them."""
    said = subprocess.run(
        ["c++filt"], input="\n".join(symbols), capture_output=True, text=True, check=True
    )
    return said.stdout.splitlines()
