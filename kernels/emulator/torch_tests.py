"""What a test of PyTorch ops needs: PyTorch itself, with CUDA on the CPU, and the ops' packages."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernels.emulator.discovery import imported_names
from kernels.emulator.library import Library, load_library
from kernels.emulator.ops_modules import OpsFinder
from kernels.emulator.session import SESSION

_IMPORT = re.compile(r"^\s*(?:import|from)\s+(paddle|torch)\b", re.MULTILINE)


def uses_torch(text: str) -> bool:
    """Whether a test is one of PyTorch's ops: it imports `torch`, and not `paddle`."""
    return set(_IMPORT.findall(text)) == {"torch"}


@contextmanager
def emulated_torch(job: dict[str, Any], root: Path, test: Path) -> Iterator[Library]:
    """Within it CUDA is the CPU, and the repository's packages are found."""
    # PyTorch's libraries have to be there before those that need them.
    from kernels.emulator.standins import torch_cuda

    library = load_library(job)
    library.set_schedule(SESSION.seed)
    torch_cuda.pretend()
    for package, folder in _packages(root, test).items():
        sys.meta_path.insert(0, OpsFinder(folder, set(), job["refusals"], [package]))
        sys.path.insert(0, str(folder))
    sys.path.insert(0, str(root))
    with torch_cuda.CudaOnCpu():
        yield library


def _packages(root: Path, test: Path) -> dict[str, Path]:
    """The repository's own packages that a test imports from, each with the folder it lies in.

    They are made without the code of their `__init__`, which loads what a build would have made.
    """
    names = {module.partition(".")[0] for _, module in imported_names(test.read_text("utf-8"))}
    packages = {}
    for name in sorted(names):
        if importlib.util.find_spec(name) is not None:
            continue
        found = sorted(root.glob(f"**/{name}/__init__.py"))
        if found:
            packages[name] = found[0].parent.parent
    return packages
