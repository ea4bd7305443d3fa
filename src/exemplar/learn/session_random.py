"""Every session has its own random generator, and compiled code can read the very numbers it would give.

Philox is counter-based: the numbers of a session follow from a key and the session's number alone, so neither the order of
sessions nor the number of workers can change them (Salmon et al. 2011; the constants are those of Philox4x64-10).
"""

from __future__ import annotations

import numpy as np
from numba import njit

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157))
_WEYL = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B))


def draw_key(rng: np.random.Generator) -> np.ndarray:
    """(2,) uint64: what the generators of many sessions have in common."""
    return rng.integers(0, 2**64, 2, dtype=np.uint64)


def session_rng(key: np.ndarray, session: int) -> np.random.Generator:
    """The generator of one session. key: (2,) uint64 from `draw_key`."""
    counter = np.array([0, session, 0, 0], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


@njit(cache=True)
def session_random(key: np.ndarray, session: int, draw: int) -> float:
    """The number in [0, 1) that call number `draw` (from 0) of `session_rng(key, session).random()` gives."""
    a, b = np.uint64(draw // 4 + 1), np.uint64(session)  # NumPy counts up before it makes four numbers
    c, d = np.uint64(0), np.uint64(0)
    first, second = key[0], key[1]
    for _ in range(10):
        high_a, low_a = _product(_MULTIPLIERS[0], a)
        high_c, low_c = _product(_MULTIPLIERS[1], c)
        a, b, c, d = high_c ^ b ^ first, low_c, high_a ^ d ^ second, low_a
        first, second = first + _WEYL[0], second + _WEYL[1]
    lane = draw % 4
    word = a if lane == 0 else b if lane == 1 else c if lane == 2 else d
    return np.float64(word >> np.uint64(11)) * 2.0**-53


@njit(cache=True)
def _product(x: np.uint64, y: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The upper and the lower 64 bits of a product."""
    x_high, x_low, y_high, y_low = x >> _32, x & _LOW, y >> _32, y & _LOW
    middle = x_high * y_low + ((x_low * y_low) >> _32)
    carry = x_low * y_high + (middle & _LOW)
    return x_high * y_high + (middle >> _32) + (carry >> _32), x * y
