"""Python's collector of garbage, put off while many objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 10_000  # new objects, to look at which takes a millisecond


@contextmanager
def without_garbage() -> Iterator[None]:
    """Collect no garbage meanwhile: compiling and importing make many small objects, few of them in circles.

    They count as old then, as if they had been looked at, unless the program has frozen objects of its own.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # To count what is frozen takes as long as to look at all of it.
            if gc.get_count()[0] > MANY and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()
