"""Errors that are the person's to solve, and the one place where every other error ends."""

from __future__ import annotations

from functools import partial
from typing import Any


class UserError(Exception):
    """Something the person can put right. `key` names a sentence in `templates/words/errors.toml`."""

    def __init__(self, key: str, /, **args: Any) -> None:
        super().__init__(key, args)
        self.key = key
        self.args_ = args

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        """How it travels between processes: an exception with keywords cannot by itself."""
        return partial(type(self), self.key, **self.args_), ()
