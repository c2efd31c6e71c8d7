"""A library of each source, built by the C++ compiler of this machine and kept by content."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import resource
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path

from kernels.emulator.bindings import bindings_of
from kernels.emulator.build_files import type_switches
from kernels.emulator.discovery import hardware_of, registered_ops
from kernels.emulator.includes import SourceFiles, SourceRefused, collect
from kernels.emulator.rewrite.text import UnbalancedBracket, closing, mask
from kernels.emulator.torch_bindings import EXTENSION_NAME, TorchOp, ops_near, torch_ops_of
from kernels.emulator.triton_kernels import kernels_of, op_name

RUNTIME = Path(__file__).parent / "runtime"
# The runtime answers where a program opens NVIDIA's management library by its name.
_SONAME = "libnvidia-ml.so.1"
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
_TORCH = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch|ATen|c10)/", re.MULTILINE)
_OPENED = re.compile(r"^\.+ (.+)$", re.MULTILINE)
_ERROR = re.compile(r"^(.*?)(?::(\d+))?(?::\d+)?: (?:fatal )?error: (.*)$", re.MULTILINE)
_REFUSAL = re.compile(r"declared with attribute error: (.*)$", re.MULTILINE)


class Variant(StrEnum):
    """How a library is built: as it is, watched by sanitizers, or counting lines."""

    PLAIN = "plain"
    SANITIZED = "sanitized"
    COVERED = "covered"


_VARIANT_FLAGS = {
    Variant.PLAIN: (),
    Variant.SANITIZED: (
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
    def flags(self) -> list[str]:
        """The flags that it knows: some are g++'s alone."""
        known = list(_FLAGS)
        if "clang" in self.version:
            known.remove("-fno-gnu-unique")
            known.remove("-fmax-errors=5")
        return known


@dataclass(frozen=True)
class Build:
    """What came of a source: its library, or why there is none. `key` names it by content.

    `interpreted` says that it needs none: Triton kernels run as the Python that they are.
    """

    source: str
    key: str = ""
    library: Path | None = None
    refusal: str = ""
    compiled_now: bool = False
    ops: tuple[str, ...] = ()
    interpreted: bool = False


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


@dataclass(frozen=True)
class Workshop:
    """Where things are built. Libraries are taken from `caches` by key, new ones go to `output`."""

    toolchain: Toolchain
    output: Path
    caches: tuple[Path, ...] = ()
    variant: Variant = Variant.PLAIN

    def kept(self, key: str) -> Path | None:
        """The library with this key, from an earlier build."""
        for folder in (self.output, *self.caches):
            path = folder / f"{key}.so"
            if path.is_file():
                return path
        return None

    def command(self, source: str = "") -> list[str]:
        """The compiler with all flags of the variant, and of the hardware of `source`."""
        define = "-DPADDLE_WITH_XPU" if hardware_of(source) == "xpu" else "-DPADDLE_WITH_CUDA"
        flags = [*self.toolchain.flags, *_VARIANT_FLAGS[self.variant], define]
        return [self.toolchain.path, *flags]


def build_runtime(workshop: Workshop) -> Build:
    """The runtime's own library, which every other one needs."""
    sources = sorted((RUNTIME / "src").glob("*.cc"))
    key = _digest(
        "runtime",
        _SONAME,
        *workshop.command(),
        workshop.toolchain.version,
        _digest_of("src"),
        _digest_of("include"),
    )
    kept = workshop.kept(key)
    if kept is not None:
        return Build("runtime", key, kept)
    library = workshop.output / f"{key}.so"
    command = [*workshop.command(), "-O2", "-shared", "-I", str(RUNTIME / "include")]
    if workshop.variant is Variant.COVERED:
        command.remove("--coverage")
    command += [*map(str, sources), "-o", str(library), f"-Wl,-soname,{_SONAME}"]
    done = _run(command, workshop.output)
    if done.returncode != 0:
        return Build("runtime", key, refusal=done.stderr[-500:])
    return Build("runtime", key, library, compiled_now=True)


