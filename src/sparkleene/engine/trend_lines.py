"""The trends of the group and window that has most of them, as places on the line of its events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sparkleene.columns.arrow import make_array
from sparkleene.columns.fields import find_column, simplify
from sparkleene.columns.labels import label_masks
from sparkleene.engine.chosen_rows import Chosen, keep_group
from sparkleene.engine.trend_rows import EVENTS, TAKEN, free_name
from sparkleene.engine.windows import WINDOW
from sparkleene.language.bound import Drawn
from sparkleene.plan.trend_selection import Selection

ROW = "\0row"
DRAWS = 4  # for each trend of a sample: one that is drawn again shows nothing new


def find_lines(of: Chosen, selection: Selection) -> tuple[list[Any], list[str], list[list[int]], str, str]:
    """Return times and labels of events in order, the places of each trend's events, and words for a picture."""
    run, table = of.run, of.rows
    asked = selection
    if selection.order == "sample":
        asked = replace(selection, limit=DRAWS * selection.most)
    found = of.find_trends(asked).to_pylist()
    cells: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        cells.setdefault(str([row[name] for name in row if name not in TAKEN]), []).append(row)
    chosen = max(cells.values(), key=lambda rows: float(rows[0]["trends"] or 0), default=[])
    chosen = list({_name(row): row for row in chosen}.values())[: selection.most]
    time = simplify(find_column(table, (run.options.time,), run.place)).to_pylist()
    inside = np.arange(table.num_rows)
    words: list[str] = []
    if chosen:
        first = chosen[0]
        bound = run.plan.bound
        borders = (first[WINDOW[0]], first[WINDOW[1]]) if bound.window is not None else of.borders
        groups = {k: first[free_name(name, TAKEN)] for k, name in zip(bound.group, bound.group_names, strict=True)}
        words = [f"{name}={groups[k]}" for k, name in zip(bound.group, bound.group_names, strict=True)]
        words += [] if borders is None else [f"from {borders[0]} to {borders[1]}"]
        numbered = table.append_column(ROW, make_array(inside))
        inside = np.asarray(keep_group(run, numbered, groups, list(groups)).column(ROW))
        if borders is not None and bound.window is not None and bound.window.unit != "events":
            closed = isinstance(bound.window, Drawn) or bound.per_trigger
            inside = np.array([i for i in inside if _holds(borders, time[i], bound.per_trigger, closed)], np.int64)
    trends = [[event["row"] for event in row[name]] for row in chosen for name in EVENTS if name in row]
    keep = sorted({*inside.tolist(), *(row for trend in trends for row in trend)}, key=lambda row: (time[row], row))
    place = {row: i for i, row in enumerate(keep)}
    names = {event["row"]: event["label"] for row in chosen for name in EVENTS for event in row.get(name, ())}
    mask = label_masks(run.plan.bound, run.with_derived(table), run.options.type, run.place)
    labels = [label.name for label in run.plan.bound.labels]
    first_label = [next((name for i, name in enumerate(labels) if int(mask[row]) >> i & 1), "") for row in keep]
    shown = [names.get(row, one) for row, one in zip(keep, first_label, strict=True)]
    total = float(chosen[0]["trends"] or 0) if chosen else 0.0
    many = f"{total:,.0f}" if total < 1e15 else f"{total:.3g}"
    which = {"sample": "drawn at random", "first": "the first"}.get(selection.order, f"the {selection.order}")
    caption = f"{len(chosen)} of {many} trends, {which}" if chosen else "no trends"
    return (
        [time[row] for row in keep],
        shown,
        [[place[row] for row in trend] for trend in trends],
        ", ".join(words),
        caption,
    )


def _holds(borders: tuple[Any, Any], time: Any, is_open: bool, closed: bool) -> bool:
    """Tell whether a window holds a time: with its start unless that is open, with its end if that is closed."""
    start, end = borders
    if type(start) is not type(time):  # such as dates in windows of hours: what is beside the window is no harm
        return True
    after = start < time if is_open else start <= time
    return bool(after and (time <= end if closed else time < end))


def _name(row: dict[str, Any]) -> tuple[tuple[int, str], ...]:
    """Return what tells a trend, or a pair of trends, from others."""
    return tuple((event["row"], event["label"]) for name in EVENTS for event in row.get(name, ()))
