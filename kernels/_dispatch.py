"""Which implementation a call runs: Triton on a GPU, the reference on a CPU.

With ``TRITON_INTERPRET=1`` (set before triton is imported) a CPU call runs the Triton kernels
through the interpreter, so that CI tests the very code that a GPU runs.
"""

from __future__ import annotations

from functools import cache

import torch

from ._hardware import interpreting


def use_triton(op: str, device: torch.device) -> bool:
    """True for Triton, False for the reference; ValueError for a device that neither serves, or a
    GPU that is not the current one: a launch there would read another GPU's addresses.
    """
    if device.type == "cuda":
        current = torch.cuda.current_device()
        if device.index != current:
            raise ValueError(
                f"{op}: tensors on {device}, but the current device is cuda:{current}; "
                f"enter torch.cuda.device({device.index}) first"
            )
        return True
    if device.type == "cpu":
        if interpreting():
            _refuse_a_wrong_interpreter()
        return interpreting()
    raise ValueError(f"{op}: runs on cuda and cpu, got tensors on {device}")


@cache
def _refuse_a_wrong_interpreter() -> None:
    """RuntimeError if this Triton's interpreter gets wrong what every kernel does with NaN."""
    from ._selftest import interpreter_reads_nan

    if not interpreter_reads_nan():
        import triton

        raise RuntimeError(
            f"kernels: the interpreter of Triton {triton.__version__} gets NaN wrong; "
            "use another version, or unset TRITON_INTERPRET for the reference"
        )
