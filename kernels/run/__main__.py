"""`python -m kernels.run OP --device cpu|cuda -o DIR [--reference]`: one op's cases, in this
process.

Writes `DIR/events.jsonl`, one line for each thing that happened, in order, so that it says how far
a process came that died; `DIR/outputs/CASE.safetensors`; and with `--reference` first of all
`DIR/reference/CASE.safetensors`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LONGEST = 300
LOST = 4


class Events:
    """The journal. Each line is on the disk before the next thing is tried."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def note(self, event: str, **more: object) -> None:
        """One line."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, **more}) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """0 if every case was tried, 3 if there is no such device, 4 if the device was lost on
    the way."""
    options = _parser().parse_args(arguments)
    if options.device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    import torch

    from kernels.run.measure import key, roof, versions

    events = Events(options.out / "events.jsonl")
    if options.device == "cuda" and not torch.cuda.is_available():
        events.note("no-device")
        return 3
    device = torch.device(options.device)
    events.note("start", versions=versions(), device=key(device))
    cases = _cases(options.op, events)
    if options.reference:
        if device.type == "cuda":
            events.note("roof", bytes_per_second=roof())
        _references(cases, device, options.out, events)
    for case in cases:
        if not _try(case, device, options.out, events):
            return LOST
    events.note("end")
    return 0


def _cases(op: str, events: Events) -> Iterable[Any]:
    """The op's cases.

    Importing them imports the op, which may be broken: that is a result like any other.
    """
    from importlib import import_module

    try:
        return tuple(import_module(f"..cases.{op}", __package__).CASES)
    except Exception as error:
        events.note("import-failed", error=_said(error))
        return ()


def _references(cases: Iterable[Any], device: Any, out: Path, events: Events) -> None:
    """What the law says, how near an op must come to it, and how much is read and written, before
    any op has run."""
    from kernels.run.measure import size

    for case in cases:
        events.note("case", case=case.name, tolerance=dict(case.tolerance))
        if case.gpu_only and device.type != "cuda":
            continue
        try:
            given = case.build(device)
            outputs = case.defined(case.reference(given))
            _save(outputs, out / "reference" / f"{case.name}.safetensors")
            events.note("size", case=case.name, bytes=size(given) + size(outputs))
        except Exception as error:
            events.note("reference-failed", case=case.name, error=_said(error))


def _try(case: Any, device: Any, out: Path, events: Events) -> bool:
    """Runs one case.

    False if the device does not answer any more, which nothing after it can mend.
    """
    from kernels.run.measure import settle, times
    from kernels.run.poison import poisoned

    if case.gpu_only and device.type != "cuda":
        events.note("unsupported", case=case.name, error="")
        return True
    events.note("begin", case=case.name)
    try:
        given = case.build(device)
        with poisoned():
            produced = case.call(given)
        settle(device)
        _save(case.defined(produced), out / "outputs" / f"{case.name}.safetensors")
        del given, produced
        how, seconds = times(case, device)
        events.note("done", case=case.name, how=how, seconds=seconds)
    except NotImplementedError as error:
        events.note("unsupported", case=case.name, error=_said(error))
    except Exception as error:
        lost = _lost(device)
        events.note("lost" if lost else "error", case=case.name, error=_said(error))
        return not lost
    return True


def _lost(device: Any) -> bool:
    """Whether the device still fails after an error, as it does after an illegal address."""
    from kernels.run.measure import settle

    try:
        settle(device)
    except RuntimeError:
        return True
    return False


def _save(outputs: dict[str, Any], path: Path) -> None:
    from safetensors.torch import save_file

    path.parent.mkdir(exist_ok=True)
    save_file({name: t.detach().cpu().contiguous().clone() for name, t in outputs.items()}, path)


def _said(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:LONGEST]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kernels run", description=__doc__)
    parser.add_argument("op", help="a module of kernels.cases")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), required=True, help="cpu is Triton's interpreter"
    )
    parser.add_argument(
        "--reference", action="store_true", help="write what the reference gives, too"
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="DIR", help="an existing folder"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
