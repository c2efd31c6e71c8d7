"""How code under test is held: no token, no network where that can be had, limits on what it may take."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from checks.kernelrun.model import Confinement

LARGEST_FILE = 1 << 30
_MEMORY = 24 << 30
_PROCESSES = 4096
# What a process needs to find its libraries and its GPU. Everything else stays here: tokens, proxies, agents.
_PASSED = (
    "PATH", "LANG", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "CC",
)  # fmt: skip
# A shell as the first process of the PID namespace, because a kernel sends it no default-action signal: the process
# under test must be another one, to die of its own SIGSEGV. Its exit code is then 128 + the signal.
_UNSHARE = (
    "unshare", "--user", "--map-current-user", "--net", "--pid", "--fork", "--kill-child", "sh", "-c",
    '"$@"; exit "$?"', "sh",
)  # fmt: skip


def environment(home: Path) -> dict[str, str]:
    """The whole environment of a process under test; its home and its temporary files are its own."""
    kept = {name: os.environ[name] for name in _PASSED if name in os.environ}
    return kept | {
        "HOME": str(home),
        "TMPDIR": str(home),
        "TRITON_CACHE_DIR": str(home / "triton"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C.UTF-8",
    }


@cache
def tool() -> str:
    """The strongest that works here: `bwrap`, `unshare` or `none`. Found by trying, because a kernel or a container
    may refuse either."""
    trials = {"bwrap": _bwrap(Path(tempfile.gettempdir())), "unshare": list(_UNSHARE)}
    for name, prefix in trials.items():
        if shutil.which(name) and _works([*prefix, "true"]):
            return name
    return "none"


def _works(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def prefix(folder: Path) -> list[str]:
    """What to put before a command so that it runs confined, able to write to `folder`."""
    return {"bwrap": _bwrap(folder), "unshare": list(_UNSHARE), "none": []}[tool()]


def _bwrap(folder: Path) -> list[str]:
    own = str(folder)
    return [
        "bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--bind", own, own,
        "--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session",
    ]  # fmt: skip


def confinement(device: str) -> Confinement:
    """What holds a process on this machine, for the report."""
    return Confinement(tool(), tool() == "bwrap", _limits(device))


def _limits(device: str) -> dict[str, int]:
    limits = {"file_bytes": LARGEST_FILE, "processes": _PROCESSES}
    # CUDA reserves address space for the memory of every GPU: a limit on it would keep it from starting.
    return limits if device == "cuda" else limits | {"memory_bytes": _MEMORY}


def limiter(device: str) -> Callable[[], None]:
    """To be called in the new process before it becomes the command; no limit rises above the one in force."""
    wanted = _limits(device)
    kinds = {
        resource.RLIMIT_FSIZE: wanted["file_bytes"],
        resource.RLIMIT_NPROC: wanted["processes"],
        resource.RLIMIT_CORE: 0,
    }
    if "memory_bytes" in wanted:
        kinds[resource.RLIMIT_AS] = wanted["memory_bytes"]

    def limit() -> None:
        for kind, most in kinds.items():
            _, hard = resource.getrlimit(kind)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))

    return limit
