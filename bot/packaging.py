"""What the program's own modules are called, where it lies, and which optional parts are there.

In a checkout the packages are `bot`, `checks` and `kernels`; installed they stand below `specbot`
(`.ci/build_hook.py` says why).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import bot
from bot.errors import UserError

EXTRAS = {
    "ci": ("defusedxml", "github", "httpx", "junitparser", "numpy", "sqlalchemy"),
    "device": ("numpy", "pytest"),
    "github": ("github", "httpx"),
    "kernels": ("numpy", "safetensors", "torch", "triton"),
    "logprobs": ("httpx", "numpy", "orjson", "safetensors"),
    "pictures": ("matplotlib",),
    "service": ("dbos", "matplotlib", "numpy", "sqlalchemy", "starlette", "uvicorn"),
}
"""The modules by which an extra of the distribution is known to be installed."""


def module_name(name: str) -> str:
    """What the checkout's module `name` is called here: itself, or with `specbot.` before it."""
    return bot.__name__.removesuffix("bot") + name


def import_folder() -> Path:
    """The folder from which Python imports `module_name(...)`."""
    depth = len(bot.__name__.split("."))
    return Path(bot.__file__).resolve().parents[depth]


def require_extra(extra: str) -> None:
    """Raise `UserError` where a module of the extra is not installed."""
    if any(find_spec(name) is None for name in EXTRAS[extra]):
        raise UserError("extra-missing", extra=extra)
