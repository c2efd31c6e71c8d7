"""What the system does not limit: the processes of root, and the memory of several together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.kernels import confine, process
from checks.kernelrun.judge import Excess, ProcessEnd

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="counted in /proc")
_FORKS = """
import os, time
for _ in range({count}):
    if os.fork() == 0:
        held = b"x" * {bytes}
        time.sleep(600)
time.sleep(600)
"""
_MEBIBYTE = 1 << 20


def ending(device: str, source: str) -> ProcessEnd:
    """How a harness ended whose whole source this is."""
    package = {"kernels/__init__.py": b"", "kernels/run.py": source.encode()}
    job = process.OpJob("twice", device, 60.0, reference=False)
    return process.run(job, package, lambda: None).process.ending


@pytest.mark.skipif(os.geteuid() != 0, reason="the system limits the processes of other users")
def test_processes_of_root(monkeypatch):
    monkeypatch.setattr(confine, "MOST_PROCESSES", 30)
    assert ending("cpu", _FORKS.format(count=60, bytes=1)).excess == Excess("processes", 30)


def test_memory_of_several(monkeypatch):
    """With CUDA, where the system is given no limit for one process either."""
    monkeypatch.setattr(confine, "MOST_MEMORY", 1024 * _MEBIBYTE)
    source = _FORKS.format(count=3, bytes=500 * _MEBIBYTE)
    assert ending("cuda", source).excess == Excess("memory", 1)


def test_what_is_shared_counts_once(monkeypatch):
    monkeypatch.setattr(confine, "MOST_MEMORY", 1024 * _MEBIBYTE)
    source = f"held = b'x' * {500 * _MEBIBYTE}\n" + _FORKS.format(count=5, bytes=1)
    source = source.replace("time.sleep(600)", "time.sleep(4)")
    assert ending("cuda", source) == ProcessEnd(code=0)
