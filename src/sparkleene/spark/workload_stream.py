"""A workload over a streaming DataFrame: one scan and one state, in which each part has buckets of its own.

A row that comes after the watermark is counted once in `late_rows`, however many queries would have had it. A state
belongs to all queries of the workload: a query that began in the middle of a stream would not have the rows before,
and so there is an error if a stream goes on from its checkpoint with other queries, with their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame

from sparkleene.plan.text import count
from sparkleene.spark import streaming
from sparkleene.spark.request import Request, partitions


def run(requests: Sequence[Request], frame: DataFrame) -> DataFrame:
    """Return the windows of all queries over a streaming DataFrame, as a streaming DataFrame."""
    return streaming.windows(requests, frame)


def explained(requests: Sequence[Request], frame: DataFrame) -> Iterator[tuple[str, str]]:
    """Tell how the parts of a workload are evaluated over a streaming DataFrame."""
    stream, rows, _ = streaming.planned(requests, frame)
    yield "stream", "each window once, when the watermark has passed its end"
    yield "reads", f"{count(len(rows.columns), 'column')}, once for {count(len(requests), 'part')}"
    for request, each in zip(requests, stream.streams, strict=True):
        yield "part", ", ".join(request.part.names)
        yield from streaming.described(stream, each, partitions(frame.sparkSession))
