"""Collected files of a source as an object or a library, kept by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from kernels.emulator.discovery import hardware_of
from kernels.emulator.includes import SourceFiles, SourceRefused
from kernels.emulator.toolchain import Toolchain, Variant, run_compiler
from kernels.emulator.torch_bindings import EXTENSION_NAME, includes_torch

RUNTIME = Path(__file__).parent / "runtime"
# What nvcc includes before anything else.
PREFIX = "cuda_runtime.h"
# The runtime answers where a program opens NVIDIA's management library by its name.
_SONAME = "libnvidia-ml.so.1"
_OPENED = re.compile(r"^\.+ (.+)$", re.MULTILINE)
_ERROR = re.compile(r"^(.*?)(?::(\d+))?(?::\d+)?: (?:fatal )?error: (.*)$", re.MULTILINE)
_REFUSAL = re.compile(r"declared with attribute error: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Build:
    """What came of a source: its library, or why there is none. `key` names it by content.

    `interpreted` says that it needs none: Triton kernels run as the Python that they are. `modules`
    are the names and the binding file of the extension that the library is, if it is one.
    """

    source: str
    key: str = ""
    library: Path | None = None
    refusal: str = ""
    compiled_now: bool = False
    ops: tuple[str, ...] = ()
    interpreted: bool = False
    modules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workshop:
    """Where things are built. Libraries are taken from `caches` by key, new ones go to `output`.

    `first` is the header that all sources begin with.
    """

    toolchain: Toolchain
    output: Path
    caches: tuple[Path, ...] = ()
    variant: Variant = Variant.PLAIN
    first: str = PREFIX

    def kept(self, name: str) -> Path | None:
        """The library or object of this name, from an earlier build."""
        for folder in (self.output, *self.caches):
            path = folder / name
            if path.is_file():
                return path
        return None

    def command(self, source: str = "") -> list[str]:
        """The compiler with all flags of the variant, and of the hardware of `source`."""
        define = "-DPADDLE_WITH_XPU" if hardware_of(source) == "xpu" else "-DPADDLE_WITH_CUDA"
        return [*self.toolchain.command(self.variant), define]


def build_runtime(workshop: Workshop) -> Build:
    """The runtime's own library, which every other one needs."""
    sources = sorted((RUNTIME / "src").glob("*.cc"))
    key = digest(
        "runtime",
        _SONAME,
        *workshop.command(),
        workshop.toolchain.version,
        digest_of("src"),
        digest_of("include"),
    )
    kept = workshop.kept(f"{key}.so")
    if kept is not None:
        return Build("runtime", key, kept)
    library = workshop.output / f"{key}.so"
    command = [*workshop.command(), "-O2", "-shared", "-I", str(RUNTIME / "include")]
    if workshop.variant is Variant.COVERED:
        command.remove("--coverage")
    command += [*map(str, sources), "-o", str(library), f"-Wl,-soname,{_SONAME}"]
    done = run_compiler(command, workshop.output)
    if done.returncode != 0:
        return Build("runtime", key, refusal=done.stderr[-500:])
    return Build("runtime", key, library, compiled_now=True)


def _uses_torch(files: SourceFiles) -> bool:
    return any(includes_torch(text) for text in files.texts.values())


@cache
def _torch_folder() -> Path:
    """Where PyTorch is installed. Raises `SourceRefused`."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise SourceRefused("needs PyTorch's headers, and PyTorch is not installed here")
    return Path(found.origin).resolve().parent


def _torch_flags(files: SourceFiles) -> list[str]:
    """The real headers of PyTorch's CPU build; what it says of CUDA is declared too."""
    if not _uses_torch(files):
        return []
    include = _torch_folder() / "include"
    flags = ["-std=c++20", "-DUSE_CUDA", f"-DTORCH_EXTENSION_NAME={EXTENSION_NAME}"]
    for folder in (include, include / "torch/csrc/api/include", sysconfig.get_path("include")):
        flags += ["-isystem", str(folder)]
    return flags


def _defines(files: SourceFiles) -> list[str]:
    return [f"-D{name}" for name in files.switches]


def _torch_libraries(files: SourceFiles) -> list[str]:
    return _torch_link_flags() if _uses_torch(files) else []


def _torch_link_flags() -> list[str]:
    libraries = ("-ltorch_python", "-ltorch_cpu", "-lc10")
    return [f"-L{_torch_folder() / 'lib'}", "-Wl,--as-needed", *libraries]


def _key(workshop: Workshop, files: SourceFiles) -> str:
    """The name of what is made of the files, by all that it is made of."""
    parts = [text for item in sorted(files.texts.items()) for text in item]
    return digest(
        files.source,
        *workshop.command(files.source),
        *_defines(files),
        *_torch_flags(files),
        workshop.toolchain.version,
        digest_of("include"),
        *parts,
    )


