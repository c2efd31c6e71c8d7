"""Floats that numpy does not have: kept as float32, and given to ops and taken as their bits."""

from __future__ import annotations

import numpy as np

BFLOAT16, FLOAT8 = "bfloat16", "float8_e4m3fn"
# Bytes of one number.
SIZES = {BFLOAT16: 2, FLOAT8: 1}
_NO_NUMBER = 0x7F
_SIGN = 7


def _positive_float8() -> np.ndarray:
    """The value of each code from 0 to the largest number, 448."""
    exponent, fraction = np.divmod(np.arange(_NO_NUMBER), 8)
    normal = np.ldexp(1 + fraction / 8, exponent - 7)
    return np.where(exponent == 0, np.ldexp(fraction / 8, -6), normal)


_FLOAT8 = _positive_float8()


def rounded(array: np.ndarray, name: str) -> np.ndarray:
    """The values as the type has them, ties to even, still as float32."""
    return from_bits(to_bits(array, name), name)


def to_bits(array: np.ndarray, name: str) -> np.ndarray:
    """The bits of the values as the type has them."""
    return _bfloat16_bits(array) if name == BFLOAT16 else _float8_bits(array)


def from_bits(bits: np.ndarray, name: str) -> np.ndarray:
    """The values of bits, as float32."""
    if name == BFLOAT16:
        return (bits.astype(np.uint32) << 16).view(np.float32)
    code = bits & _NO_NUMBER
    values = np.append(_FLOAT8, np.nan)[code]
    return np.where(bits >> _SIGN, -values, values).astype(np.float32)


def _bfloat16_bits(array: np.ndarray) -> np.ndarray:
    values = np.ascontiguousarray(array, np.float32).reshape(np.shape(array))
    wide = values.view(np.uint32)
    nearest = ((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype(np.uint16)
    # Of what is no number rounding could make one.
    no_number = (wide >> 16).astype(np.uint16) | np.uint16(0x40)
    return np.where(np.isnan(values), no_number, nearest)


def _float8_bits(array: np.ndarray) -> np.ndarray:
    """What is too large becomes the largest number, as CUDA converts it."""
    values = np.asarray(array, np.float64)
    size = np.minimum(np.abs(np.nan_to_num(values, nan=0.0)), _FLOAT8[-1])
    above = np.searchsorted(_FLOAT8, size)
    below = np.maximum(above - 1, 0)
    middle = (_FLOAT8[below] + _FLOAT8[above]) / 2
    is_below = (size < middle) | ((size == middle) & (below % 2 == 0))
    code = np.where(is_below, below, above)
    code = np.where(np.isnan(values), _NO_NUMBER, code)
    return (code | np.signbit(values).astype(int) << _SIGN).astype(np.uint8)
