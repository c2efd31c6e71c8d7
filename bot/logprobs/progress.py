"""A bar on a terminal, and nothing anywhere else."""

from __future__ import annotations

import sys
from types import TracebackType

from bot.i18n.catalog import Catalog

_WIDTH = 24


class Progress:
    """`done` of `total` requests, on standard error.

    Use as a context: the line is cleared at its end.
    """

    def __init__(self, words: Catalog, total: int, done: int) -> None:
        self._words = words
        self._total = total
        self._done = done
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        self._draw()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        self._draw()

    def _draw(self) -> None:
        if not self._shown:
            return
        full = _WIDTH * self._done // max(self._total, 1)
        said = self._words("logprobs.progress", done=self._done, total=self._total)
        sys.stderr.write(f"\r{'█' * full}{'░' * (_WIDTH - full)} {said}\x1b[K")
        sys.stderr.flush()
