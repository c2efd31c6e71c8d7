"""The command of one review, and what it did: the files that it parsed, and where its time went."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.bench.changes import Range

ROOT = Path(__file__).resolve().parents[2]


def review_command(repo: Path, compared: Range, report: str = os.devnull) -> list[str]:
    """`specbot review` of the change, its report thrown away if no file is named."""
    change = ["--repo", str(repo), "--base", compared.base, "--head", compared.head]
    options = ["--no-merge-base", "--lang", "en", "--fail-on", "never", "-o", report]
    return [sys.executable, "-m", "bot", "review", *change, *options]


def parsed_files(repo: Path, compared: Range) -> set[str]:
    """The files of the head that the review parses."""
    return set(_look_inside(repo, compared)["parsed"])


def stages(repo: Path, compared: Range) -> dict[str, dict[str, float]]:
    """Milliseconds of CPU in each stage and in each rule."""
    found = _look_inside(repo, compared)
    return {group: found[group] for group in ("stages", "rules")}


def _look_inside(repo: Path, compared: Range) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.bench.stages", str(repo), compared.base, compared.head]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
