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
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from os.path import commonpath
from pathlib import Path
from threading import Lock

from kernels.emulator.bindings import bindings_of
from kernels.emulator.build_files import type_switches
from kernels.emulator.discovery import hardware_of, registered_ops
from kernels.emulator.extensions import Extension, bind_by_given_name, extensions_of
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
# What the builds of modules define where there is CUDA, by custom.
_EXTENSION_SWITCHES = ("WITH_CUDA",)
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
    kept = workshop.kept(f"{key}.so")
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
    workshop: Workshop,
    root: Path,
    sources: list[str],
    tick: Callable[[Build], None],
    tick_of_member: Callable[[Build], None] = lambda _: None,
) -> list[Build]:
    """A library of each source (paths relative to `root`), on all cores; before that, the members
    of modules."""
    names = Bindings.of(root)
    objects = Objects(workshop, root, names)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for member in pool.map(objects.of, names.members_of(sources)):
            tick_of_member(member)
        builds = []
        for build in pool.map(lambda source: _build(objects, source), sources):
            tick(build)
            builds.append(build)
    return builds


@dataclass(frozen=True)
class Bindings:
    """What the repository says of a source elsewhere: the ops that are registered for Python and
    for PyTorch, the modules that it is a part of, and what its build defines."""

    functions: dict[tuple[str, str], str]
    torch_ops: list[TorchOp]
    switches: list[str]
    extensions: list[Extension]

    @classmethod
    def of(cls, root: Path) -> Bindings:
        """All of a repository's."""
        return cls(bindings_of(root), torch_ops_of(root), type_switches(root), extensions_of(root))

    def extension_of(self, source: str) -> Extension | None:
        """The module that a source is a part of: of several the nearest."""
        found = [extension for extension in self.extensions if source in extension.members]
        return max(found, key=lambda item: len(commonpath([item.binding, source])), default=None)

    def members_of(self, sources: Iterable[str]) -> list[str]:
        """All files of the modules that one of the sources is a part of."""
        members: set[str] = set()
        for source in sources:
            extension = self.extension_of(source)
            if extension is not None:
                members |= set(extension.members)
        return sorted(members)

    def ops_of(self, source: str, text: str) -> tuple[str, ...]:
        """The ops that a source registers, with what `text_for` gives it."""
        extension = self.extension_of(source)
        places = (source,) if extension is None else extension.members
        own = {op.name for op in self.torch_ops if op.path in places}
        if extension is not None:
            own |= set(extension.ops_of(source))
        return tuple(sorted(own | set(registered_ops(text))))

    def text_for(self, source: str, text: str) -> str:
        """The registrations of functions that a source defines."""
        # What a source registers itself is there already, but for a schema in another file.
        ops = [op for op in ops_near(source, self.torch_ops) if op.path != source]
        own = [op for op in self.torch_ops if op.path == source]
        defined = "".join(f"\n{op.definition()}" for op in own if not op.is_defined_in(text))
        hardware = hardware_of(source)
        functions = {n: f for (kind, n), f in self.functions.items() if kind in ("", hardware)}
        # Functions on PyTorch's tensors are bound by PyTorch's own pybind alone.
        bound = "" if _TORCH.search(text) else _binding_text(text, functions)
        return bound + defined + _torch_text(text, ops)


class Objects:
    """The compiled files of a repository's modules: each is compiled once, and linked to all."""

    def __init__(self, workshop: Workshop, root: Path, names: Bindings) -> None:
        self.workshop = workshop
        self.root = root
        self.names = names
        # A module is linked once, though several of its sources ask for it at the same time.
        self.linking = Lock()
        self._known: dict[str, Build] = {}

    def of(self, path: str) -> Build:
        """The object of a file."""
        if path not in self._known:
            self._known[path] = self.compile(path)
        return self._known[path]

    def compile(self, path: str, text: str | None = None) -> Build:
        """The object of a file; `text` stands for it where it is given."""
        try:
            files = collect(self.root, path, RUNTIME / "include", text)
            files.texts[path] = bind_by_given_name(files.texts[path])
            files.switches = [*self.names.switches, *_EXTENSION_SWITCHES]
            return _compiled(self.workshop, files, f"{_key(self.workshop, files)}.o")
        except SourceRefused as error:
            return Build(path, refusal=str(error))


