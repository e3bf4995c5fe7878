"""Measures of trends checked against the types of a table's columns."""

from __future__ import annotations

import pyarrow as pa

from sparkleene.columns.fields import find_column, is_clock
from sparkleene.columns.values import exact_values, sum_values
from sparkleene.errors import Place
from sparkleene.language.bound import Measure, Output


def measure_type(output: Output, measure: Measure, table: pa.Table, exact: bool, place: Place) -> pa.DataType:
    """Return the type of an aggregate over a measure, or raise what makes it no number and no duration."""
    times = []
    for piece in measure.pieces:
        if not piece.path or is_clock(find_column(table, piece.path, place, output.span).type):
            times.append(piece)
        elif exact:
            exact_values(table, piece.path, place, output.span)
        else:
            sum_values(table, piece.path, place, output.span)
    clocks = [piece for piece in times if piece.path]
    instants = [piece for piece in clocks if not pa.types.is_duration(find_column(table, piece.path, place).type)]
    if clocks and len(clocks) < len(measure.pieces):
        message = "a measure adds up numbers, or durations, not both"
        raise place.error("wrong-type", message, output.span, "divide a duration by another, or leave one out")
    if sum(piece.factor for piece in instants) or any(piece.kind == "sum" for piece in instants):
        message = "this measure is a time; a measure is a number or a duration"
        raise place.error(
            "wrong-type", message, output.span, "take another time off it, as in LAST(time) - FIRST(time)"
        )
    if output.function in ("min", "max") and measure.is_whole:
        return pa.int64()
    return pa.string() if exact and output.function == "sum" else pa.float64()
