"""The C++ compiler of this machine, with the flags that device code is compiled with."""

from __future__ import annotations

import resource
import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

_COMPILERS = ("g++", "clang++")
_LONGEST = 300
_MEMORY = 6 << 30
_LARGEST_LIBRARY = 256 << 20
_FLAGS = (
    "-std=c++17",
    "-O1",
    "-fPIC",
    "-w",
    # nvcc's own assumptions: integers wrap, a pointer may be read as another type.
    "-fwrapv",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-gnu-unique",
    "-ftrivial-auto-var-init=pattern",
    "-fmax-errors=5",
    "-DPADDLE_DEV",
    "-DPADDLE_ON_INFERENCE",
    "-DEMULATED_ON_CPU",
)
# What the builds of modules define where there is CUDA, by custom.


class Variant(StrEnum):
    """How a library is built: as it is, watched by sanitizers, or counting lines."""

    PLAIN = "plain"
    SANITIZED = "sanitized"
    COVERED = "covered"


_VARIANT_FLAGS = {
    Variant.PLAIN: (),
    Variant.SANITIZED: (
        # Two thirds of the time of -O1, and no access that the optimiser took away is missed.
        "-Og",
        "-g1",
        "-fsanitize=address,bounds,shift,integer-divide-by-zero,null",
        "-fno-omit-frame-pointer",
    ),
    Variant.COVERED: ("-g1", "--coverage", "-fprofile-update=single"),
}


class NoCompiler(Exception):
    """Neither g++ nor clang++ is on the PATH."""


@dataclass(frozen=True)
class Toolchain:
    """A compiler: its path and what it says of itself."""

    path: str
    version: str

    @property
    def is_gcc(self) -> bool:
        """Whether it is g++, by whatever name."""
        return "clang" not in self.version

    @property
    def flags(self) -> list[str]:
        """The flags that it knows: some are g++'s alone."""
        known = list(_FLAGS)
        if not self.is_gcc:
            known.remove("-fno-gnu-unique")
            known.remove("-fmax-errors=5")
        return known

    def command(self, variant: Variant = Variant.PLAIN) -> list[str]:
        """The compiler with the flags of all sources, and of a variant."""
        return [self.path, *self.flags, *_VARIANT_FLAGS[variant]]


@cache
def find_toolchain() -> Toolchain:
    """The first compiler of this machine. Raises `NoCompiler`."""
    for name in _COMPILERS:
        path = shutil.which(name)
        if path is None:
            continue
        said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if said.returncode == 0:
            return Toolchain(path, said.stdout.split("\n", maxsplit=1)[0])
    raise NoCompiler


def run_compiler(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the compiler within limits of time, memory and what it writes."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_LONGEST,
            preexec_fn=_limit,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f": error: took more than {_LONGEST} s")


def _limit() -> None:
    """In the compiler's process: templates and constants of a stranger can ask for any amount."""
    for kind, most in (
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_CPU, _LONGEST),
        (resource.RLIMIT_FSIZE, _LARGEST_LIBRARY),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (limit, limit))
