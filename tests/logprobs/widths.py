"""`python -m tests.logprobs.widths DIR`: the case that an e2e baseline stopped at when the top-k
width changed.

Writes what the decode loop records at 20 columns (`base.jsonl`), at 3 (`head.jsonl`), and at 3 with
a real mistake put into it (`broken.jsonl`): the sender goes on striding through the table by 21,
the width of old, as an engine once did.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from kernels.decode.record import main
from kernels.message import pack_message

OLD_STRIDE = 21
SIZE = ("--requests", "8", "--max-tokens", "24")


def strided(
    sampled: torch.Tensor, ids: torch.Tensor, scores: torch.Tensor, *rest: Any, **named: Any
) -> torch.Tensor:
    """`pack_message`, reading row r of the table at r * 21, whatever its width."""
    rows, width = ids.shape
    at = torch.arange(rows)[:, None] * OLD_STRIDE + torch.arange(width)
    at = at.clamp(max=rows * width - 1)
    return pack_message(sampled, ids.flatten()[at], scores.flatten()[at], *rest, **named)


def write(folder: Path) -> tuple[Path, Path, Path]:
    """The three files: base, head and broken."""
    folder.mkdir(parents=True, exist_ok=True)
    base, head, broken = (folder / f"{name}.jsonl" for name in ("base", "head", "broken"))
    main([*SIZE, "--top-k", "20", "-o", str(base)])
    main([*SIZE, "--top-k", "3", "-o", str(head)])
    with patch("kernels.decode.worker.pack_message", strided):
        main([*SIZE, "--top-k", "3", "-o", str(broken)])
    return base, head, broken


if __name__ == "__main__":
    write(Path(sys.argv[1]))
