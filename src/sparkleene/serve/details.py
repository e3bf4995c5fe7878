"""Jobs that look behind a number: the events of a group and window, some of its trends, and why it has none."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.fields import find_column, simplify
from sparkleene.columns.labels import label_masks
from sparkleene.engine.chosen_rows import Chosen, choose_rows
from sparkleene.engine.run import Run
from sparkleene.errors import Diagnostic, QueryError, report_faults
from sparkleene.language.bound import Window
from sparkleene.plan.trend_selection import Selection
from sparkleene.query import Query
from sparkleene.serve.plain import plain
from sparkleene.serve.queries import compile_query
from sparkleene.serve.worker import Context

DOTS = 2000  # events that are drawn; of more, those of the trends and some others
ATTRIBUTES = 8  # of an event, beside its time


def run_trends(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the events of a group and window in order of time, and trends as places among them."""
    q = compile_query(body)
    context.tell(phase="looking for trends")
    run, table, extra = read_rows(q, context.table(body["data"]))
    with report_faults(q.prepared.place):
        group = {name: _value(table, name, value) for name, value in body.get("group", {}).items()}
        window = window_of(q, table, body.get("window"))
        chosen = choose_rows(run, table, group, window)
        limit = int(body.get("limit", 12))
        wanted = Selection(limit, body.get("order", "sample"), int(body.get("seed", 0)))
        found = chosen.find_trends(wanted).to_pylist()[:limit]
    total = plain(found[0]["trends"]) if found else 0
    parts = [
        [(event["row"], event["label"]) for event in row[name]] for row in found for name in EVENTS if name in row
    ]
    return {"where": chosen.where, "total": total, **place_events(chosen, extra, parts)}


EVENTS = ("events", "events_2")
ROW = "\0row"


def read_rows(q: Query, data: Any) -> tuple[Run, pa.Table, pa.Table]:
    """Return a run, the columns that the query reads, and all columns that a person may want to see of an event."""
    from sparkleene.evaluation import PreparedWorkload

    run, read = PreparedWorkload({"query": q.prepared}).start(data)
    table = read.table.append_column(ROW, pa.array(np.arange(read.table.num_rows)))
    shown = [*dict.fromkeys((*read.table.column_names, *read.columns))][: ATTRIBUTES + 2]
    extra = data.select(shown) if isinstance(data, pa.Table) else data.read(shown)
    return run, table, extra


def _value(table: pa.Table, name: str, value: Any) -> Any:
    """Return a value of a key as its column has it: JSON has large integers as text."""
    if name in table.column_names and isinstance(value, str) and pa.types.is_integer(table.schema.field(name).type):
        return int(value) if value.lstrip("-").isdigit() else value
    return value


def window_of(q: Query, table: pa.Table, start: Any) -> Any:
    """Return a time in the window that starts at another; where a window begins after its start, a bit later."""
    window = q.plan.bound.window
    if start is None or window is None:
        return None
    start = in_utc(start) if isinstance(start, str) else start
    if not isinstance(window, Window) or window.slide is not None:
        return start
    type = table.schema.field(q.time).type
    if not pa.types.is_timestamp(type):
        return start + 1 if isinstance(start, int) else np.nextafter(float(start), np.inf)
    try:
        return str(np.datetime64(start, type.unit) + 1)
    except ValueError:
        raise QueryError(Diagnostic("bad-option", f"'{start}' is no time")) from None


def in_utc(text: str) -> str:
    """Return a time that may have a zone as a time of UTC without one.

    >>> in_utc("2024-01-01T10:00:00+02:00"), in_utc("2024-01-01T10:00:00.000000Z")
    ('2024-01-01T08:00:00', '2024-01-01T10:00:00.000000')
    """
    if re.search(r"T.*[+-]\d\d:\d\d$", text) is None:
        return text.removesuffix("Z")
    try:
        return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None).isoformat()
    except (ValueError, OverflowError):
        raise QueryError(Diagnostic("bad-option", f"'{text}' is no time")) from None


def place_events(chosen: Chosen, extra: pa.Table, trends: list[list[tuple[int, str]]]) -> dict[str, Any]:
    """Return events in order of time with their labels and attributes, and trends as places among them."""
    run, rows = chosen.run, chosen.rows
    used = sorted({row for trend in trends for row, _ in trend})
    count = rows.num_rows
    some = np.linspace(0, count - 1, min(count, DOTS)).astype(np.int64).tolist() if count else []
    kept = np.array(sorted({*used, *some}), np.int64)
    bare = rows.drop_columns([ROW])
    time = simplify(find_column(bare, (run.options.time,), run.place))
    order = np.asarray(pc.sort_indices(time.take(pa.array(kept))))
    kept = kept[order]
    place = {int(row): i for i, row in enumerate(kept)}
    mask = label_masks(run.plan.bound, run.with_derived(bare), run.options.type, run.place)
    names = [label.name for label in run.plan.bound.labels]
    said = {row: label for trend in trends for row, label in trend}
    labels = [
        said.get(int(row)) or next((name for i, name in enumerate(names) if int(mask[row]) >> i & 1), "")
        for row in kept
    ]
    shown = extra.take(rows.column(ROW).take(pa.array(kept)))
    columns = {name: [plain(one) for one in shown.column(name).to_pylist()] for name in shown.column_names}
    return {
        "events": {"time": _places(time.take(pa.array(kept))), "label": labels, "columns": columns},
        "labels": names,
        "count": count,
        "is_time": pa.types.is_temporal(time.type),
        "trends": [[place[row] for row, _ in trend] for trend in trends],
        "trend_labels": [[label for _, label in trend] for trend in trends],
    }


def _places(time: pa.Array) -> list[float]:
    """Return times as numbers: milliseconds, or as they are."""
    if pa.types.is_temporal(time.type):
        micros = np.asarray(time.cast(pa.timestamp("us", getattr(time.type, "tz", None)), safe=False))
        found: list[float] = (micros.astype("M8[us]").astype(np.int64) / 1000).tolist()
        return found
    return [float(one) for one in time.to_pylist()]


def run_why(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Say how far the pattern was followed, and what holds trends back."""
    q = compile_query(body)
    context.tell(phase="looking at the events")
    data = context.table(body["data"])
    _, table, _ = read_rows(q, data)
    group = {name: _value(table, name, value) for name, value in body.get("group", {}).items()}
    found = q.why(data, group=group, window=window_of(q, table, body.get("window")))
    return {
        "where": found.where,
        "events": found.rows,
        "trends": plain(found.trends),
        "steps": [plain(asdict(one)) for one in found.steps],
        "stuck": found.stuck,
        "obstacles": [plain(asdict(one)) for one in found.obstacles],
        "text": str(found),
    }
