"""Inputs of a repository's ops, and what the emulator gives for them."""

from __future__ import annotations

import argparse
import json
import shutil
from collections import defaultdict
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from bot.device.build import build_side
from bot.device.tests import TestPlan, run_files
from bot.device.workspace import Workspace, cache_folder, device_sources, write_tree
from bot.git import Git, resolve
from bot.pipeline import open_change
from bot.reports.device_run import SideBuild
from checks.core.change import PullRequest
from kernels.emulator.compiler import RUNTIME
from kernels.emulator.includes import SourceRefused, collect
from kernels.emulator.preconditions import find_preconditions
from kernels.emulator.recording import Call, Recorder, load_call
from kernels.emulator.registrations import Bindings
from kernels.emulator.variation import Freedom, draw_attempts, small_calls, useful_kinds, vary
from tests.device.on_gpu.calls import SCHEDULES, OpLibraries, make_all

_SIDE = "head"
_LONGEST_TEST = 240.0
_MOST_CASES = 4
# Bytes of one recorded call, uncompressed.
_LARGEST = 20 << 20


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
    _take_calls(workspace.folder / "jobs", folder / "calls")
    libraries = OpLibraries(build.runtime, _libraries_by_op(build))
    for op, recorded in _calls_by_op(folder / "calls").items():
        if op in libraries.paths:
            _vary(op, recorded, args.varied, folder / "calls" / "varied")
    make_all(folder.resolve(), libraries, "emulated", SCHEDULES)
    _write_sources(build.root, sources, folder / "sources")


def _take_calls(jobs: Path, calls: Path) -> None:
    calls.mkdir()
    for number, path in enumerate(sorted(jobs.glob("head-0-*/out/calls/*.npz"))):
        if path.stat().st_size <= _LARGEST:
            shutil.copy(path, calls / f"{number:05}-{path.name}")


def _calls_by_op(calls: Path) -> dict[str, list[Call]]:
    by_op = defaultdict(list)
    for call in map(load_call, sorted(calls.glob("*.npz"))):
        by_op[call.op].append(call)
    return by_op


def _libraries_by_op(build: SideBuild) -> dict[str, list[str]]:
    by_op = defaultdict(list)
    modules = set(build.module_libraries)
    for library, ops in build.libraries.items():
        for op in ops if library not in modules else ():
            by_op[op].append(library)
    return dict(by_op)


def _vary(op: str, recorded: Sequence[Call], count: int, folder: Path) -> None:
    """Record inputs made of an op's small calls, as `specbot device compare` makes them."""
    shown = small_calls(recorded)
    if not shown:
        return
    recorder = Recorder(folder, lambda _: shown[0].parameters)
    freedom = Freedom(find_preconditions(shown, lambda _call, _place: False))
    chosen = draw_attempts(len(shown), useful_kinds(shown, freedom), ())
    for number, attempt in enumerate(islice(chosen, count)):
        varied = vary(shown, attempt.index, attempt.edits, freedom)
        recorder.record(op, varied.values, number)


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
