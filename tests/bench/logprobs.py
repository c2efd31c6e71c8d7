"""Prints what a comparison of two files of logprob records costs, where every value differs and
ties change places.

python -m tests.bench.logprobs [--tokens N] [-n RUNS] [-o FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import orjson

from checks.logprobs.jsonl import write
from checks.logprobs.record import Record, RecordOrigin, prompt_hash
from tests.bench.measure import ROOT
from tests.logprobs.simulated import ULP, bfloat16, steps

COLUMNS, TOKENS = 20, 256


@dataclass(frozen=True)
class Cost:
    """Of one command: seconds by the clock and of CPU, and the largest process in MB."""

    label: str
    tokens: int
    megabytes: float
    wall: float
    cpu: float
    memory: float

    @property
    def rate(self) -> float:
        return self.tokens / self.wall


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.logprobs", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument(
        "--tokens", type=int, default=512_000, help="tokens of each file (default 512000)"
    )
    parser.add_argument(
        "-n", "--runs", type=int, default=3, help="runs of each command (default 3)"
    )
    parser.add_argument("-o", "--output", type=Path, help="write the numbers as JSON")
    args = parser.parse_args()
    machine = (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"specbot logprobs diff, k={COLUMNS}, every value off by up to an ulp; best of {args.runs}; {machine}"
    )
    print(f"{'':30}{'tokens':>10}{'MB':>8}{'wall s':>8}{'cpu s':>8}{'RSS MB':>8}{'tokens/s':>11}")
    with tempfile.TemporaryDirectory() as folder:
        costs = list(_measured(Path(folder), args.tokens, args.runs))
        floor = min(_parse_alone(Path(folder)) for _ in range(args.runs))
    print(f"two files: {costs[1].cpu / floor:.1f} times the CPU of parsing their JSON alone")
    if args.output:
        numbers = {
            "machine": machine,
            "parse_cpu": floor,
            "costs": [asdict(cost) | {"rate": round(cost.rate)} for cost in costs],
        }
        args.output.write_text(json.dumps(numbers, indent=2) + "\n", "utf-8")


def _measured(folder: Path, tokens: int, runs: int) -> Iterator[Cost]:
    part = tokens // 4
    yield _row("a quarter of it", part, runs, *_files(folder, part // TOKENS))
    paths = _files(folder, tokens // TOKENS)
    yield _row("two files", tokens, runs, *paths)
    yield _row("equal files", tokens, runs, paths[0], paths[0])
    yield _row("requests in another order", tokens, runs, paths[0], _reversed(paths[1]))


def _parse_alone(folder: Path) -> float:
    """Seconds of CPU that reading both files line by line with orjson takes: the floor."""
    started = time.process_time()
    for name in ("base.jsonl", "head.jsonl"):
        with (folder / name).open("rb") as file:
            for line in file:
                orjson.loads(line)
    return time.process_time() - started


def _row(label: str, tokens: int, runs: int, base: Path, head: Path, *options: str) -> Cost:
    size = (base.stat().st_size + head.stat().st_size) / 1e6
    cost = min(
        (_once(label, tokens, size, base, head, *options) for _ in range(runs)),
        key=lambda c: c.wall,
    )
    print(
        f"{label:30}{tokens:>10,}{size:>8.0f}{cost.wall:>8.2f}{cost.cpu:>8.2f}{cost.memory:>8.0f}{cost.rate:>11,.0f}",
        flush=True,
    )
    return cost


def _once(label: str, tokens: int, size: float, base: Path, head: Path, *options: str) -> Cost:
    command = [
        sys.executable,
        "-m",
        "bot",
        "logprobs",
        "diff",
        str(base),
        str(head),
        "-o",
        os.devnull,
        *options,
    ]
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the comparison failed: {' '.join(command)}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(
        label, tokens, round(size), wall, used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 1e6
    )


def _files(folder: Path, requests: int) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    paths = folder / "base.jsonl", folder / "head.jsonl"
    with paths[0].open("wb") as base, paths[1].open("wb") as head:
        for n in range(requests):
            # no token twice in a row, the greedy one well ahead of the others
            ids = rng.integers(0, 7000, (TOKENS, COLUMNS)) * COLUMNS + np.arange(COLUMNS)
            x = bfloat16(rng.uniform(8, 13, (TOKENS, COLUMNS)))
            x[:, 0] = 14
            logz = rng.uniform(14.5, 15.5, TOKENS).astype(np.float32).astype(np.float64)
            accept = steps(rng, TOKENS)
            base.write(write(_record(n, ids, x, logz, accept)))
            head.write(write(_record(n, ids, x + ULP * rng.integers(-1, 2, x.shape), logz, accept)))
    return paths


def _record(
    number: int, ids: np.ndarray, x: np.ndarray, logz: np.ndarray, accept: np.ndarray
) -> Record:
    lp = (x - logz[:, None]).astype(np.float32).astype(np.float64)
    order = np.argsort(-x, axis=1, kind="stable")
    return Record(
        f"request-{number}",
        ids[:, 0],
        lp[:, 0],
        np.take_along_axis(ids, order, axis=1),
        np.take_along_axis(lp, order, axis=1),
        prompt_hash(str(number)),
        ranks=np.ones(TOKENS, np.int64),
        accept_num=accept,
        logz=logz,
        origin=RecordOrigin("model", "raw", "device", "engine", "1", "bfloat16"),
        sampling={"temperature": 0.0, "max_tokens": TOKENS},
    )


def _reversed(path: Path) -> Path:
    """The same lines from the last to the first, with one of them in memory at a time: a command's
    peak is at least what its parent had when it was started."""
    other = path.with_name("reversed.jsonl")
    with path.open("rb") as file, other.open("wb") as target:
        ends = [0, *(file.tell() for _ in iter(file.readline, b""))]
        for start in ends[-2::-1]:
            file.seek(start)
            target.write(file.readline())
    return other


if __name__ == "__main__":
    main()
