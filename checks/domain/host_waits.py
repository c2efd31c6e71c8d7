"""Calls that make the host wait for the device, known by their names."""

from __future__ import annotations

# Methods of a tensor that copy it to the host: `lengths.item()`, `tokens.cpu()`.
COPIES_TO_HOST = frozenset({"item", "tolist", "numpy", "cpu"})
# The same, calls that wait without a copy, and the pinned memory by which a copy need not wait.
WAITS_AND_REMEDIES = COPIES_TO_HOST | {
    "copy_to",
    "synchronize",
    "pin_memory",
    "cudaStreamSynchronize",
}
