"""Jobs on a query: look at data, check a text, and count trends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.charts import Slide
from sparkleene.charts.times import read_starts
from sparkleene.columns.files import Files
from sparkleene.columns.times import time_column
from sparkleene.errors import Diagnostic, QueryError, SparkleeneError
from sparkleene.query import Query, query, slide_of
from sparkleene.serve.plain import columns_of, kind_of, plain, rows_of
from sparkleene.serve.worker import Context, describe

FIRST = 20  # rows that are shown of data
BARS = 60  # of events over time
VALUES = 200  # of types, and of other texts for completion
MOST_STARTS = 5000  # of windows of a calendar
READ = 2_000_000  # rows of files that are looked at for events over time


def options_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return how events are to be read, as arguments of `query`."""
    return dict(body.get("options", {}))


def compile_query(body: Mapping[str, Any]) -> Query:
    """Return the query of a request."""
    return query(str(body["text"]), **options_of(body))


# ---- data


def run_look(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Look at data: columns, first rows, and events over time by type."""
    data = context.table(body["data"])
    empty = empty_of(data)
    names = empty.column_names
    time, type = guess_columns(empty.schema, body.get("options", {}))
    rows = data.num_rows if isinstance(data, pa.Table) else data.rows
    found: dict[str, Any] = {"columns": columns_of(empty.schema), "rows": rows, "time": time, "type": type}
    many = rows is not None and rows > READ
    table = data if isinstance(data, pa.Table) else None if many else data.read(names)
    first = table.slice(0, FIRST) if table is not None else _first_rows(data)
    found["first"] = rows_of(first)
    found["values"] = {} if table is None else {name: _values(table, name) for name in _texts(empty, type)}
    found["bars"] = None if table is None or time is None else count_events(table, time, type)
    found["rows"] = table.num_rows if table is not None else rows
    return found


def empty_of(data: pa.Table | Files) -> pa.Table:
    """Return data without its rows."""
    return data.slice(0, 0) if isinstance(data, pa.Table) else data.empty()


def _first_rows(data: Files) -> pa.Table:
    """Return the first rows of large files of Parquet, without reading the others."""
    import pyarrow.dataset as ds

    return ds.dataset([str(data.sources[0].path)], format="parquet").head(FIRST)


def guess_columns(schema: pa.Schema, options: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the columns of times and types: those named, of the usual names, or of a fitting type.

    >>> guess_columns(pa.schema({"at": pa.timestamp("s"), "kind": pa.string()}), {})
    ('at', 'kind')
    """
    kinds = {one.name: kind_of(one.type) for one in schema}
    time = options.get("time", "time")
    if time not in kinds:
        time = next((name for name, kind in kinds.items() if kind == "time"), None)
        time = time or next((name for name, kind in kinds.items() if kind == "number"), None)
    if "type" in options and (options["type"] is None or options["type"] in kinds):
        return time, options["type"]
    usual = [name for name in ("type", "kind", "event", "event_type", "action") if name in kinds]
    texts = [name for name, kind in kinds.items() if kind == "text"]
    return time, next(iter((*usual, *texts)), None)


def _texts(empty: pa.Table, type: str | None) -> list[str]:
    """Return the columns whose values are worth a completion, that of types first."""
    names = [one.name for one in empty.schema if kind_of(one.type) == "text"]
    return [name for name in dict.fromkeys((type, *names)) if name is not None][:20]


def _values(table: pa.Table, name: str) -> list[Any]:
    counted = pc.value_counts(table.column(name).combine_chunks())
    pairs = sorted(((one["counts"], plain(one["values"])) for one in counted.to_pylist()), key=lambda one: -one[0])
    return [value for _, value in pairs[:VALUES] if isinstance(value, str) and len(value) < 100]


def count_events(table: pa.Table, time: str, type: str | None) -> dict[str, Any] | None:
    """Return how many events of each type there are in equal stretches of time."""
    times = time_column(table.select([time]).drop_null(), time, None).values
    if not len(times):
        return None
    kept = table if table.column(time).null_count == 0 else table.filter(pc.is_valid(table.column(time)))
    low, high = times.min(), times.max()
    bars = int(min(BARS, high - low + 1)) if times.dtype.kind in "iu" else BARS
    place = np.clip(((times - low) * (bars / max(float(high - low), 1e-9))).astype(np.int64), 0, bars - 1)
    if type is None:
        series = {"": np.bincount(place, minlength=bars)}
    else:
        encoded = kept.column(type).cast(pa.string()).combine_chunks().dictionary_encode("encode")
        codes, names = np.asarray(encoded.indices), encoded.dictionary.to_pylist()
        sizes = np.bincount(codes, minlength=len(names))
        most = np.argsort(-sizes, kind="stable")[:8].tolist()
        series = {str(names[k]): np.bincount(place[codes == k], minlength=bars) for k in most}
        rest = np.bincount(place, minlength=bars) - sum(series.values())
        if rest.any():
            series["others"] = rest
    ends = [plain(pc.min(kept.column(time)).as_py()), plain(pc.max(kept.column(time)).as_py())]
    return {"from": ends[0], "to": ends[1], "series": {name: one.tolist() for name, one in series.items()}}


# ---- a text


def run_check(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Say what is wrong with a query, or what it means: its automaton, and its plan in words."""
    from sparkleene.serve.many import check_workload

    if body.get("kind") == "workload":
        return check_workload(context, body)
    try:
        data = None if str(body["data"]["name"]).startswith("kafka:") else context.table(body["data"])
    except SparkleeneError as error:
        return {**describe(error, context.settings), "errors_of": "data"}
    try:
        q = compile_query(body)
        if data is not None:
            q.run(empty_of(data))
    except SparkleeneError as error:
        return describe(error, context.settings)
    bound = q.plan.bound
    labels = [{"label": label.name, "type": label.type} for label in bound.labels]
    values, groups = list(bound.value_names), list(bound.group_names)
    shape = {"labels": labels, "values": values, "groups": groups, "window": bound.window is not None}
    return {
        "errors": [],
        "svg": bare(q.to_svg()),
        "plan": sections(q.explain()),
        **shape,
        "text": q.prepared.canonical,
    }


def bare(svg: str) -> str:
    """Return a picture without styles in it, which the page has and its policy does not take from elsewhere."""
    return re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL).replace(
        'style="text-anchor:start"', 'data-from="left"'
    )


def sections(text: str) -> list[dict[str, Any]]:
    r"""Return a plan in words as headings with lines.

    >>> sections("Query\n  RETURN COUNT(*)\n\nCost\n  time  O(n)")
    [{'title': 'Query', 'lines': ['RETURN COUNT(*)']}, {'title': 'Cost', 'lines': ['time  O(n)']}]
    """
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            found.append({"title": line, "lines": []})
        elif line.strip() and found:
            found[-1]["lines"].append(line[2:])
    return found


# ---- a result


def run_query(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Count trends and write the result to a file."""
    q = compile_query(body)
    table = evaluate(context, q, body)
    bound = q.plan.bound
    slide = slide_of(q, table)
    shape = {
        "values": list(bound.value_names),
        "groups": list(bound.group_names),
        "counts": list(bound.count_names),
        "keys": [".".join(key.path) for key in bound.keys if key.labels is None],
        "slide": None if slide is None else describe_slide(slide),
    }
    return {**write_result(context, table), **shape}


def describe_slide(slide: Slide) -> dict[str, Any]:
    """Return where windows are, so that those without a row are drawn as zero."""
    starts = None if slide.starts is None else read_starts(slide.starts)[0][:MOST_STARTS]
    return {
        "step": slide.step,
        "shared": slide.shared,
        "starts": None if starts is None else starts.astype(str).tolist(),
    }


def evaluate(context: Context, asked: Any, body: Mapping[str, Any]) -> pa.Table:
    """Run a query, a workload or a funnel over the data of a request, here or on Spark."""
    context.tell(phase="reading the events")
    data = context.table(body["data"])
    rows = data.num_rows if isinstance(data, pa.Table) else data.rows
    if body.get("engine") == "spark":
        from sparkleene.serve.on_spark import run_on_spark

        return run_on_spark(context, asked, data)
    context.tell(phase="counting trends" if rows is None else f"counting trends in {rows:,} events")
    found: pa.Table = asked.run(data)
    return found


def write_result(context: Context, table: pa.Table) -> dict[str, Any]:
    """Write a result where the server finds it, and say what it is."""
    most = context.settings.limits.rows
    if table.num_rows > most:
        help = "add ORDER BY and LIMIT, or HAVING, or take longer windows"
        message = f"the result has {table.num_rows:,} rows, and {most:,} are the most here"
        raise QueryError(Diagnostic("limit", message, help=help))
    context.tell(phase="writing the result")
    plainly = pa.table(
        [one.cast(one.type.value_type) if pa.types.is_dictionary(one.type) else one for one in table.columns],
        names=table.column_names,
    )
    with pa.OSFile(str(context.result_path()), "wb") as file, pa.ipc.new_file(file, plainly.schema) as writer:
        writer.write_table(plainly)
    return {"rows": table.num_rows, "columns": columns_of(plainly.schema)}