def build_all(
    workshop: Workshop, root: Path, sources: list[str], tick: Callable[[Build], None]
) -> list[Build]:
    """A library of each source (paths relative to `root`), on all cores."""
    names = Bindings.of(root)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        builds = []
        for build in pool.map(lambda source: _build(workshop, root, source, names), sources):
            tick(build)
            builds.append(build)
    return builds


@dataclass(frozen=True)
class Bindings:
    """What the repository says of a source elsewhere: the ops that are registered for Python and
    for PyTorch, and what its build defines."""

    functions: dict[tuple[str, str], str]
    torch_ops: list[TorchOp]
    switches: list[str]

    @classmethod
    def of(cls, root: Path) -> Bindings:
        """All of a repository's."""
        return cls(bindings_of(root), torch_ops_of(root), type_switches(root))

    def ops_of(self, source: str, text: str) -> tuple[str, ...]:
        """The ops that a source registers, with what `text_for` gives it."""
        own = {op.name for op in self.torch_ops if op.path == source}
        return tuple(sorted(own | set(registered_ops(text))))

    def text_for(self, source: str, text: str) -> str:
        """The registrations of functions that a source defines."""
        # What a source registers itself is there already.
        ops = [op for op in ops_near(source, self.torch_ops) if op.path != source]
        hardware = hardware_of(source)
        functions = {n: f for (kind, n), f in self.functions.items() if kind in ("", hardware)}
        # Functions on PyTorch's tensors are bound by PyTorch's own pybind alone.
        bound = "" if _TORCH.search(text) else _binding_text(text, functions)
        return bound + _torch_text(text, ops)


def _build(
    workshop: Workshop, root: Path, source: str, names: Bindings, text: str | None = None
) -> Build:
    if source.endswith(".py"):
        return _interpreted(root, source)
    try:
        files = collect(root, source, RUNTIME / "include", text)
        files.texts[source] += names.text_for(source, files.texts[source])
        if hardware_of(source) != "xpu":
            files.switches = names.switches
        build = _build_collected(workshop, files)
    except SourceRefused as error:
        return Build(source, refusal=str(error), ops=_ops_of_refused(root, source, names))
    return replace(build, ops=names.ops_of(source, files.texts[source]))


def _interpreted(root: Path, source: str) -> Build:
    """A file with Triton kernels: what is needed is Triton."""
    kernels = kernels_of((root / source).read_text("utf-8", "replace"))
    ops = tuple(op_name(source, kernel) for kernel in kernels)
    for package in ("torch", "triton"):
        if importlib.util.find_spec(package) is None:
            return Build(source, refusal=f"needs {package}, which is not installed here", ops=ops)
    return Build(source, ops=ops, interpreted=True)


def build_texts(
    workshop: Workshop,
    root: Path,
    source: str,
    texts: list[str],
    tick: Callable[[int, Build], None],
) -> None:
    """A library of each text in the place of one source, on all cores."""
    names = Bindings.of(root)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        builds = pool.map(lambda text: _build(workshop, root, source, names, text), texts)
        for number, build in enumerate(builds):
            tick(number, build)


def _ops_of_refused(root: Path, source: str, names: Bindings) -> tuple[str, ...]:
    try:
        return names.ops_of(source, (root / source).read_text("utf-8", "replace"))
    except OSError:
        return ()


def _uses_torch(files: SourceFiles) -> bool:
    return any(_TORCH.search(text) for text in files.texts.values())


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
    if not _uses_torch(files):
        return []
    return [f"-L{_torch_folder() / 'lib'}", "-ltorch_cpu", "-lc10"]


