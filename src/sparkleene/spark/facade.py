"""Where the library's front door meets Spark: data in, whatever is asked of it out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sparkleene.engine.results import adds_up
from sparkleene.spark import batch, by_path, workload
from sparkleene.spark.lower import Lowered
from sparkleene.spark.parquet.footers import discover
from sparkleene.spark.request import Request, zone
from sparkleene.spark.results import one_place
from sparkleene.spark.session import session
from sparkleene.spark.strategy import MEANING, Choice
from sparkleene.spark.trends import trends

Ask = Callable[..., Any]


def opened(data: Any) -> tuple[list[str], dict[str, Ask]]:
    """Return the names of the data's columns, and what can be asked of it: functions of a request.

    A workload is asked with several requests, one for each part. `data` is a DataFrame, or the path of Parquet
    files, or several.
    """
    if isinstance(data, str | os.PathLike | list | tuple):
        return _paths(data)
    if data.isStreaming:
        return _stream(data)

    def explain(request: Request) -> list[tuple[str, str]]:
        low, _, choice = batch.planned(request, data)
        return [*_told(request, low, choice, "SQL" if low.options.masks else "the tasks")]

    def some(request: Request, limit: int | None) -> Any:
        return trends(request, data, limit)

    return list(data.columns), {
        "run": lambda request: batch.run(request, data),
        "workload": lambda requests: workload.run(requests, data),
        "explain workload": lambda requests: [*workload.explained(requests, data)],
        "explain": explain,
        "trends": some,
    }


def _stream(data: Any) -> tuple[list[str], dict[str, Ask]]:
    """Open a streaming DataFrame."""
    from sparkleene.spark import streaming

    def several(requests: Sequence[Request]) -> Any:
        from sparkleene.spark import workload_stream

        return workload_stream.run(requests, data)

    def explain_several(requests: Sequence[Request]) -> list[tuple[str, str]]:
        from sparkleene.spark import workload_stream

        return [*workload_stream.explained(requests, data)]

    def no_trends(request: Request, limit: int | None) -> Any:
        help = "ask for those of a batch: write the stream to a table, or read its source with spark.read"
        raise request.place.mistake("unsupported-stream", "the trends of a stream are not listed", help=help)

    return list(data.columns), {
        "run": lambda request: streaming.run(request, data),
        "workload": several,
        "explain workload": explain_several,
        "explain": lambda request: [*streaming.explained(request, data)],
        "trends": no_trends,
    }


def _paths(data: Any) -> tuple[list[str], dict[str, Ask]]:
    """Open files by path."""
    spark = session()
    files = discover(data, zone(spark))

    def explain(request: Request) -> list[tuple[str, str]]:
        low, source, choice = by_path.planned(request, files, spark)
        groups = sum(footer.data.num_row_groups for footer in files.footers)
        kept = sum(len(piece.row_groups) for piece in source.pieces)
        read = f"{kept} of {groups} row groups of {len(files.footers)} files, {source.rows:,} rows"
        return [("reads", read), *_told(request, low, choice, "the tasks")]

    def some(request: Request, limit: int | None) -> Any:
        paths = [data] if isinstance(data, str | os.PathLike) else data
        read = spark.read.option("mergeSchema", True)  # for columns that the first file lacks
        return trends(request, read.parquet(*map(os.fspath, paths)), limit)

    return files.schema.names, {
        "run": lambda request: by_path.run(request, files, spark),
        "workload": lambda requests: workload.run_files(requests, files, spark),
        "explain workload": lambda requests: [*workload.files_explained(requests)],
        "explain": explain,
        "trends": some,
    }


def _told(request: Request, low: Lowered, choice: Choice, who: str) -> Iterator[tuple[str, str]]:
    """Tell how Spark evaluates a query."""
    bound = low.plan.bound
    names = [bound.keys[k].path[0] for k in low.plan.shuffle_keys]
    yield "strategy", f"{choice.strategy}: {MEANING[choice.strategy]}"
    yield "because", choice.reason
    every = request.options.type is None and request.plan.bound.types is None
    if every and not any(request.plan.bound.local):
        yield "labels", "every row has them"
    else:
        yield "labels", f"found by {who}" + ("" if low.plan.every_row else "; rows without any are left out")
    yield "columns", ", ".join(name for name, _ in low.columns)
    yield "spread", f"by {', '.join(names)}" if names else "not at all: one task sees all that is shuffled"
    if one_place(low):
        yield "groups", "each is whole in one task"
    else:
        by = (
            "Spark"
            if adds_up(low.plan, low.options.numbers)
            else "tasks, in numbers that Spark does not have"
        )
        yield "groups", f"the parts of each are added up by {by}"
