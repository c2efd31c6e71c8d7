"""`python -m kernels.emulator.corpus`: the corpus emulated, and compared with what a GPU gave.

`--gpu FILE` compares with the output of the program that nvcc built; without it with the results
that are committed beside this file. `--record FILE --device NAME` takes such an output over.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kernels.emulator.compiler import RUNTIME, Workshop
from kernels.emulator.rewrite import rewrite
from kernels.emulator.toolchain import Variant, find_toolchain

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "gpu.json"


def main() -> int:
    """1 where a kernel's bytes are not the same."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--device", help="with --record: the GPU's name")
    parser.add_argument("--show", action="store_true", help="the bytes of those that differ")
    args = parser.parse_args()
    if (args.record is None) != (args.device is None):
        parser.error("--record and --device go together")
    if args.record is not None:
        record(digests(args.record), args.device)
        return 0
    emulated = parse_output(emulate())
    wanted = load_results() if args.gpu is None else digests(args.gpu)
    actual = {name: digest(data) for name, data in emulated.items()}
    different = [name for name in wanted if wanted[name] != actual.get(name)]
    for name in different:
        sys.stdout.write(f"differs: {name}\n")
        if args.show:
            sys.stdout.write(f"  emulated {emulated.get(name, '')[:200]}\n")
    sys.stdout.write(f"{len(wanted) - len(different)} of {len(wanted)} the same\n")
    return int(bool(different) or set(wanted) != set(actual))


def emulate() -> str:
    """What the program prints when it is built as C++ against the emulator's runtime."""
    with tempfile.TemporaryDirectory(prefix="specbot-corpus-") as name:
        folder = Path(name)
        workshop = Workshop(find_toolchain(), folder, variant=Variant.PLAIN)
        source = folder / "corpus.cc"
        source.write_text(rewrite((FOLDER / "corpus.cu").read_text("utf-8")), encoding="utf-8")
        runtime = sorted((RUNTIME / "src").glob("*.cc"))
        command = [*workshop.command(), "-I", str(RUNTIME / "include")]
        command += ["-include", "cuda_runtime.h", str(source), *map(str, runtime)]
        command += ["-o", str(folder / "corpus")]
        subprocess.run(command, check=True)
        done = subprocess.run([str(folder / "corpus")], capture_output=True, text=True, check=True)
        return done.stdout


def parse_output(text: str) -> dict[str, str]:
    """The bytes of each kernel's result, in hexadecimal."""
    results = {}
    for line in text.splitlines():
        name, _, data = line.partition(" ")
        results[name] = data
    return results


def digest(data: str) -> str:
    """16 hexadecimal digits that stand for a result."""
    return hashlib.sha256(data.encode()).hexdigest()[:16]


def digests(path: Path) -> dict[str, str]:
    """The digests of a program's output."""
    return {name: digest(data) for name, data in parse_output(path.read_text("utf-8")).items()}


def record(kernels: dict[str, str], device: str) -> None:
    """Write the digests of a GPU's results down."""
    data = {
        "device": device,
        "command": "nvcc -std=c++17 -fmad=false -arch=sm_90 corpus.cu -o corpus && ./corpus",
        "kernels": kernels,
    }
    RESULTS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def load_results() -> dict[str, str]:
    """The digests of what a GPU gave."""
    kernels: dict[str, str] = json.loads(RESULTS.read_text("utf-8"))["kernels"]
    return kernels


if __name__ == "__main__":
    sys.exit(main())
