"""A whole speculative loop around a small random-weight transformer: propose, forward, verify,
accept, score, send.

    outputs = decode(Model(seed=1), [Request((1, 2, 3), max_tokens=20)], Settings("mtp", 3))

Deterministic: the same model seed, requests and settings give the same outputs, and for greedy
requests any settings give the same tokens. `Engine` is the same loop for a caller that wants tokens
as they come.
"""

from kernels.decode.engine import Engine, Progress, decode
from kernels.decode.model import Model, Shape
from kernels.decode.settings import PROPOSERS, Output, Proposer, Request, Settings

__all__ = [
    "PROPOSERS",
    "Engine",
    "Model",
    "Output",
    "Progress",
    "Proposer",
    "Request",
    "Settings",
    "Shape",
    "decode",
]
