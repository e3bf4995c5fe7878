"""Results: the order of their rows, whether two are the same, and why one may be empty."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sparkleene.cli.options import Asked, queries_of
from sparkleene.cli.show import plain
from sparkleene.columns.files import Files
from sparkleene.columns.labels import unknown_types
from sparkleene.funnel import Funnel
from sparkleene.query import Query
from sparkleene.workload import Workload

if TYPE_CHECKING:
    from sparkleene.charts import Chart

MOST = 1 << 30
"""Bytes of files that are looked at once more, here, to find out why there are no trends."""


def sort_rows(result: Any, asked: Asked) -> Any:
    """Return the rows in order of query, window and group; within a window as the query says, if it says so."""
    if isinstance(asked, Workload):
        import pyarrow as pa
        import pyarrow.compute as pc

        known = [sort_rows(rows, asked.queries[name]) for name, rows in split_by_query(result, asked)]
        gone = result.filter(pc.invert(pc.is_in(result["query"], pa.array([*asked.queries]))))
        return pa.concat_tables([*known, _sort(gone, ("query", "window_start"))])
    if isinstance(asked, Funnel):
        return _sort(result, ("window_start", *asked.breakdown, "step"))
    finish = asked.plan.bound.finish
    groups = () if finish is not None and finish.order else asked.plan.bound.group_names
    return _sort(result, ("window_start", *groups))


def _sort(result: Any, columns: Sequence[str]) -> Any:
    names = [name for name in columns if name in result.column_names]
    return result.sort_by([(name, "ascending") for name in names]) if names and result.num_rows else result


def split_by_query(result: Any, workload: Workload) -> Iterator[tuple[str, Any]]:
    """Yield the name and the rows of each query."""
    import pyarrow.compute as pc

    for name in workload.queries:
        yield name, result.filter(pc.equal(result["query"], name))


def draw_charts(result: Any, asked: Query | Workload, value: str | None) -> list[Chart]:
    """Draw the result; of a workload those of all queries that have the value."""
    return [asked.plot(result, value)] if isinstance(asked, Query) else [*asked.plot(result, value).values()]


def are_same(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]) -> bool:
    """Tell whether rows are equal; sums and averages may differ in their last digits.

    >>> are_same([{"a": 1.0, "b": "x"}], [{"a": 1.0 + 1e-15, "b": "x"}]), are_same([{"a": 1}], [{"a": 2}])
    (True, False)
    """
    if len(left) != len(right):
        return False
    return all(
        one.keys() == other.keys() and all(_are_alike(value, other[name]) for name, value in one.items())
        for one, other in zip(left, right, strict=True)
    )


def _are_alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


def summary(result: Any, output: str | None) -> str:
    """Say how much a result is.

    >>> import pyarrow as pa
    >>> summary(pa.table({"window_start": [0, 0, 10], "count": [1.0, 2.0, 3.0]}), "out.csv")
    'out.csv: 3 rows of 2 windows'
    """
    rows = f"{result.num_rows:,} row{'s'[: result.num_rows != 1]}"
    if "window_start" in result.column_names:
        windows = len(result.column("window_start").unique())
        rows += f" of {windows:,} window{'s'[: windows != 1]}"
    return rows if output is None else f"{output}: {rows}"


def key_names(q: Query) -> list[str]:
    """Return the columns that are the same all along a trend."""
    bound = q.plan.bound
    computed = {one.name for one in bound.derived}
    paths = [key.path for key in bound.keys if key.labels is None]
    return [path[0] for path in paths if len(path) == 1 and path[0] not in computed]


def explain_no_trends(asked: Asked, events: Files, types: bool) -> None:
    """Say on standard error that there are no trends, and in what: a wrong unit of times shows there.

    With `types` also which types no event has; where this process counts trends, that is a warning already.
    """
    if events.bytes > MOST:
        return
    import pyarrow.compute as pc

    time = queries_of(asked)[0].time
    times = events.read([time]).column(time)
    ends = pc.min_max(times).as_py()
    span = f", from {plain(ends['min'])} to {plain(ends['max'])}" if ends["min"] is not None else ""
    print(f"note: there are no trends in {len(times):,} events{span}", file=sys.stderr)
    if types:
        hint_unknown_types(asked, events)


def hint_unknown_types(asked: Asked, events: Files) -> None:
    """Say on standard error which types of patterns no event has: they may be misspelt."""
    queries = queries_of(asked)
    q = queries[0]
    if q.type is None or events.bytes > MOST:
        return
    types = [label.type for one in queries for label in one.plan.bound.labels]
    # with the times, for some of several files may have no column of types
    for note in unknown_types(types, events.read([q.time, q.type]).column(q.type)):
        print(f"note: {note}", file=sys.stderr)
