"""What a test of PyTorch ops needs: PyTorch itself, with CUDA on the CPU, and the ops' packages."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kernels.emulator.library import Library
from kernels.emulator.packages import RepositoryPackages
from kernels.emulator.recording import Recorder
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
    from kernels.emulator.extension_modules import ExtensionModules
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
    packages = RepositoryPackages(root, job["refusals"], job["modules"])
    # Those at its top come before any of their name that are installed.
    for name in packages.at_top():
        packages.add(name, root)
    sys.meta_path.append(packages)
    modules = ExtensionModules(
        job["modules"], job["refusals"], job["libraries"], torch_ops.note_function
    )
    modules.install()
    if job.get("record"):
        recorder = Recorder(Path(job["record"]), SESSION.parameters.__getitem__)
        SESSION.watchers.append(recorder.record)
    sys.meta_path.insert(0, modules)
    sys.path += [str(root), str(test.parent)]
    _import_package_of(test)
    with torch_cuda.CudaOnCpu():
        yield library


def _import_package_of(test: Path) -> None:
    """Import the packages that a test lies in, whose own code may not run here: pytest would."""
    folder, names = test.parent, []
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    for count in range(1, len(names) + 1):
        with suppress(ImportError):
            importlib.import_module(".".join(names[:count]))
