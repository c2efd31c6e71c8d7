"""Errors that are the person's to solve, and the one place where every other error ends."""

from __future__ import annotations

from functools import partial
from typing import Any


class UserError(Exception):
    """Something the person can put right. `key` names a sentence in
    `templates/words/errors.toml`."""

    def __init__(self, key: str, /, **args: Any) -> None:
        super().__init__(key, args)
        self.key = key
        self.args_ = args

    def as_data(self) -> dict[str, Any]:
        """`key` and `args` as JSON can hold them."""
        lists = {
            name: [*map(str, value)]
            for name, value in self.args_.items()
            if isinstance(value, list | tuple)
        }
        return {
            "key": self.key,
            "args": {name: str(value) for name, value in self.args_.items()} | lists,
        }

    def __reduce__(self) -> tuple[Any, tuple[()]]:
        """How it travels between processes: an exception with keywords cannot by itself."""
        return partial(type(self), self.key, **self.args_), ()
