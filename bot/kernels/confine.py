"""How code under test is held: no token, no network where that can be had, limits on what it may
take.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import bot
from checks.kernelrun.model import Confinement

LARGEST_FILE = 1 << 30
MOST_MEMORY = 24 << 30
MOST_PROCESSES = 4096
_PR_SET_PDEATHSIG = 1
# What a process needs to find its libraries and its GPU. Everything else stays here: tokens,
# proxies, agents.
_PASSED = (
    "PATH",
    "LANG",
    "LD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "CC",
)
# Programs and libraries, and what they look up to find each other.
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt/intel",
    "/opt/rocm",
    "/sys",
    "/etc/alternatives",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
)
_TOOLKITS = ("CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")
_PACKAGES = ("bot", "checks", "kernels", "templates")
_INSTALLED = ("/site-packages", "/dist-packages")
# NVIDIA's, AMD's and Intel's, Ascend's.
_ACCELERATORS = ("nvidia*", "dri", "kfd", "davinci*", "devmm_svm", "hisi_hdc")
_NO_NETWORK = ("unshare", "--user", "--map-current-user", "--net")
# With a PID namespace whatever the code starts ends with it. A shell is its first process, because
# the kernel sends that one no default-action signal: the process under test must be another, to die
# of its own SIGSEGV.
_NO_ESCAPE = (*_NO_NETWORK, "--pid", "--fork", "--kill-child", "sh", "-c", '"$@"; exit "$?"', "sh")
_HIDDEN: list[Path] = []
# Whether a GPU answers in there: some sandboxes' drivers do not work in a PID namespace.
_PROBES = {
    "cpu": ("true",),
    "cuda": (
        sys.executable,
        "-c",
        "import ctypes, sys; sys.exit(ctypes.CDLL('libcuda.so.1').cuInit(0) != 0)",
    ),
}


def environment(home: Path) -> dict[str, str]:
    """The whole environment of a process under test; its home and its temporary files are its
    own."""
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
def _strongest(device: str) -> int:
    """The index of the first of `_ways` that works here.

    It is found by trying, which starts processes, because a kernel, a container or a driver may
    refuse any of them.
    """
    for index, way in enumerate(_ways(Path(tempfile.gettempdir()))):
        is_last_resort = not way
        if is_last_resort or _works([*way, *_PROBES[device]]):
            return index
    raise AssertionError("the last way needs nothing")


def _works(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def prefix(device: str, folder: Path, readable: Iterable[Path] = ()) -> list[str]:
    """What to put before a command so that it runs confined, able to write to `folder` and to read
    what is in the folders `readable`."""
    return _ways(folder, readable)[_strongest(device)]


def hide(paths: Iterable[Path]) -> None:
    """Let code under test see these files and folders as empty, where files can be confined
    at all."""
    _HIDDEN[:] = paths


def _ways(folder: Path, readable: Iterable[Path] = ()) -> list[list[str]]:
    """The ways to confine a command, from the strongest to none at all."""
    bwrap = ["bwrap", "--proc", "/proc", "--dev", "/dev", "--dir", "/tmp", *_devices()]
    seen = [*_seen(), *(path for path in readable if path.exists())]
    for path in seen:
        bwrap += ["--ro-bind", str(path), str(path)]
    for path in _HIDDEN:
        if any(path.is_relative_to(shown) for shown in seen):
            bwrap += (
                ["--tmpfs", str(path)] if path.is_dir() else ["--ro-bind", "/dev/null", str(path)]
            )
    bwrap += ["--bind", str(folder), str(folder), "--remount-ro", "/"]
    bwrap += ["--unshare-net", "--unshare-pid", "--unshare-ipc"]
    bwrap += ["--die-with-parent", "--new-session"]
    return [bwrap, list(_NO_ESCAPE), list(_NO_NETWORK), []]


def _seen() -> list[Path]:
    """What code under test may read besides its own folder: the system's programs and libraries,
    the interpreter with the folders that packages are installed in, and our packages. No home, no
    data, no socket is among them.
    """
    named = [value for name in _TOOLKITS for value in os.environ.get(name, "").split(os.pathsep)]
    toolkits = [Path(value) for value in named if value.startswith("/")]
    interpreter = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.base_prefix).resolve()]
    # A `.pth` file may have added the packages of another environment.
    installed = [Path(entry) for entry in sys.path if entry.endswith(_INSTALLED)]
    packages = [Path(bot.__file__).resolve().parents[1] / name for name in _PACKAGES]
    found: list[Path] = []
    for path in (*map(Path, _SYSTEM), *toolkits, *interpreter, *installed, *packages):
        if path.exists() and not any(path.is_relative_to(above) for above in found):
            found.append(path)
    return found


def _devices() -> list[str]:
    """Accelerators; what else there is of devices, `--dev` makes anew."""
    found = [path for pattern in _ACCELERATORS for path in sorted(Path("/dev").glob(pattern))]
    return [word for path in found for word in ("--dev-bind", str(path), str(path))]


def confinement(device: str) -> Confinement:
    """What holds a process on this machine, for the report."""
    way = prefix(device, Path(tempfile.gettempdir()))
    tool = way[0] if way else "none"
    return Confinement(tool, tool == "bwrap", _limits(device))


def _limits(device: str) -> dict[str, int]:
    limits = {"file_bytes": LARGEST_FILE, "processes": MOST_PROCESSES}
    # CUDA reserves address space for the memory of every GPU: a limit on it would keep it from
    # starting.
    return limits if device == "cuda" else limits | {"memory_bytes": MOST_MEMORY}


def limiter(device: str) -> Callable[[], None]:
    """To be called in the new process before it becomes the command: sets the limits, none above
    the one in force, and lets the process die with this one, even if this one is killed.
    """
    wanted = _limits(device)
    kinds = {
        resource.RLIMIT_FSIZE: wanted["file_bytes"],
        resource.RLIMIT_NPROC: wanted["processes"],
        resource.RLIMIT_CORE: 0,
    }
    if "memory_bytes" in wanted:
        kinds[resource.RLIMIT_AS] = wanted["memory_bytes"]

    libc = ctypes.CDLL(None)

    def limit() -> None:
        if sys.platform == "linux":
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for kind, most in kinds.items():
            _, hard = resource.getrlimit(kind)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))

    return limit
