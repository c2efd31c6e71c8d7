"""Host-side tensors: the few operations the engine process needs, over numpy."""

from __future__ import annotations

import numpy as np


class HostTensor:
    """A numpy array whose element views can be set in place, like a device framework's tensors."""

    def __init__(self, array):
        self._array = array

    def __getitem__(self, key):
        # A length-1 slice keeps scalars as views, so that set_tensor() reaches the parent.
        if isinstance(key, tuple) and all(isinstance(part, int) for part in key):
            key = tuple(slice(part, part + 1) for part in key)
        elif isinstance(key, int):
            key = slice(key, key + 1)
        return HostTensor(self._array[key])

    def __setitem__(self, key, value):
        self._array[key] = value._array if isinstance(value, HostTensor) else value

    def __int__(self):
        return int(self._array.item())

    def __len__(self):
        return len(self._array)

    def set_tensor(self, value):
        self._array[...] = value._array if isinstance(value, HostTensor) else value

    def item(self):
        return self._array.item()

    def numpy(self):
        return self._array


def to_tensor(value, dtype=None):
    return HostTensor(np.asarray(value, dtype=dtype))


def full(shape, fill_value, dtype):
    return HostTensor(np.full(shape, fill_value, dtype=dtype))


def ones(shape, dtype):
    return full(shape, 1, dtype)
