"""Programs that measure: nothing is served beside them, and their inputs shall stay the same."""

from __future__ import annotations


def is_benchmark(path: str) -> bool:
    """Whether the file, or a folder that it is in, is called so: `bench_serving.py`."""
    return any(part.startswith("bench") for part in path.split("/"))
