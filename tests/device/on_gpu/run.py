"""The recorded calls on a GPU, whose compiler builds the sources."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from kernels.emulator.compiler import RUNTIME
from tests.device.on_gpu.calls import OpLibraries, make_all

_OWN = Path(__file__).parent
# Of the runtime: the stand-in for Paddle, and what has nothing to do with a device.
_SHARED = ("paddle", "glog", "nlohmann", "nvml.h", "emulator/op_table.h")
_FLAGS = (
    *("-std=c++17", "-O2", "-w", "-fmad=false"),
    *("--expt-relaxed-constexpr", "--extended-lambda", "-cudart", "shared"),
    *("-DPADDLE_WITH_CUDA", "-DPADDLE_DEV", "-DPADDLE_ON_INFERENCE"),
    *("-Xcompiler", "-fPIC", "-Xlinker", "-Bsymbolic,-rpath,$ORIGIN", "-shared"),
)
_LONGEST_REASON = 300


def main(arguments: Sequence[str] | None = None) -> None:
    """Build what was recorded, make its calls, and write the outcomes beside the emulator's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default="native")
    parser.add_argument("--include", type=Path, action="append", default=[], metavar="FOLDER")
    args = parser.parse_args(arguments)
    folder = args.folder.resolve()
    compiler = ["nvcc", *_FLAGS, f"-arch={args.arch}"]
    compiler += [word for path in args.include for word in ("-isystem", str(path.resolve()))]
    libraries = _build(folder, compiler)
    make_all(folder, libraries, "gpu", (0,))


def _build(folder: Path, compiler: list[str]) -> OpLibraries:
    include, built = folder / "include", folder / "built"
    shutil.rmtree(built, ignore_errors=True)
    built.mkdir()
    _write_headers(include)
    runtime = built / "libops.so"
    table = RUNTIME / "src" / "op_table.cc"
    command = [*compiler, "-I", str(include), "-x", "cu", str(table), str(_OWN / "state.cu")]
    subprocess.run([*command, "-o", str(runtime)], check=True)
    described = json.loads((folder / "sources" / "sources.json").read_text("utf-8"))
    paths: dict[str, list[str]] = defaultdict(list)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        build = partial(_build_one, folder, [*compiler, "-I", ".", "-I", str(include)])
        for one, library in zip(
            described.values(), pool.map(build, described.items()), strict=True
        ):
            for op in one["ops"] if library else ():
                paths[op].append(library)
    return OpLibraries(str(runtime), dict(paths))


def _write_headers(include: Path) -> None:
    shutil.rmtree(include, ignore_errors=True)
    shutil.copytree(_OWN / "include", include)
    for name in _SHARED:
        source = RUNTIME / "include" / name
        if source.is_dir():
            shutil.copytree(source, include / name)
        else:
            shutil.copy(source, include / name)


def _build_one(folder: Path, compiler: list[str], item: tuple[str, dict[str, Any]]) -> str:
    """The path of a source's library, or nothing where the compiler refuses it."""
    number, described = item
    library = folder / "built" / f"{number}.so"
    switches = [f"-D{name}" for name in described["switches"]]
    command = [*compiler, *switches, described["source"], "-o", str(library)]
    command += ["-L", str(folder / "built"), "-lops"]
    done = subprocess.run(
        command, cwd=folder / "sources" / number, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(described["source"], (done.stdout + done.stderr)[:_LONGEST_REASON], flush=True)
        return ""
    return str(library)


if __name__ == "__main__":
    main()
