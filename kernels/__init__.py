"""The bundled speculative-decoding kernels.

Each op is a package: ``reference.py`` (plain PyTorch, the law), its kernels (``triton.py``, or one
module per job where there are several) and one documented function in ``__init__.py`` that
dispatches on the device. Importing ``kernels`` itself needs neither torch nor triton, so that a
machine without them can still list the ops and say what is missing.
"""

OPS: tuple[str, ...] = (
    "accept",
    "logprobs",
    "ngram",
    "verify",
    "tree",
    "sampling",
    "message",
    "schedule",
)

__all__ = ["OPS"]
