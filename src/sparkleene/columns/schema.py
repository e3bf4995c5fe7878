"""A query checked against the types of a table before any row is read, and the types of its result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.calendar import find_calendar
from sparkleene.columns.derived_columns import add_derived
from sparkleene.columns.durations import settle_for_doubles
from sparkleene.columns.expressions import evaluate, evaluate_condition, evaluate_number
from sparkleene.columns.keys import codes
from sparkleene.columns.labels import label_masks
from sparkleene.columns.measures import measure_type
from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.thresholds import rank_comparison
from sparkleene.columns.times import check_durations, drawn_units, time_column, window_offset, window_units
from sparkleene.columns.values import exact_values, low_values, sum_values
from sparkleene.errors import Place
from sparkleene.language.bound import Drawn, Field, Literal_, Term
from sparkleene.plan.aggregates import is_whole
from sparkleene.plan.plan import Plan
from sparkleene.plan.predicates import separate, sides


def result_schema(plan: Plan, table: pa.Table, options: EngineOptions, place: Place) -> pa.Schema:
    """Return the columns of groups and aggregates, or raise what a run over a table of these columns would.

    The table may be empty, or hold a few rows, so that errors can show a value.
    """
    bound = plan.bound
    table = add_derived(table, bound.derived, place)
    time = time_column(table, options.time, options.time_unit, place, options.numbered)
    check_durations(bound.finish, time, place)
    fields: list[tuple[str, pa.DataType]] = []
    if bound.window is not None:
        events = bound.window.unit == "events"
        if isinstance(bound.window, Drawn):
            _, _, time = drawn_units(bound.window, time, place)
            for term in bound.window.conditions:
                evaluate_condition(term, table, place)
        else:
            if find_calendar(bound.window, time, options, place) is None:
                _, _, time = window_units(bound.window, time, place)
            if bound.window.slide is not None and not events:
                window_offset(options, time)
        type = pa.int64() if events else time.type
        fields += [("window_start", type), ("window_end", type)]
    if not options.masks:
        label_masks(bound, table, options.type, place)
    if options.tiebreak is not None:
        evaluate(Field((options.tiebreak,)), table, place)
    keys = [codes(table, key.path, place)[1].type for key in bound.keys]
    fields += [(name, keys[k]) for name, k in zip(bound.group_names, bound.group, strict=True)]
    for pair in plan.pairs:
        for comparison in pair.comparisons:
            rank_comparison(comparison, table, place)
        for term in pair.general:
            _check_general(settle_for_doubles(term, table, place), table, place)
    exact = options.numbers == "exact"
    for output in bound.outputs:
        if output.measure is not None:
            fields.append((output.name, measure_type(output, output.measure, table, exact, place)))
            continue
        if output.function in ("min", "max"):
            back = low_values(table, output.path, False, place, output.span)[1]
            fields.append((output.name, back(np.zeros(0)).type))
            continue
        if output.path:
            given = (table, output.path, place, output.span)
            exact_values(*given) if exact else sum_values(*given)
        if output.function == "count" and output.log is None and (output.each or output.distinct):
            fields.append((output.name, pa.int64()))
            continue
        text = exact and is_whole(output)
        long = options.numbers == "long" and output.function == "count" and output.log is None
        fields.append((output.name, pa.string() if text else pa.int64() if long else pa.float64()))
    return pa.schema(fields)


def _check_general(term: Term, table: pa.Table, place: Place) -> None:
    """Check the parts of a condition that speak of one event each."""
    if isinstance(term, Literal_):
        return
    if len(sides(term)) < 2:
        evaluate_number(term, table, place, boolean=True)
    elif (comparison := separate(term)) is not None:
        rank_comparison(comparison, table, place)
    else:
        parts: Any = getattr(term, "args", ())
        for part in parts:
            _check_general(part, table, place)
