"""What each adapter needs: to put a function in place of another, and a step without an end."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch

# An engine's own functions, by (module, name).
Own = dict[tuple[str, str], Callable[..., Any]]
_NO_LIMIT = 1 << 62


def replace(module: str, name: str, ours: Callable[..., Any], own: Own) -> None:
    """Puts ``ours`` in the place of ``module.name``, also where modules of the same package have
    imported it already, and keeps what was there in ``own``. A second call changes nothing.

    Raises ImportError where there is no such module, AttributeError where it has no such name.
    """
    found = getattr(import_module(module), name)
    if found is ours:
        return
    own[module, name] = found
    package = module.partition(".")[0] + "."
    for path, user in list(sys.modules.items()):
        if path.startswith(package) and vars(user).get(name) is found:
            setattr(user, name, ours)


def endless(batch: int, device: torch.device) -> dict[str, torch.Tensor]:
    """A step that nothing ends but its drafts: an engine looks for the end of a text afterwards."""
    return {
        "step_idx": torch.zeros(batch, dtype=torch.int64, device=device),
        "max_dec_len": torch.full((batch,), _NO_LIMIT, device=device),
        "end_tokens": torch.empty(0, dtype=torch.int64, device=device),
    }