def build_object(workshop: Workshop, files: SourceFiles) -> Build:
    """The object of a source, to be linked with others."""
    return _compiled(workshop, files, f"{_key(workshop, files)}.o")


def build_library(workshop: Workshop, files: SourceFiles) -> Build:
    """The library of a source that needs no others."""
    key = _key(workshop, files)
    kept = workshop.kept(f"{key}.so")
    if kept is not None:
        return Build(files.source, key, kept)
    build = _compiled(workshop, files, f"{key}.part.o")
    if build.library is None:
        return build
    library = workshop.output / f"{key}.so"
    try:
        _link(workshop, [build.library], library, _torch_libraries(files))
    except OSError as error:
        return Build(files.source, key, refusal=f"not built: {error.strerror}")
    finally:
        build.library.unlink()
    return replace(build, key=key, library=library)


def _compiled(workshop: Workshop, files: SourceFiles, name: str) -> Build:
    """The object `name` of a source: its `library`."""
    key = name.partition(".")[0]
    kept = workshop.kept(name)
    if kept is not None:
        return Build(files.source, key, kept)
    # Coverage is written beside the object, long after the compilation.
    keep = workshop.variant is Variant.COVERED
    folder = Path(tempfile.mkdtemp(prefix="tree-", dir=workshop.output))
    try:
        for path, text in files.texts.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        command = [
            *workshop.command(files.source),
            *_defines(files),
            "-H",
            "-x",
            "c++",
            "-c",
            files.source,
            "-o",
            str(folder / "object.o"),
        ]
        command += ["-include", workshop.first]
        command += ["-I", ".", "-I", str(RUNTIME / "include"), *_torch_flags(files)]
        done = run_compiler(command, folder)
        foreign = _foreign_file(done.stderr, folder, workshop.first)
        if foreign:
            return Build(
                files.source, key, refusal=f"includes a file outside of the tree: {foreign}"
            )
        if done.returncode != 0:
            return Build(files.source, key, refusal=_first_error(done, folder))
        compiled = (folder / "object.o").rename(workshop.output / name)
    except OSError as error:
        return Build(files.source, key, refusal=f"not built: {error.strerror}")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return Build(files.source, key, compiled, compiled_now=True)


def link_module(workshop: Workshop, members: Sequence[Build]) -> tuple[str, Path]:
    """The key and the library of the objects that make a module. Raises `OSError`."""
    key = digest("extension", *[member.key for member in members])
    library = workshop.kept(f"{key}.so")
    if library is None:
        library = workshop.output / f"{key}.so"
        parts = [member.library for member in members if member.library is not None]
        _link(workshop, parts, library, _torch_link_flags())
    return key, library


def _link(workshop: Workshop, built: Sequence[Path], library: Path, others: list[str]) -> None:
    """A library of what belongs together: two sources may define a device function of one name."""
    unfinished = library.with_suffix(".part")
    command = [*workshop.command(), "-shared", "-Wl,-Bsymbolic", *map(str, built)]
    command += ["-o", str(unfinished), *others]
    done = run_compiler(command, library.parent)
    if done.returncode != 0:
        raise OSError(0, done.stderr[-300:])
    unfinished.rename(library)


def _torch_include() -> Path | None:
    try:
        return _torch_folder() / "include"
    except SourceRefused:
        return None


def _foreign_file(said: str, folder: Path, first: str) -> str:
    """A file that the compiler opened and that is neither the tree's, ours, nor its own."""
    own = [str(RUNTIME.resolve()), str(RUNTIME), str(folder), str(folder.resolve()), first]
    own += [str(path) for path in (_torch_include(), sysconfig.get_path("include")) if path]
    for name in _OPENED.findall(said):
        path = os.path.normpath(os.path.join(folder, name))
        if path.startswith(tuple(own)) or path.startswith(("/usr/", "/opt/", "/Library/", "/nix/")):
            continue
        return name[:120]
    return ""


def _first_error(done: subprocess.CompletedProcess[str], folder: Path) -> str:
    """The first error in one line; a refusal by name is the best."""
    refusal = _REFUSAL.search(done.stderr)
    if refusal is not None:
        return f"not emulated: {refusal[1]}"
    error = _ERROR.search(done.stderr)
    if error is None:
        signal = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
        return f"the compiler ended with {signal}"
    path = error[1].replace(f"{folder}/", "").replace(f"{RUNTIME}/include/", "")
    place = f"{path}:{error[2]}: " if error[2] else ""
    return f"{place}{error[3]}"[:400]


@cache
def digest_of(folder: str) -> str:
    """The runtime's files in `folder`, by content."""
    files = sorted(path for path in (RUNTIME / folder).rglob("*") if path.is_file())
    return digest(*[str(path.relative_to(RUNTIME)) + path.read_text("utf-8") for path in files])


def digest(*parts: str) -> str:
    """What names something by all that it is made of."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part.encode("utf-8", "surrogateescape"))
        hasher.update(b"\0")
    return hasher.hexdigest()[:32]
