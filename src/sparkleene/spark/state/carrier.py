"""The processor that Spark is given: a shell that opens the state, and carries what does the work as bytes.

Spark loads a processor on the driver as well, to see what state it has. On Spark Connect this is a process of the
server that does not see shipped packages; so this module is pickled by value and imports nothing of ours, and the
bytes are opened where rows are.
"""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Iterator
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, LongType, StructType

# As types, for Spark would ask the JVM what texts mean, six times in every partition.
_KEPT = StructType().add("kept", BinaryType())
_NUMBER = StructType().add("number", LongType())

FROZEN = "_frozen_by_sparkleene"  # on `gc` itself: to count what is frozen takes as long as to collect it


class Carrier(StatefulProcessor):
    """Opens a bucket's state: a value for its head, and a map of its segments."""

    def __init__(self, inside: bytes) -> None:
        """Take a pickled processor."""
        self.inside = inside
        self.processor: Any = None

    def init(self, handle: Any) -> None:
        """Open the state."""
        self.variables = (
            handle,
            handle.getValueState("head", _KEPT),
            handle.getMapState("segments", _NUMBER, _KEPT),
        )

    def _processor(self) -> Any:
        if self.processor is None:
            self.processor = pickle.loads(self.inside)
            self.processor.open(*self.variables)
        return self.processor

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Keep the rows of a bucket."""
        yield from self._processor().keep_rows(key[0], rows, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        """Send the windows that the watermark has passed."""
        yield from self._processor().move_watermark(key[0], timerValues.getCurrentWatermarkInMs())

    def close(self) -> None:
        """Let the worker collect garbage quickly, see spark/garbage.py."""
        if self.processor is not None:
            self.processor.close()
        elif not hasattr(gc, FROZEN):
            gc.freeze()
            setattr(gc, FROZEN, True)


def make_carrier(processor: Any) -> Carrier:
    """Return a processor as Spark is given it."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    return Carrier(cloudpickle.dumps(processor))  # type: ignore[no-untyped-call]
