"""Programs that measure: nothing is served beside them, and their inputs shall stay the same."""

from __future__ import annotations

import re

_BENCHMARK = re.compile(r"(?:^|[/_.-])bench")


def is_benchmark(path: str) -> bool:
    """Whether a word of the file's name, or of a folder that it is in, is so: `bench_serving.py`,
    `cache_benchmark.cpp`."""
    return _BENCHMARK.search(path) is not None
