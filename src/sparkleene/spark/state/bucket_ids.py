"""Numbers for buckets such that Spark's hash brings each bucket to a partition of its own."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def spread_ids(count: int, rank: int = 0) -> tuple[int, ...]:
    """Return an id for each partition, such that Spark's hash brings a bucket of that id there.

    `count` is the number of partitions. With another rank the ids are others.

    >>> spread_ids(1), spread_ids(4), spread_ids(4, 1)
    ((0,), (12, 6, 2, 0), (13, 9, 4, 1))
    """
    there = np.zeros(count, np.int64)
    size = 64 * count
    while there.min() <= rank:
        places = hash_ids(np.arange(size, dtype=np.uint32)) % count
        there = np.bincount(places, minlength=count)
        size *= 2
    order = np.argsort(places, kind="stable")
    return tuple(order[np.cumsum(there) - there + rank].tolist())


def scatter(count: int, most: int, first: int) -> list[int]:
    """Return the partitions that have buckets, so many of all, one of which is the first bucket's.

    Where one task does several partitions, these may be neighbours, or every second, every third and so on. So the
    partitions are neither the first ones nor at equal distances.

    >>> scatter(4, 4, 1), scatter(16, 4, 6)
    ([0, 1, 2, 3], [0, 6, 10, 15])
    """
    found = []
    for i in range(most):
        begin, end = i * count // most, (i + 1) * count // most
        size = end - begin
        found.append(first if begin <= first < end else begin + (i + i // size) % size)
    return found


def hash_ids(ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return Spark's hash of integers: Murmur3 of their four bytes, with the seed 42."""

    def rotate(value: np.ndarray[Any, Any], by: int) -> np.ndarray[Any, Any]:
        return (value << np.uint32(by)) | (value >> np.uint32(32 - by))

    mix = rotate(ids * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mix = rotate(mix ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    mix = mix ^ np.uint32(4)
    mix = (mix ^ (mix >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    mix = (mix ^ (mix >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return np.asarray((mix ^ (mix >> np.uint32(16))).view(np.int32).astype(np.int64))
