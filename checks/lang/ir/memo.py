"""Values that are derived from one object and wanted by several rules."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

T = TypeVar("T")


class WithMemo:
    """A base class for what is expensive to look at: it keeps what was derived from it."""

    @cached_property
    def _memo(self) -> dict[Hashable, Any]:
        return {}

    def memo(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made the first time `key` is asked for.

        `make` must depend on this object and on `key` alone. A function is a good key.
        """
        if key not in self._memo:
            self._memo[key] = make()
        value: T = self._memo[key]
        return value
