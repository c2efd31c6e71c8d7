"""The terminal report: columns, colour and progress."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot.reports.terminal import width_of, wrap

ROOT = Path(__file__).resolve().parents[2]


def test_width():
    assert [width_of(t) for t in ("ab", "中文", "a，b", "e\u0301", "🔴", "±")] == [2, 4, 4, 1, 2, 1]


@pytest.mark.parametrize("width", [20, 33, 80])
def test_wrap_keeps_every_word_and_the_width(width):
    line = (
        "改动了 3 个文件（`a.py`、`b/c.cu`），函数 `verify` 的参数增加了 lens；see also the kernel."
    )
    lines = wrap(line, width, "- ", "  ")
    assert "".join("".join(lines).split()) == "-" + "".join(line.split())
    assert all(width_of(part) <= width for part in lines)
    assert not any(part.strip()[:1] in "，。；：、）" for part in lines)


def test_a_long_word_stays_whole():
    word = "`" + "directory/" * 12 + "file.py:12`"
    assert word in wrap(f"see {word} there", 40)


def on_a_terminal(repo, **env: str) -> str:
    """What a review prints where standard output and error are a terminal."""
    master, slave = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "bot",
        "review",
        "--repo",
        repo.path,
        "--base",
        "HEAD~1",
        "--lang",
        "zh",
    ]
    base = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    process = subprocess.Popen(
        command,
        stdout=slave,
        stderr=slave,
        stdin=slave,
        env={**base, "TERM": "xterm", "PYTHONPATH": str(ROOT), **env},
    )
    os.close(slave)
    read = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # Linux ends a terminal that way
            break
        if not part:
            break
        read += part
    os.close(master)
    assert process.wait() == 0
    return read.decode()


def test_colour_and_progress_on_a_terminal(repo):
    repo.commit({"a.py": "x = 1\n"})
    repo.commit({"a.py": "x = 2\n"})
    shown = on_a_terminal(repo)
    assert "\x1b[1m审查摘要\x1b[0m" in shown and "\x1b[36mx = 2\x1b[0m" in shown
    assert re.search(r"\r\x1b\[K检查 [\w.-]+", shown)
    plain = on_a_terminal(repo, NO_COLOR="1")
    assert "审查摘要" in plain and "\x1b[1m" not in plain and "`x = 2`" in plain
