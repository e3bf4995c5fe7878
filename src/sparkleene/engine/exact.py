"""Exact integers of any length: residues modulo primes; a first run in doubles tells how many primes are needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sparkleene.columns.arrow import Array
from sparkleene.engine.arrays import Arrays
from sparkleene.engine.execute import Results
from sparkleene.engine.whole_trends import run_exact
from sparkleene.kernels.wide import is_positive, log2

BITS = 30  # every prime is above 2**30


@lru_cache(maxsize=1)
def _sieve() -> tuple[int, ...]:
    """Return the primes up to the square root of 2**31."""
    top = 46341
    flags = np.ones(top, bool)
    flags[:2] = False
    for i in range(2, 216):
        if flags[i]:
            flags[i * i :: i] = False
    return tuple(np.flatnonzero(flags).tolist())


@lru_cache(maxsize=8)
def primes(count: int) -> tuple[int, ...]:
    """Return the largest primes below 2**31.

    >>> primes(2)
    (2147483647, 2147483629)
    """
    found: list[int] = []
    end = 2**31
    while len(found) < count:
        begin = end - (1 << 17)
        flags = np.ones(end - begin, bool)
        for p in _sieve():
            flags[-begin % p :: p] = False
        found += (np.flatnonzero(flags)[::-1] + begin).tolist()
        end = begin
    return tuple(found[:count])


def integers(arrays: Arrays, results: Results, lo: Array, hi: Array, threads: int) -> list[list[list[int]]]:
    """Return per window and class the exact count and totals as integers (totals in units of their scale)."""
    # |total| <= count * rows * largest; one bit for the sign, some for the rounding of the estimate.
    counts = results.values[:, :, 0]
    with np.errstate(divide="ignore"):
        bits = np.where(is_positive(counts), log2(counts), 0.0).max(axis=1, initial=0.0)
    slack = 4.0 + np.log2(hi - lo + 1.0) + math.log2(max(1.0, arrays.largest))
    needed = np.ceil((bits * (1 + 1e-9) + slack) / BITS).astype(np.int64)
    out: list[list[list[int]]] = [[] for _ in range(lo.size)]
    tiers = 1 << np.ceil(np.log2(np.maximum(needed, 1))).astype(np.int64)  # windows of similar length together
    for tier in np.unique(tiers).tolist():
        index = np.flatnonzero(tiers == tier)
        moduli = primes(int(needed[index].max()))
        width = (1 + arrays.program.sum_of.size) * arrays.program.classes
        step = max(1, (1 << 24) // (len(moduli) * width))
        for begin in range(0, index.size, step):
            some = index[begin : begin + step]
            residues = run_exact(arrays, lo[some], hi[some], moduli, threads)
            combine = _Chinese(moduli)
            for k, window in zip(some.tolist(), residues, strict=True):
                out[k] = [[combine(entry.tolist()) for entry in kind] for kind in window]
    return out


class _Chinese:
    """Reconstruction of signed integers from residues."""

    def __init__(self, moduli: Sequence[int]) -> None:
        self.product = math.prod(moduli)
        self.rests = [self.product // p for p in moduli]
        self.inverses = [pow(rest % p, -1, p) for rest, p in zip(self.rests, moduli, strict=True)]
        self.moduli = moduli

    def __call__(self, residues: Sequence[int]) -> int:
        parts = zip(residues, self.rests, self.inverses, self.moduli, strict=True)
        value = sum(rest * (r * inverse % p) for r, rest, inverse, p in parts) % self.product
        return value if 2 * value <= self.product else value - self.product
