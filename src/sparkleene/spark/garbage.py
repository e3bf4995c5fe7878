"""Garbage in Spark's Python workers.

A worker collects garbage after every task. With the modules of queries loaded that takes some 45 ms, which is more
than a small task takes: all objects are looked at, and nearly all of them belong to modules, which stay.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_known = 0  # modules that were loaded when objects were last spared


def spare_modules() -> None:
    """Let collections pass over all objects that there are, if modules were loaded since that was last done."""
    global _known
    if len(sys.modules) > _known:
        gc.collect()
        gc.freeze()
        _known = len(sys.modules)


@dataclass(frozen=True)
class Spared:
    """A task that spares modules at its end."""

    task: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterable[Any]) -> Iterator[pa.RecordBatch]:
        """Run the task."""
        yield from self.task(batches)
        spare_modules()
