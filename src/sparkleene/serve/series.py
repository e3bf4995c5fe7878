"""A result as lines to draw: a line for each group over the windows, in numbers of any size."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.charts.data import Series, order_by_size, split_series, value_column
from sparkleene.charts.numbers import Numbers, numbers
from sparkleene.charts.times import axis_of, read_starts
from sparkleene.charts.zeros import add_zeros, fill_starts
from sparkleene.serve.plain import plain

MOST = 4000
"""Points of a line; of more, the largest of several that lie side by side is kept."""
KEY = "\0key"


def make_series(table: pa.Table, shape: Mapping[str, Any], value: str | None, most: int) -> dict[str, Any]:
    """Return the lines of the groups with the largest values, or their bars where there are no windows."""
    groups = list(shape["groups"])
    value = value_column(table, value, groups)
    if "window_start" in table.column_names:
        table = table.filter(pc.is_valid(table.column("window_start")))
    found: dict[str, Any] = {"value": value, "groups": groups, "series": [], "left_out": 0, "axis": None}
    if not table.num_rows:
        return found
    rows = zip(*(table.column(name).to_pylist() for name in groups), strict=True) if groups else iter(())
    keys = [json.dumps(plain(list(row))) for row in rows] or ["[]"] * table.num_rows
    keyed = table.append_column(KEY, pa.array(keys))
    x, zone = np.zeros(table.num_rows), ""
    windowed = "window_start" in table.column_names
    if windowed:
        x, zone = read_starts(table.column("window_start"))
        found["axis"] = {"time": x.dtype.kind == "M", "zone": zone}
    lines, found["left_out"] = split_series(keyed, [KEY], x, numbers(table.column(value)), most)
    if windowed and value in shape["counts"] and shape.get("slide") is not None:
        lines = _with_zeros(lines, x, shape["slide"])
    lines = [lines[i] for i in order_by_size(lines)] if not windowed else lines
    known = _values(keys, x, table.column(value))
    found["series"] = [
        {"group": dict(zip(groups, json.loads(one.name), strict=True)), **_points(_thin(one), windowed, known)}
        for one in lines
    ]
    return found


def _with_zeros(lines: list[Series], x: Any, slide: Mapping[str, Any]) -> list[Series]:
    if slide["starts"] is not None:
        starts = np.array(slide["starts"], x.dtype)
        return [fill_starts(one, starts) for one in lines]
    axis = axis_of(x, "", slide["step"])
    if not axis.step:
        return lines
    ends = [(axis.low, axis.high) if slide["shared"] else (one.x[0], one.x[-1]) for one in lines]
    return [add_zeros(one, *end, axis.step) for one, end in zip(lines, ends, strict=True)]


def _thin(line: Series) -> Series:
    """Return a line with a part of its points where it has too many, among them the largest."""
    if len(line.x) <= MOST:
        return line
    minor, major = line.y.keys()
    pieces = np.array_split(np.arange(len(line.x)), MOST)
    kept = np.array([piece[np.lexsort((minor[piece], major[piece]))[-1]] for piece in pieces])
    return Series(line.name, line.x[kept], line.y.take(kept), 0)


def _values(keys: list[str], x: Any, column: pa.ChunkedArray) -> dict[tuple[str, Any], Any]:
    """Return the values as they are, by their groups and places: the logarithm of a number is not all of it."""
    known: dict[tuple[str, Any], Any] = {}
    minor, major = numbers(column).keys()
    for i in np.lexsort((minor, major)).tolist():  # of several, the largest is drawn
        known[keys[i], x[i]] = column[i].as_py()
    return known


def _points(line: Series, windowed: bool, known: Mapping[tuple[str, Any], Any]) -> dict[str, Any]:
    """Return the places, values and logarithms of a line; a value beyond a double has a logarithm only."""
    x: list[Any] = []
    starts: list[Any] = []
    if windowed and line.x.dtype.kind == "M":
        x = (line.x.astype("M8[us]").astype(np.int64) / 1000).tolist()
        starts = [str(one) for one in line.x]
    elif windowed:
        x = starts = [plain(one) for one in line.x.tolist()]
    values = [known.get((line.name, at), 0.0) for at in line.x]  # a window without a row is a count of zero
    exact = [one if isinstance(one, str) else None for one in values]
    y = [_double(one) for one in values]
    return {"x": x, "start": starts, "y": y, "log": logarithms(line.y), **({"exact": exact} if any(exact) else {})}


def _double(value: Any) -> float | None:
    """Return a value as a double, None for one beyond them and for one that is missing."""
    try:
        found = math.nan if value is None else float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def logarithms(of: Numbers) -> list[float | None]:
    """Return the logarithms of positive numbers, None for others."""
    pairs = zip(of.sign.tolist(), of.log10.tolist(), strict=True)
    return [log if sign > 0 and math.isfinite(log) else None for sign, log in pairs]
