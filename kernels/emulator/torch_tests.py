"""What a test of PyTorch ops needs: PyTorch itself, with CUDA on the CPU, and the ops' packages."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernels.emulator.library import Library
from kernels.emulator.packages import RepositoryPackages
from kernels.emulator.session import SESSION

_IMPORT = re.compile(r"^\s*(?:import|from)\s+(paddle|torch)\b", re.MULTILINE)


def uses_torch(text: str) -> bool:
    """Whether a test is one of PyTorch's ops: it imports `torch`, and not `paddle`."""
    return set(_IMPORT.findall(text)) == {"torch"}


@contextmanager
def emulated_torch(job: dict[str, Any], root: Path, test: Path) -> Iterator[Library]:
    """Within it CUDA is the CPU, and the repository's packages are found."""
    os.environ["TRITON_INTERPRET"] = "1"
    # PyTorch's libraries have to be there before those that need them.
    from kernels.emulator import torch_ops
    from kernels.emulator.standins import torch_cuda

    libraries = {Path(path): set(names) for path, names in job["libraries"].items()}
    library = Library(Path(job["runtime"]), libraries, set())
    library.set_schedule(SESSION.seed)
    torch_cuda.pretend()
    torch_ops.load_on_demand(library, job["refusals"])
    torch_ops.note_calls()
    if importlib.util.find_spec("triton") is not None:
        from kernels.emulator.standins import triton_libdevice

        triton_libdevice.install()
    packages = RepositoryPackages(root, job["refusals"])
    # Those at its top come before any of their name that are installed.
    for name in packages.at_top():
        packages.add(name, root)
    sys.meta_path.append(packages)
    sys.path += [str(root), str(test.parent)]
    with torch_cuda.CudaOnCpu():
        yield library
