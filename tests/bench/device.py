"""What `specbot device compare` of one changed op costs, beside its compilation and its tests alone.

    python -m tests.bench.device                           # an op of the tests' own repository
    python -m tests.bench.device --repo FastDeploy --source custom_ops/gpu_ops/op.cu
    python -m tests.bench.device --title Refactor          # base and head on many inputs besides

The floor is `g++ -O1` once over the same files, and one run of the tests that call the op, in
processor time. The compared change is one comment in the source; its base was compared before, as
in a service that has seen the branch, so that only what changed is compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.emulator.compiler import RUNTIME
from kernels.emulator.discovery import hardware_of
from kernels.emulator.includes import collect
from kernels.emulator.toolchain import find_toolchain
from tests.device import fixture_copies
from tests.device.fixture_repo import commit

ROOT = Path(__file__).resolve().parents[2]
_INCLUDES = ["-include", "cuda_runtime.h", "-I", ".", "-I", str(RUNTIME / "include")]


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor seconds of one compared change, and of the two halves of its floor."""

    compared: float
    compiled: float
    tested: float
    files: int
    compiled_again: int

    @property
    def ratio(self) -> float:
        """How many times the floor the comparison costs."""
        return self.compared / (self.compiled + self.tested)


def spent(
    command: list[str], folder: Path, environment: Mapping[str, str] | None = None
) -> tuple[float, str]:
    """The processor seconds of a command with all its children, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout


def path_without_bwrap(folder: Path) -> str:
    """The commands of this machine but for bubblewrap: what runs in that is not counted as a
    child's time, and what runs in `unshare` is."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for command in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / command.name
            if command.name != "bwrap" and not link.is_symlink():
                link.symlink_to(command)
    return str(folder)


class Bench:
    """A clone of a repository, of which one source is changed."""

    def __init__(self, clone: Path, source: str, folder: Path, title: str = "") -> None:
        self._clone = clone
        self._source = source
        self._folder = folder
        self._title = ["--title", title] if title else []
        # The floor's tests are without the plugins of this environment, as the compared ones are.
        own = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
        own |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": path_without_bwrap(folder / "bin")}
        self._environment = os.environ | own

    def run(self) -> Cost:
        """The base compared, then the change, then the floor."""
        base = self._git("rev-parse", "HEAD")
        self._device("compare", "--head", base)
        path = self._clone / self._source
        path.write_text(path.read_text("utf-8") + "\n// one more line\n", encoding="utf-8")
        self._git("add", "--all")
        author = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"]
        self._git(*author, "commit", "--quiet", "--no-verify", "-m", "change")
        compared, report = self._device("compare", "--base", base, "--head", "HEAD", *self._title)
        files = [self._source, *sorted({s["copy"] for s in report["siblings"]})]
        again = report["sources"]["compiled_now"]
        tests = self._device("test", "--head", "HEAD")[1]["tests"]["cases"]
        names = sorted({case["test"].partition("::")[0] for case in tests})
        compiled = sum(self._compile(file) for file in files)
        tested = sum(self._test(name) for name in names)
        return Cost(compared, compiled, tested, len(files), len(set(again) - {self._source}))

    def _git(self, *arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=self._clone, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def _device(self, action: str, *sides: str) -> tuple[float, dict[str, Any]]:
        command = [sys.executable, "-m", "bot", "device", action, "--repo", str(self._clone)]
        command += [*sides, "--paths", self._source, "--format", "json", "--fail-on", "never"]
        seconds, said = spent(command, ROOT, self._environment)
        data: dict[str, Any] = json.loads(said)
        return seconds, data

    def _compile(self, source: str) -> float:
        """`g++ -O1` of what the rewriter makes of a source."""
        folder = self._folder / "floor"
        for path, text in collect(self._clone, source, RUNTIME / "include").texts.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        hardware = "XPU" if hardware_of(source) == "xpu" else "CUDA"
        flags = ["-std=c++17", "-O1", "-fPIC", "-w", f"-DPADDLE_WITH_{hardware}", "-DPADDLE_DEV"]
        command = [find_toolchain().path, *flags, *_INCLUDES, "-x", "c++", "-c", source]
        return spent([*command, "-o", "object.o"], folder)[0]

    def _test(self, file: str) -> float:
        """One run of a test file, its ops built before."""
        build = self._folder / "build.json"
        output = self._folder / "libraries"
        output.mkdir(exist_ok=True)
        events = self._folder / "built.jsonl"
        job = {"root": str(self._clone), "variant": "plain", "output": str(output)}
        job |= {"action": "build", "sources": [self._source], "caches": [], "with_tests": True}
        job |= {"events": str(events), "helpers": []}
        build.write_text(json.dumps(job), encoding="utf-8")
        command = [sys.executable, "-m", "kernels.emulator"]
        spent([*command, str(build)], ROOT, self._environment)
        built = [json.loads(line) for line in events.read_text("utf-8").splitlines()]
        [runtime] = [event for event in built if event["event"] == "runtime"]
        [source] = [event for event in built if event["event"] == "source"]
        sources = [source, *(event for event in built if event["event"] == "helper")]
        needs = {event["path"]: event["needs"] for event in built if event["event"] == "test"}
        test = job | {"action": "test", "test": file, "ops": source["ops"], "refusals": {}}
        test |= {"needs": needs.get(file, []), "runtime": runtime["library"]}
        test |= {"most_cases": 0, "left_out": []}
        test |= {"libraries": {s["library"]: s["ops"] for s in sources if s["library"]}}
        test |= {"events": str(self._folder / "tested.jsonl")}
        path = self._folder / "test.json"
        path.write_text(json.dumps(test), encoding="utf-8")
        events.unlink()
        return spent([*command, str(path)], ROOT, self._environment)[0]


def measure(repo: Path | None, source: str, title: str = "") -> Cost:
    """The cost of a change of `source` under a title; without a repository, of the tests' own
    op."""
    with tempfile.TemporaryDirectory(prefix="specbot-bench-") as name:
        folder = Path(name).resolve()
        clone = folder / "clone"
        if repo is None:
            clone.mkdir()
            fixture_copies.write_copies(clone)
            commit(clone, "base")
        else:
            command = ["git", "clone", "--shared", "--quiet", str(repo.resolve()), str(clone)]
            subprocess.run(command, check=True)
        return Bench(clone, source, folder, title).run()


def main() -> int:
    """Print the ratio and what it is made of."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path)
    parser.add_argument("--source", default=fixture_copies.GPU)
    parser.add_argument("--title", default="")
    args = parser.parse_args()
    cost = measure(args.repo, args.source, args.title)
    sys.stdout.write(
        f"{args.source}: compared {cost.compared:.1f} s; "
        f"g++ -O1 over {cost.files} files {cost.compiled:.1f} s, tests {cost.tested:.1f} s; "
        f"ratio {cost.ratio:.1f}; unchanged sources compiled again: {cost.compiled_again}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
