"""`python -m kernels.emulator JOB.json`: a job in, its events out, a line of JSON each.

The job's `action` is `build`, `mutate`, `test`, `replay` or `sibling`; what it writes goes to the
files and folders that the job names. Code under test runs in this process: whoever starts it
confines it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernels.emulator.builds import build_all, build_texts
from kernels.emulator.compiler import Build, Workshop, build_runtime
from kernels.emulator.discovery import hardware_of, tests_of
from kernels.emulator.events import Events
from kernels.emulator.extensions import extensions_of
from kernels.emulator.importers import tests_of_extensions
from kernels.emulator.linked import sources_to_link
from kernels.emulator.needs import needs_of
from kernels.emulator.prefix import with_prefix
from kernels.emulator.toolchain import NoCompiler, Toolchain, Variant, find_toolchain
from kernels.emulator.wrappers import wrappers_of

_PRELOADED = "SPECBOT_EMULATOR_PRELOADED"


def main() -> None:
    """Run the job that the first argument names."""
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    if job["action"] == "build":
        _build(job)
        return
    if job["action"] == "mutate":
        _mutate(job)
        return
    if job.get("variant") == Variant.SANITIZED:
        _preload_sanitizer()
    # These import numpy, which has to come after the sanitizer.
    if job["action"] == "test":
        from kernels.emulator.testing import run_tests

        run_tests(job)
    elif job["action"] == "sibling":
        from kernels.emulator.sibling_runs import run_siblings

        run_siblings(job)
    else:
        from kernels.emulator.replaying import run_replay

        run_replay(job)


def _build(job: dict[str, Any]) -> None:
    """Tell of the runtime's library, of each source's, and of the tests that import their ops.

    The tests only where the job wants them: every file of the repository is read for that. What
    they need besides is built as well, to be imported or linked, and so are the job's `helpers`.
    """
    events = Events(Path(job["events"]))
    try:
        toolchain = find_toolchain()
    except NoCompiler:
        events.write({"event": "no-compiler"})
        return
    root, output = Path(job["root"]), Path(job["output"])
    caches = tuple(Path(path) for path in job["caches"])
    workshop = Workshop(toolchain, output, caches, Variant(job["variant"]))
    events.write({"event": "compiler", "version": toolchain.version})
    runtime = build_runtime(workshop)
    events.write({"event": "runtime", **_plain(runtime)})
    if runtime.library is None:
        return
    workshop = with_prefix(workshop)
    builds = build_all(
        workshop,
        root,
        job["sources"],
        lambda build: events.write({"event": "source", **_plain(build)}),
        lambda member: events.write({"event": "member", "path": member.source}),
    )
    tests = _tests(root, builds) if job["with_tests"] else {}
    needs = needs_of(root, tests)
    for path, ops in tests.items():
        needed = sorted(needs.get(path, ()))
        events.write({"event": "test", "path": path, "ops": sorted(ops), "needs": needed})
    helpers = {*job["helpers"], *(source for found in needs.values() for source in found.values())}
    linked = sources_to_link(root, builds) if job["with_tests"] else set()
    _build_helpers(job, workshop, events, helpers | linked)
    events.write({"event": "end"})


def _build_helpers(
    job: dict[str, Any], workshop: Workshop, events: Events, wanted: set[str]
) -> None:
    """Tell of the library of each of these that is not built yet, and of those that they need to
    be linked."""
    root = Path(job["root"])
    known = set(job["sources"])
    while pending := sorted(wanted - known):
        known |= wanted
        builds = build_all(
            workshop,
            root,
            pending,
            lambda build: events.write({"event": "helper", **_plain(build)}),
        )
        wanted = sources_to_link(root, builds) if job["with_tests"] else set()


def _tests(root: Path, builds: Sequence[Build]) -> dict[str, set[str]]:
    """The ops of what was built that each test file comes to."""
    hardware = {op: hardware_of(build.source) for build in builds for op in build.ops}
    found = tests_of(root, hardware, wrappers_of(root, hardware))
    tests = {path: set(names) for path, names in found.items()}
    bindings = {name for build in builds for name in build.modules}
    chosen = [item for item in extensions_of(root) if item.binding in bindings]
    for path, ops in tests_of_extensions(root, chosen).items():
        if ops & set(hardware):
            tests.setdefault(path, set()).update(ops & set(hardware))
    return dict(sorted(tests.items()))


def _mutate(job: dict[str, Any]) -> None:
    """Tell of the library of each text that the job gives one source."""
    events = Events(Path(job["events"]))
    caches = tuple(Path(path) for path in job["caches"])
    workshop = Workshop(find_toolchain(), Path(job["output"]), caches)
    build_texts(
        with_prefix(workshop),
        Path(job["root"]),
        job["source"],
        job["texts"],
        lambda number, build: events.write({"event": "mutant", "number": number, **_plain(build)}),
    )
    events.write({"event": "end"})


def _plain(build: Build) -> dict[str, Any]:
    return {
        "source": build.source,
        "key": build.key,
        "library": str(build.library) if build.library else "",
        "refusal": build.refusal,
        "compiled_now": build.compiled_now,
        "interpreted": build.interpreted,
        "modules": list(build.modules),
        "ops": list(build.ops),
    }


def _preload_sanitizer() -> None:
    """Start again with ASan's library before all others, as it demands, and the one that throws
    C++'s errors, which it looks for when it starts: a process that throws one ends otherwise."""
    if _PRELOADED in os.environ:
        return
    toolchain = find_toolchain()
    sanitizer = "libasan.so" if toolchain.is_gcc else "libclang_rt.asan-x86_64.so"
    preloaded = [_library_of(toolchain, name) for name in (sanitizer, "libstdc++.so.6")]
    options = "detect_leaks=0:abort_on_error=0:exitcode=99:detect_odr_violation=0"
    environment = os.environ | {
        _PRELOADED: "1",
        "LD_PRELOAD": ":".join(preloaded),
        "ASAN_OPTIONS": f"{options}:allocator_may_return_null=1",
        "PYTHONMALLOC": "malloc",
    }
    os.execve(
        sys.executable, [sys.executable, "-m", "kernels.emulator", *sys.argv[1:]], environment
    )


def _library_of(toolchain: Toolchain, name: str) -> str:
    """Where the compiler has a library."""
    command = [toolchain.path, f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