def _build_collected(workshop: Workshop, files: SourceFiles) -> Build:
    source = files.source
    parts = [text for item in sorted(files.texts.items()) for text in item]
    key = _digest(
        source,
        *workshop.command(source),
        *_defines(files),
        *_torch_flags(files),
        workshop.toolchain.version,
        _digest_of("include"),
        *parts,
    )
    kept = workshop.kept(key)
    if kept is not None:
        return Build(source, key, kept)
    return _compile(workshop, files, key)


def _compile(workshop: Workshop, files: SourceFiles, key: str) -> Build:
    library = workshop.output / f"{key}.so"
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
        command += ["-include", "cuda_runtime.h"]
        command += ["-I", ".", "-I", str(RUNTIME / "include"), *_torch_flags(files)]
        done = _run(command, folder)
        foreign = _foreign_file(done.stderr, folder)
        if foreign:
            return Build(
                files.source, key, refusal=f"includes a file outside of the tree: {foreign}"
            )
        if done.returncode != 0:
            return Build(files.source, key, refusal=_first_error(done, folder))
        _link(workshop, folder / "object.o", library, _torch_libraries(files))
    except OSError as error:
        return Build(files.source, key, refusal=f"not built: {error.strerror}")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return Build(files.source, key, library, compiled_now=True)


def _link(workshop: Workshop, built: Path, library: Path, others: list[str]) -> None:
    """A library of its own per source: two sources may define a device function of one name."""
    unfinished = library.with_suffix(".part")
    command = [*workshop.command(), "-shared", "-Wl,-Bsymbolic", str(built), "-o", str(unfinished)]
    command += others
    done = _run(command, built.parent)
    if done.returncode != 0:
        raise OSError(0, done.stderr[-300:])
    unfinished.rename(library)


def _torch_include() -> Path | None:
    try:
        return _torch_folder() / "include"
    except SourceRefused:
        return None


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
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


def _foreign_file(said: str, folder: Path) -> str:
    """A file that the compiler opened and that is neither the tree's, ours, nor its own."""
    own = [str(RUNTIME.resolve()), str(RUNTIME), str(folder), str(folder.resolve())]
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


def _binding_text(text: str, names: dict[str, str]) -> str:
    """Registrations of functions that the repository binds to Python in another file."""
    registered = set(registered_ops(text))
    lines = []
    for name, function in names.items():
        if name not in registered and function in text and _has_body(text, function):
            lines.append(f"EMULATOR_BIND({name}, {function});")
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def _torch_text(text: str, ops: list[TorchOp]) -> str:
    """Registrations with PyTorch's dispatcher of the functions that are defined here."""
    lines = []
    for op in ops:
        function = op.function.rsplit("::", maxsplit=1)[-1]
        if function in text and _has_body(text, function):
            lines.append(op.registration())
    if not lines:
        return ""
    stable = [line.startswith("STABLE") for line in lines]
    headers = ["#include <torch/csrc/stable/library.h>"] if any(stable) else []
    headers += [] if all(stable) else ["#include <torch/library.h>"]
    return "\n" + "\n".join([*headers, *lines]) + "\n"


def _has_body(text: str, function: str) -> bool:
    """Whether a line begins the definition of a function: its parameters, then a brace."""
    code = mask(text)
    for match in re.finditer(rf"^[^\n;{{}}#()]*\b{function}[ \t]*\(", code, re.MULTILINE):
        with suppress(UnbalancedBracket):
            end = closing(code, match.end() - 1)
            if code[end + 1 : end + 200].lstrip().startswith("{"):
                return True
    return False


@cache
def _digest_of(folder: str) -> str:
    """The runtime's files in `folder`, by content."""
    files = sorted(path for path in (RUNTIME / folder).rglob("*") if path.is_file())
    return _digest(*[str(path.relative_to(RUNTIME)) + path.read_text("utf-8") for path in files])


def _digest(*parts: str) -> str:
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part.encode("utf-8", "surrogateescape"))
        hasher.update(b"\0")
    return hasher.hexdigest()[:32]
