"""Recorded calls of one op, made in a process of their own: `python -m tests.device.on_gpu.calls`.

A GPU's error, as a wrong address, ends what its process can do: each call is made in a fork.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from kernels.emulator.forks import in_child
from kernels.emulator.library import Library
from kernels.emulator.recording import Call, load_call
from kernels.emulator.replaying import Outcome, make_call, save_outcome

# Orders of threads: what differs between them a GPU may give either way.
SCHEDULES = (0, 1, 2)
_DIED = Outcome([], "the process died")
# Seconds for all calls of one op: the emulator may take minutes for one.
_LONGEST = 600.0


@dataclass(frozen=True)
class OpLibraries:
    """The runtime's library, and the paths of those that register each op."""

    runtime: str
    paths: Mapping[str, Sequence[str]]


def make_all(folder: Path, libraries: OpLibraries, where: str, seeds: Sequence[int]) -> None:
    """Make the calls in `folder` of all ops that `libraries` have, under schedules `seeds`, and
    write the outcomes to a folder named `where` and the schedule."""
    description = folder / f"{where}.json"
    description.write_text(json.dumps(asdict(libraries)), encoding="utf-8")
    command = [sys.executable, "-m", __spec__.name, str(folder), where]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        run = partial(_run, [*command, ",".join(map(str, seeds))])
        list(pool.map(run, libraries.paths))


def _run(command: list[str], op: str) -> None:
    try:
        subprocess.run([*command, op], check=False, timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        print(f"{op}: not all calls were made in {_LONGEST:.0f} s")


def main() -> None:
    """Make the calls of one op."""
    folder, where, seeds, op = Path(sys.argv[1]), *sys.argv[2:]
    libraries = OpLibraries(**json.loads((folder / f"{where}.json").read_text("utf-8")))
    for seed in seeds.split(","):
        (folder / f"{where}-{seed}").mkdir(exist_ok=True)
    for path in sorted((folder / "calls").rglob("*.npz")):
        call = load_call(path)
        for seed in seeds.split(",") if call.op == op else ():
            outcome = in_child(partial(_outcome, libraries, call, int(seed))) or _DIED
            save_outcome(folder / f"{where}-{seed}" / path.name, outcome)


def _outcome(libraries: OpLibraries, call: Call, seed: int) -> Outcome:
    paths = {Path(path): {call.op} for path in libraries.paths[call.op]}
    return make_call(Library(Path(libraries.runtime), paths, {call.op}), call, seed)


if __name__ == "__main__":
    main()
