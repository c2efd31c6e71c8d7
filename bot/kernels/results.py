"""A folder of results: `results.json` and `outputs.safetensors`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bot.errors import UserError
from bot.i18n.catalog import LANGUAGES, Catalog
from checks.kernelrun.files import RunFileError, from_json, to_json
from checks.kernelrun.model import Reason, Run
from checks.kernelrun.tensors import Tensor, TensorError, read, write

RESULTS, OUTPUTS = "results.json", "outputs.safetensors"


def save(run: Run, folder: Path) -> None:
    """Write both files; the folder is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / OUTPUTS).write_bytes(write(run.tensors))
        (folder / RESULTS).write_text(text_of(run), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UserError("unwritable", path=str(folder), reason=error.strerror) from error


def load(folder: Path) -> Run:
    """The run of a folder. Raises `UserError` for a folder without results, or with files that are none."""
    path = folder / RESULTS
    try:
        return from_json(json.loads(path.read_text("utf-8")), _tensors(folder / OUTPUTS))
    except OSError as error:
        raise UserError("unreadable", path=str(error.filename), reason=error.strerror) from error
    except RunFileError as error:
        raise UserError("kernels-results", path=str(path), where=error.where) from error
    except (ValueError, RecursionError) as error:
        raise UserError("kernels-results", path=str(path), where="JSON") from error


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        return read(path.read_bytes())
    except TensorError as error:
        raise UserError("kernels-outputs", path=str(path), detail=str(error)) from error


def text_of(run: Run) -> str:
    """What `results.json` holds."""
    return json.dumps(to_json(run, reason_data), indent=1, ensure_ascii=False) + "\n"


def reason_data(reason: Reason | None) -> dict[str, Any] | None:
    """A reason as it stands in JSON: its key and arguments, and in words."""
    return (
        None if reason is None else {"key": reason.key, "args": dict(reason.args), **_said(reason)}
    )


def _said(reason: Reason) -> dict[str, str]:
    return {language: say(reason, Catalog(language)) for language in LANGUAGES}


def say(reason: Reason, words: Catalog) -> str:
    """A reason as a sentence. A key that is not known, from another version's file, is shown as it is."""
    try:
        return words(f"kernelrun.reason-{reason.key}", **reason.args)
    except KeyError:
        return words("kernelrun.unknown-reason", key=reason.key)
