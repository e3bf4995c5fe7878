"""The rows of one group brought here from Spark, to tell why they have no trend, or to draw trends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DoubleType

from sparkleene.engine.chosen_rows import as_scalar, find_keys
from sparkleene.engine.windows import WINDOW
from sparkleene.language.bound import Drawn
from sparkleene.spark import by_path
from sparkleene.spark.request import Request, col
from sparkleene.spark.source import FrameSource, ParquetSource, Source, StreamSource
from sparkleene.spark.sql.values import column
from sparkleene.spark.trends import count_request


def collect_rows(request: Request, source: Source, group: Mapping[str, Any], most: int) -> pa.Table:
    """Return the rows of a group, and the columns that the query reads; more than `most` are refused."""
    frame, bound = _read(request, source), request.plan.bound
    drawn = isinstance(bound.window, Drawn)  # all rows of what GROUP-BY groups draw its windows
    for k, value in find_keys(bound, group, request.place).items():
        key = bound.keys[k]
        if key.labels is None and key.path[0] in frame.columns and (k in bound.group or not drawn):
            type = to_arrow_type(frame.select(column(key.path)).schema[0].dataType)
            frame = frame.where(column(key.path) == F.lit(as_scalar(request.place, value, type).as_py()))
    return _collect(request, frame, most)


def collect_busiest(request: Request, source: Source, most: int) -> pa.Table:
    """Return the rows of the window and group that has most trends; more than `most` are refused."""
    frame, bound = _read(request, source), request.plan.bound
    counts = source.run([count_request(request)])
    has_window = counts.columns[:2] == list(WINDOW)
    names = [f"sparkleene {i}" for i in range(len(counts.columns))]
    best = counts.toDF(*names).orderBy(col(names[-1]).cast(DoubleType()).desc(), *map(col, names[:-1])).limit(1)
    inside = F.lit(True)
    if has_window and getattr(bound.window, "unit", None) != "events":
        time = column((request.options.time,))
        inside = (time >= col(names[0])) & (time <= col(names[1]))
    for name, number in zip(names[2 * has_window : -1], bound.group, strict=True):
        key = bound.keys[number]
        if key.labels is None and key.path[0] in frame.columns:
            inside &= column(key.path).eqNullSafe(col(name))
    return _collect(request, frame.join(F.broadcast(best), inside).drop(*names), most)


def _read(request: Request, source: Source) -> DataFrame:
    """Return the rows of a source with the columns that the query reads."""
    if isinstance(source, ParquetSource):
        return by_path.read_rows(request, source.files, source.spark)
    if not isinstance(source, FrameSource) or isinstance(source, StreamSource):
        help = "read a batch of it, with spark.read"
        raise request.place.mistake("unsupported-stream", "the trends of a stream are not looked at", help=help)
    return source.frame.select([column((name,)) for name in request.needed])


def _collect(request: Request, frame: DataFrame, most: int) -> pa.Table:
    """Bring rows here, unless there are too many."""
    found = frame.limit(most + 1).toArrow()
    if found.num_rows > most:
        help = "choose a group, or filter the DataFrame"
        raise request.place.mistake("bad-option", f"there are more than {most:,} rows to look at", help=help)
    return found
