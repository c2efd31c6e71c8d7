"""A folder of results of a kernel run: `results.json` and `outputs.safetensors`."""

from __future__ import annotations

import json
from pathlib import Path

from bot.errors import UserError
from bot.reports.kernelrun import results_json
from checks.kernelrun.files import RunFileError, from_json
from checks.kernelrun.model import KernelRunResult
from checks.kernelrun.tensors import Tensor, TensorError, read, write

RESULTS, OUTPUTS = "results.json", "outputs.safetensors"


def save(run: KernelRunResult, folder: Path) -> None:
    """Write both files into `folder`, which is created if needed. Raises `UserError`."""
    text = results_json(run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / OUTPUTS).write_bytes(write(run.tensors))
        (folder / RESULTS).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError("unwritable", path=str(folder), reason=error.strerror) from error


def load(folder: Path) -> KernelRunResult:
    """Read the run in `folder`. Raises `UserError` where files are missing or are not results."""
    path = folder / RESULTS
    try:
        return from_json(json.loads(path.read_text("utf-8")), _load_tensors(folder / OUTPUTS))
    except OSError as error:
        raise UserError("unreadable", path=str(error.filename), reason=error.strerror) from error
    except RunFileError as error:
        raise UserError("kernels-results", path=str(path), where=error.where) from error
    except (ValueError, RecursionError) as error:
        raise UserError("kernels-results", path=str(path), where="JSON") from error


def _load_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return read(path.read_bytes())
    except TensorError as error:
        raise UserError("kernels-outputs", path=str(path), detail=str(error)) from error
