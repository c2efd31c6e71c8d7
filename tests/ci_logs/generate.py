"""Makes windows of logs from programs that really fail: `python -m tests.ci_logs.generate dev [NAME
...]`.

Each script of `scripts/<set>.toml` runs in an empty folder. The folder's path and the host are
replaced, the line that a maintainer would quote is marked, and all go into
`windows/<set>-generated.txt`. Needs gcc, cmake, ninja, nvcc and the development dependencies; the
scripts that mount a small file system need root. With names, only those are run.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from tests.ci_logs.windows import HERE, MARK, Window, read, write

HOME = "/home/ci/engine"
LINES = 80


def output(script: str) -> str:
    """What `script` prints (both streams), with this machine's paths taken out."""
    with tempfile.TemporaryDirectory(prefix="engine") as folder:
        tools = str(Path(sys.executable).parent)
        environment = {
            **{k: v for k, v in os.environ.items() if k in ("LANG", "CUDA_HOME", "HOME")},
            "PATH": f"{tools}:{os.environ['PATH']}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "120",
            "PIP_CONFIG_FILE": "/dev/null",
        }
        done = subprocess.run(
            ["bash", "-c", f"cd {shlex.quote(folder)}\nexec 2>&1\n{script}"],
            stdout=subprocess.PIPE,
            env=environment,
            timeout=300,
        )
        return neutral(done.stdout.decode("utf-8", "replace"), folder)


def neutral(text: str, folder: str) -> str:
    text = text.replace(folder, HOME).replace(Path(folder).name, "engine")
    text = text.replace(str(Path(sys.executable).parent.parent), "/opt/python")
    text = text.replace(str(Path(sys.base_prefix)), "/usr/lib/python").replace(
        os.uname().nodename, "gpu-runner"
    )
    return re.sub(r"/tmp/[\w.-]+", "/tmp/x", text)


def window(case: dict[str, str]) -> Window:
    """The case as a window; raises ValueError where the script did not fail in the way that it
    should."""
    lines = output(case["run"]).rstrip("\n").split("\n")[-LINES:]
    hits = [n for n, line in enumerate(lines) if case["key"] in line]
    if not hits:
        raise ValueError("\n".join([*lines, f"{case['name']}: no line has {case['key']!r}"]))
    for hit in hits:
        lines[hit] = MARK + lines[hit]
    return Window(
        case["name"],
        case["category"],
        case["cause"],
        "generated",
        tuple(lines),
        gpu=bool(case.get("gpu")),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set")
    parser.add_argument("names", nargs="*")
    wanted = parser.parse_args()
    path = HERE / "windows" / f"{wanted.set}-generated.txt"
    known = {w.name: w for w in read(path)} if path.exists() else {}
    cases = tomllib.loads((HERE / "scripts" / f"{wanted.set}.toml").read_text("utf-8"))["case"]
    for case in cases:
        if not wanted.names or case["name"] in wanted.names:
            try:
                known[case["name"]] = window(case)
            except ValueError as error:
                print(error, file=sys.stderr)
    write(path, [known[c["name"]] for c in cases if c["name"] in known])


if __name__ == "__main__":
    main()
