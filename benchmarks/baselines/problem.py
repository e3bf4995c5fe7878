"""What a baseline is given: the rows of all sub-streams in order, their windows, and a query's machine as arrays.

All comes from the plan of the same query text that Sparkleene runs, and from the same reading of the table, as the
papers built what they compared with on top of their own platform. Only the evaluation differs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import sparkleene as sk
from sparkleene.engine.comparisons import Comparisons
from sparkleene.engine.run import Run
from sparkleene.engine.windows import grid_windows
from sparkleene.plan.part import Part

Array = np.ndarray[Any, Any]


class Machine(NamedTuple):
    """A machine as arrays; state 0 is the start.

    A transition of label l is one of `off[l]:off[l+1]`, from `source` to `target`; its `pair`, or -1, has the
    comparisons `first[pair]:first[pair+1]`, each `f[column][earlier] op g[column][later]`. After an event with the
    labels of symbol y the partial trends of state s are in `keep[y, s]`, or gone (-1); with comparisons, those that
    a label l has extended first go to `leave[l, s]`.
    """

    off: Array
    source: Array
    target: Array
    pair: Array
    first: Array
    op: Array
    keep: Array
    leave: Array
    moves: Array  # bool[symbols]: whether `keep` changes anything
    inert: Array  # bool[states]: nothing happens to partial trends there any more
    out: Array  # bool[states]: trends there count at the end of a window


class Rows(NamedTuple):
    """The rows in order, by sub-stream and time."""

    time: Array
    mask: Array  # uint64: the labels that a row can have
    symbol: Array
    f: Array
    g: Array


class Problem(NamedTuple):
    """Rows, a machine, and the windows: those of sub-stream `segment` hold the rows from `lo` to before `hi`."""

    rows: Rows
    machine: Machine
    bounds: Array  # of sub-streams
    segment: Array
    group: Array  # of windows
    key: Array
    lo: Array
    hi: Array
    size: float  # of a window per trigger, 0 where windows have a slide


def pose(query: sk.Query, table: pa.Table) -> Problem:
    """Read a table as the query does, and return what is left to do."""
    plan = query.plan
    run = Run(Part.single("", plan, query.prepared.place), query.prepared.options.for_engine())
    clock = run.clock(table)
    found = run.order(table, clock.time)
    if found.tied:
        raise ValueError("baselines take streams without simultaneous events in a sub-stream")
    predicates, f, g = Comparisons(plan.bound.time, plan.conditions, table, found, run.place, 1).build()
    if predicates.code.size or plan.whole is not None:
        raise ValueError("baselines take comparisons of two attributes only")
    mask = found.mask.astype(np.uint64)
    symbols, symbol = np.unique(mask, return_inverse=True)
    machine = _machine(plan, symbols, predicates.off, predicates.op)
    per_trigger = plan.bound.per_trigger
    _, windows = grid_windows(found, None if per_trigger else clock.grid).each()
    rows = Rows(*map(_read_only, (found.time, mask, symbol.astype(np.int64), f, g)))
    size = float(clock.size) if per_trigger and clock.size is not None else 0.0
    places = (found.bounds, windows.segment, found.group[windows.segment], windows.key, windows.lo, windows.hi)
    return Problem(rows, machine, *map(_read_only, places), size)


def _read_only(array: Array) -> Array:
    """Return an array of which numba makes one type, whatever its origin."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _machine(plan: Any, symbols: Array, first: Array, op: Array) -> Machine:
    machine = plan.machine
    labels, states = len(plan.bound.labels), len(machine.states)
    steps = sorted((label, source, target) for source, label, target in machine.transitions)
    off = np.searchsorted([label for label, _, _ in steps], np.arange(labels + 1)).astype(np.int64)
    keep = np.array([machine.keep(int(symbol), not plan.pairs) for symbol in symbols], np.int64).reshape(-1, states)
    leave = np.array([machine.leave(label) for label in range(labels)], np.int64)
    out = np.zeros(states, np.bool_)
    out[[state for state, _ in machine.outs]] = True
    same = keep == np.arange(states)
    leads = np.zeros(states, np.bool_)
    leads[[source for _, source, _ in steps]] = True
    return Machine(
        off,
        np.array([source for _, source, _ in steps], np.int64),
        np.array([target for _, _, target in steps], np.int64),
        np.array([plan.pair_of(source, label) for label, source, _ in steps], np.int64),
        np.asarray(first, np.int64),
        np.asarray(op, np.int64),
        keep,
        leave,
        ~same.all(axis=1),
        same.all(axis=0) & ~leads,
        out,
    )


def total(problem: Problem, counts: Array) -> dict[tuple[int, int], float]:
    """Add up the counts of windows by group and window, without those that are 0."""
    found: dict[tuple[int, int], float] = {}
    for group, key, count in zip(problem.group.tolist(), problem.key.tolist(), counts.tolist(), strict=True):
        if count:
            found[group, key] = found.get((group, key), 0.0) + count
    return found
