"""What the commands of this folder that measure a repository are given, and how they answer."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Of the repository, its commit, and the file to write."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--head", default="HEAD")
    parser.add_argument("-o", "--output", type=Path)
    return parser


def write_result(result: dict[str, Any], output: Path | None) -> None:
    """Write all of the result where that was asked."""
    if output is not None:
        output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
