"""Inputs of a repository's ops, and what the emulator gives for them."""

from __future__ import annotations

import argparse
import json
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bot.device.build import build_side
from bot.device.tests import TestPlan, run_files
from bot.device.workspace import Workspace, cache_folder, device_sources, write_tree
from bot.git import Git, resolve
from bot.pipeline import open_change
from bot.reports.device_run import SideBuild
from checks.core.change import PullRequest
from kernels.emulator.compiler import RUNTIME
from kernels.emulator.edits import EDITS, Edit
from kernels.emulator.includes import SourceRefused, collect
from kernels.emulator.preconditions import find_preconditions
from kernels.emulator.recording import Call, Recorder, load_call
from kernels.emulator.registrations import Bindings
from kernels.emulator.replaying import size_of
from kernels.emulator.variation import Freedom, vary
from tests.device.on_gpu.calls import OpLibraries, make_all
from tests.device.on_gpu.outcomes import SCHEDULES

_SIDE = "head"
_LONGEST_TEST = 240.0
_MOST_CASES = 4
_MOST_EDITS = 3
# Elements: larger calls are made as they are.
_LARGEST_VARIED = 1 << 16
# Bytes of one recorded call, uncompressed.
_LARGEST = 20 << 20


@dataclass(frozen=True)
class _Recording:
    """The calls of each op by name of their file, and the libraries that have the ops."""

    calls: Path
    build: SideBuild

    def by_op(self) -> dict[str, list[Path]]:
        """The files of each op's calls."""
        files = defaultdict(list)
        for path in sorted(self.calls.glob("*.npz")):
            files[load_call(path).op].append(path)
        return files


def main(arguments: Sequence[str] | None = None) -> None:
    """Write calls, what the emulator gives for each, and the sources for a GPU's compiler."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--head", default="HEAD")
    parser.add_argument("--paths", action="append", default=[], metavar="GLOB")
    parser.add_argument("--varied", type=int, default=20, metavar="N", help="inputs of each op")
    args = parser.parse_args(arguments)
    folder: Path = args.folder
    folder.mkdir(parents=True)
    workspace = Workspace((folder / "work").resolve(), cache_folder())
    git = Git(args.repo)
    compared = resolve(git, args.head, args.head, merge_base=False)
    with open_change(git, compared, PullRequest(title="", body="", known=False)) as change:
        sources = [s for s in device_sources(change.head, args.paths) if s.endswith(".cu")]
        write_tree(change.head, workspace.side(_SIDE))
    build = build_side(workspace, _SIDE, sources)
    plan = TestPlan(workspace, build, build, _SIDE, 0, True, _LONGEST_TEST, _MOST_CASES)
    run_files(plan, build.tests, lambda file: print(file, flush=True))
    recording = _Recording(folder / "calls", build)
    _take_calls(workspace.folder / "jobs", recording.calls)
    libraries = OpLibraries(build.runtime, _libraries_by_op(build))
    for op, paths in recording.by_op().items():
        if op in libraries.paths:
            _vary(op, paths, args.varied, recording.calls)
    make_all(folder.resolve(), libraries, "emulated", SCHEDULES)
    _write_sources(build.root, sources, folder / "sources")


def _take_calls(jobs: Path, calls: Path) -> None:
    calls.mkdir()
    for number, path in enumerate(sorted(jobs.glob("head-0-*/out/calls/*.npz"))):
        if path.stat().st_size <= _LARGEST:
            shutil.copy(path, calls / f"{number:05}-{path.name}")


def _libraries_by_op(build: SideBuild) -> dict[str, list[str]]:
    by_op = defaultdict(list)
    modules = set(build.module_libraries)
    for library, ops in build.libraries.items():
        for op in ops if library not in modules else ():
            by_op[op].append(library)
    return dict(by_op)


def _vary(op: str, paths: Sequence[Path], count: int, calls: Path) -> None:
    """Record inputs made of an op's small calls, as `specbot device compare` makes them."""
    shown = [call for call in map(load_call, paths) if size_of(call.values) <= _LARGEST_VARIED]
    shown = [call for call in shown if len(call.values) == len(shown[0].values)]
    if not shown:
        return
    names = shown[0].parameters
    recorder = Recorder(calls / "varied", lambda _: names)
    for number, call in enumerate(_variations(shown, count)):
        recorder.record(op, call.values, number)


def _variations(shown: Sequence[Call], count: int) -> Iterator[Call]:
    freedom = Freedom(find_preconditions(shown, lambda _call, _place: False))
    chance = np.random.default_rng(0)
    kinds = list(EDITS)
    for _ in range(count):
        numbers = chance.integers(0, 1 << 24, (chance.integers(1, _MOST_EDITS + 1), 3))
        edits = [Edit(str(chance.choice(kinds)), *row) for row in numbers.tolist()]
        yield vary(shown, int(chance.integers(0, len(shown))), edits, freedom)


def _write_sources(root: Path, sources: Sequence[str], folder: Path) -> None:
    """Each source with what it includes from the repository, and what registers its ops.

    Nothing is rewritten: a GPU's compiler reads it as it is.
    """
    names = Bindings.of(root)
    described = {}
    for number, source in enumerate(sources):
        try:
            files = collect(root, source, RUNTIME / "include", rewriter=lambda _path, text: text)
        except SourceRefused:
            continue
        files.texts[source] += names.text_for(source, files.texts[source])
        for path, text in files.texts.items():
            file = folder / str(number) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        ops = list(names.ops_of(source, files.texts[source]))
        described[number] = {"source": source, "ops": ops, "switches": list(names.switches)}
    (folder / "sources.json").write_text(json.dumps(described, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