def _build(objects: Objects, source: str, text: str | None = None) -> Build:
    """The library of a source; `text` stands for it where it is given."""
    workshop, root, names = objects.workshop, objects.root, objects.names
    if source.endswith(".py"):
        return _interpreted(root, source)
    extension = names.extension_of(source)
    if extension is not None:
        return _build_extension(objects, extension, source, text)
    try:
        files = collect(root, source, RUNTIME / "include", text)
        files.texts[source] += names.text_for(source, files.texts[source])
        if hardware_of(source) != "xpu":
            files.switches = names.switches
        build = _build_collected(workshop, files)
    except SourceRefused as error:
        return Build(source, refusal=str(error), ops=_ops_of_refused(root, source, names))
    return replace(build, ops=names.ops_of(source, files.texts[source]))


def _build_extension(
    objects: Objects, extension: Extension, source: str, text: str | None
) -> Build:
    """The module that a source is a part of, linked as its own build does: all in one library."""
    members = [objects.of(path) for path in extension.members if path != source]
    own = objects.of(source) if text is None else objects.compile(source, text)
    members.insert(extension.members.index(source), own)
    ops = objects.names.ops_of(source, "")
    unbuilt = Build(source, ops=ops, modules=(*extension.modules, extension.binding))
    for member in members:
        if member.library is None:
            where = "" if member.source == source else f"{member.source}: "
            return replace(unbuilt, refusal=where + member.refusal)
    key = _digest("extension", *[member.key for member in members])
    parts = [member.library for member in members if member.library is not None]
    try:
        with objects.linking:
            library = objects.workshop.kept(f"{key}.so")
            if library is None:
                library = objects.workshop.output / f"{key}.so"
                _link(objects.workshop, parts, library, _torch_link_flags())
    except OSError as error:
        return replace(unbuilt, refusal=f"not linked: {error.strerror}")
    return replace(unbuilt, key=key, library=library, compiled_now=own.compiled_now)


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
    objects = Objects(workshop, root, names)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(objects.of, names.members_of([source])))
        builds = pool.map(lambda text: _build(objects, source, text), texts)
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
    return _torch_link_flags() if _uses_torch(files) else []


def _torch_link_flags() -> list[str]:
    libraries = ("-ltorch_python", "-ltorch_cpu", "-lc10")
    return [f"-L{_torch_folder() / 'lib'}", "-Wl,--as-needed", *libraries]


def _key(workshop: Workshop, files: SourceFiles) -> str:
    """The name of what is made of the files, by all that it is made of."""
    parts = [text for item in sorted(files.texts.items()) for text in item]
    return _digest(
        files.source,
        *workshop.command(files.source),
        *_defines(files),
        *_torch_flags(files),
        workshop.toolchain.version,
        _digest_of("include"),
        *parts,
    )


def _build_collected(workshop: Workshop, files: SourceFiles) -> Build:
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
        compiled = (folder / "object.o").rename(workshop.output / name)
    except OSError as error:
        return Build(files.source, key, refusal=f"not built: {error.strerror}")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return Build(files.source, key, compiled, compiled_now=True)


def _link(workshop: Workshop, built: Sequence[Path], library: Path, others: list[str]) -> None:
    """A library of what belongs together: two sources may define a device function of one name."""
    unfinished = library.with_suffix(".part")
    command = [*workshop.command(), "-shared", "-Wl,-Bsymbolic", *map(str, built)]
    command += ["-o", str(unfinished), *others]
    done = _run(command, library.parent)
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
