"""Random draws that depend on what is drawn for and on the seed, never on a position."""

import numpy as np
from numpy.typing import NDArray

U64 = NDArray[np.uint64]


def mix(values: U64) -> U64:
    """Scramble 64-bit integers one to one (the finaliser of SplitMix64, Steele et al. 2014)."""
    z = values + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def draw(identity: U64, seed: int, purpose: int) -> U64:
    """One uniform 64-bit integer for each identity; independent between seeds and purposes."""
    salt = mix(np.array([seed % 2**64], np.uint64)) ^ np.uint64(purpose)
    return mix(identity ^ mix(salt))


def chance(draws: U64, rate: float) -> NDArray[np.bool_]:
    """True with probability `rate` (0 to 1) for each draw."""
    return (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53 < rate


def below(draws: U64, limit: int) -> NDArray[np.int64]:
    """Integers from 0 to `limit` - 1."""
    return (draws % np.uint64(limit)).astype(np.int64)
