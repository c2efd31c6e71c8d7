"""How the CPU of a review grows with the change: `python -m tests.bench.size [-o FILE]`.

Every change adds its functions or files to an empty repository. `growth` is how the CPU went up
from the row before, over how the size did: 1 is linear. `left out` are the files that the report
says were not analysed: from there on the budget holds, and a larger change costs less.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.bench import measure
from tests.bench.changes import Range
from tests.bench.peers import cpu_of
from tests.bench.scratch import Scratch

FUNCTIONS = (1000, 3000, 10_000, 20_000, 50_000)
FILES = (100, 300, 1000, 2000, 5000)
# Functions of a file, where there are many files.
_SMALL = 10
_PYTHON = b"""

def step_%(n)d(accept_num, draft_tokens, max_len):
    total = accept_num + len(draft_tokens)
    if total > max_len:
        total = max_len
    for token in draft_tokens[:total]:
        accept_num += token == %(n)d
    return accept_num
"""
_CUDA = b"""
__global__ void step_kernel_%(n)d(const int *accept_num, int *seq_lens, int max_len) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < max_len && accept_num[i] > %(n)d) {
    seq_lens[i] += accept_num[i];
  }
}
"""
Files = dict[str, bytes]


@dataclass(frozen=True)
class Row:
    """One change. `left_out` are the files that were not analysed, by reason."""

    series: str
    size: int
    files: int
    kilobytes: int
    seconds: float
    growth: float
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class Series:
    """Changes of one kind; `files_of` makes the files of one size."""

    label: str
    sizes: tuple[int, ...]
    files_of: Callable[[int], Files]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.size", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("-o", "--output", type=Path, help="write the numbers as JSON")
    args = parser.parse_args()
    print(f"{'':32}{'size':>8}{'files':>7}{'kB':>8}{'CPU':>9}{'growth':>8}  left out", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        scratch = Scratch(Path(name) / "scratch.git")
        for series in SERIES:
            for row in measured(scratch, series, Path(name) / "report.json"):
                print_row(row)
                rows.append(row)
    if args.output:
        text = json.dumps([asdict(row) for row in rows], indent=2)
        args.output.write_text(text + "\n", "utf-8")


def measured(scratch: Scratch, series: Series, report: Path) -> Iterator[Row]:
    """Review a change of each size once."""
    empty = scratch.commit_texts({"README.md": b"empty\n"})
    before: Row | None = None
    for size in series.sizes:
        files = series.files_of(size)
        change = Range(series.label, empty, scratch.commit_texts(files))
        command = measure.review_command(scratch.path, change, str(report))
        seconds = cpu_of([*command, "--format", "json"])
        growth = seconds / before.seconds / (size / before.size) if before else 0.0
        unread = json.loads(report.read_bytes())["not_analysed"]
        left_out = dict(Counter(part["reason"] for part in unread))
        kilobytes = sum(map(len, files.values())) // 1000
        before = Row(series.label, size, len(files), kilobytes, seconds, growth, left_out)
        yield before


def print_row(row: Row) -> None:
    growth = f"{row.growth:.2f}" if row.growth else "-"
    left_out = ", ".join(f"{count} {reason}" for reason, count in row.left_out.items()) or "nothing"
    sizes = f"{row.series:32}{row.size:>8}{row.files:>7}{row.kilobytes:>8}"
    print(f"{sizes}{row.seconds:>8.1f}s{growth:>8}  {left_out}", flush=True)


def one_file(path: str, function: bytes) -> Callable[[int], Files]:
    """So many functions in one file."""
    return lambda size: {path: _functions(function, 0, size)}


def files_of_a_hundred(function: bytes, ending: str) -> Callable[[int], Files]:
    """So many functions, a hundred a file."""
    return lambda size: _divided(function, ending, size, 100)


def small_files(function: bytes, ending: str) -> Callable[[int], Files]:
    """So many files."""
    return lambda size: _divided(function, ending, size * _SMALL, _SMALL)


def _divided(function: bytes, ending: str, functions: int, each: int) -> Files:
    return {
        f"engine/part{first // 1000}/step{first}.{ending}": _functions(function, first, each)
        for first in range(0, functions, each)
    }


def _functions(function: bytes, first: int, count: int) -> bytes:
    return b"".join(function % {b"n": n} for n in range(first, first + count))


SERIES = (
    Series("functions, one Python file", FUNCTIONS, one_file("engine/steps.py", _PYTHON)),
    Series("functions, Python files of 100", FUNCTIONS, files_of_a_hundred(_PYTHON, "py")),
    Series("functions, one CUDA file", FUNCTIONS, one_file("engine/steps.cu", _CUDA)),
    Series("functions, CUDA files of 100", FUNCTIONS, files_of_a_hundred(_CUDA, "cu")),
    Series("files, Python", FILES, small_files(_PYTHON, "py")),
    Series("files, CUDA", FILES, small_files(_CUDA, "cu")),
)


if __name__ == "__main__":
    main()
