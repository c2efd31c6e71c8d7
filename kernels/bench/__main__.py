"""``python -m kernels.bench [--ops ...] [--examples N] [--jobs N] [-o DIR] [--json FILE]``

Runs the tests of the chosen ops, then times those whose tests are green. Needs a CUDA GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .. import OPS


def main(arguments: list[str] | None = None) -> int:
    """0 if every chosen op was green and timed, 1 if one was refused, 2 if there is no GPU."""
    options = _parser().parse_args(arguments)
    import torch

    if not torch.cuda.is_available():
        print("kernels bench: needs a CUDA GPU, and torch sees none here", file=sys.stderr)
        return 2
    from .cases import workloads
    from .gate import run_tests
    from .report import plot, plot_worst, table, tests_table
    from .run import run_bench

    ops = options.ops or list(OPS)
    chosen = [w for w in workloads() if w.op in ops and (options.only or "") in w.name]
    tests = run_tests(ops, options.examples, options.jobs)
    results = run_bench(chosen, tests, compiled=not options.no_compile)
    results["examples"] = options.examples
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "bench.json").write_text(json.dumps(results, indent=1) + "\n")
        (options.out / "bench.md").write_text(table(results))
        (options.out / "tests.md").write_text(tests_table(results, options.examples))
        if not plot(results, options.out / "bench.png"):
            print("kernels bench: no picture, matplotlib is not installed", file=sys.stderr)
        plot_worst(results, options.out / "worst.png")
    print(table(results))
    return int(any("refused" in row for row in results["workloads"]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kernels bench", description=__doc__)
    parser.add_argument("--ops", nargs="+", choices=OPS, help="only these ops")
    parser.add_argument("--only", help="only workloads whose name contains this")
    parser.add_argument("--examples", type=int, default=300, help="cases of each property test")
    parser.add_argument("--jobs", type=int, default=1, help="test processes")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument(
        "-o", "--out", type=Path, help="folder for bench.json, tables and the picture"
    )
    parser.add_argument("--json", type=Path, help="the results alone, to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
