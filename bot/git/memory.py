"""Looking for bytes in much memory."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from mmap import ACCESS_COPY, mmap
from typing import IO


class Memory:
    """Bytes to be searched again and again: the C library's `memmem` takes a third of the time of `bytes.find`, 3 ms
    for 20 MB."""

    def __init__(self, data: bytes | mmap) -> None:
        self.data = data
        self._memmem = _memmem()
        if isinstance(data, mmap):
            self._start = ctypes.addressof(ctypes.c_char.from_buffer(data))
        else:
            self._start = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0

    @classmethod
    def of(cls, file: IO[bytes]) -> Memory:
        """A file's bytes where the system has them already: reading 20 MB takes as long as three searches."""
        if not os.fstat(file.fileno()).st_size:
            return cls(b"")
        return cls(mmap(file.fileno(), 0, access=ACCESS_COPY))

    def find(self, needle: bytes, at: int, stop: int) -> int:
        """Where `needle` stands next in what lies between `at` and `stop`; -1 where it does not."""
        if self._memmem is None:
            return self.data.find(needle, at, stop)
        found = self._memmem(self._start + at, stop - at, needle, len(needle)) if at < stop else 0
        return found - self._start if found else -1


def _memmem() -> Callable[[int, int, bytes, int], int | None] | None:
    """The function, where the C library has it."""
    try:
        function = ctypes.CDLL(None).memmem
    except (AttributeError, OSError, TypeError):
        return None
    function.restype = ctypes.c_void_p
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    found: Callable[[int, int, bytes, int], int | None] = function
    return found
