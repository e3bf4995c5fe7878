"""The rows of a table as sub-streams in order of time: what kernels run over, and the group of each sub-stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sparkleene import interrupts
from sparkleene.columns import fields
from sparkleene.columns.arrow import Array, make_array
from sparkleene.columns.compare import dense_ranks
from sparkleene.columns.expressions import evaluate
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.columns.labels import apply_local, read_masks, type_masks
from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.times import Time
from sparkleene.engine.memo import Memo
from sparkleene.engine.partial_keys import KeyCodes, spread_rows
from sparkleene.errors import Place
from sparkleene.kernels import sort
from sparkleene.kernels.columns import translate
from sparkleene.language.bound import Field
from sparkleene.plan.plan import Plan
from sparkleene.threads import Pool


@dataclass(frozen=True)
class SubStreams:
    """Rows by sub-stream and tick. Sub-stream g is the rows bounds[g]:bounds[g+1] of the arrays."""

    rows: Array | None  # the table's row of each, None where the table is in order as it is
    bounds: Array
    tick: Array  # int64; equal ticks are simultaneous
    time: Array  # int64 or float64, for windows
    mask: Array  # the labels that a row can have here
    group: Array  # the group of each sub-stream
    groups: pa.Table  # the groups' attributes, a row each
    known_ties: bool | None = None
    apart: tuple[Array, Array] | None = None  # the windows, rows from and to, if no row is in two of them
    codes: tuple[Array, ...] = ()  # for each key a number for its value in each sub-stream
    per_ms: Fraction | None = None  # of what `time` counts, None where nobody knows
    values: tuple[pa.Array, ...] = ()  # for each key its values, by these numbers
    order: object = None  # one thing for all runs that took their rows from one order, None for an order of its own

    @cached_property
    def tied(self) -> bool:
        """Whether some tick has several rows."""
        if self.known_ties is not None:
            return self.known_ties
        return bool(sort.ties(self.tick, self.bounds))

    def take(self, column: Array, threads: int = 1) -> Array:
        """Bring a column of the table into the order of the sub-streams."""
        return column if self.rows is None else take_rows(column, self.rows, threads)


def order_rows(
    plan: Plan,
    table: pa.Table,
    time: Time,
    options: EngineOptions,
    threads: int,
    place: Place,
    memo: Memo,
    pruned: bool = False,
) -> SubStreams:
    """Divide a table into sub-streams and put their rows in order; keys that others have read are in the memo.

    If they are `pruned`, rows of sub-streams that can have no trend are left out.
    """
    bound = plan.bound
    mask, typed = _masks(plan, table, options, threads, place)
    clock = read_only(time.values)
    tick = _ticks(clock, table, options.tiebreak, place)
    if not bound.keys:
        return _order_whole(table.num_rows, tick, clock, mask, threads, time.ticks_per_ms)
    found = [memo.once(("codes", key.path), table, partial(codes, table, key.path, place)) for key in bound.keys]
    keys = KeyCodes([code for code, _ in found], [values for _, values in found])
    of_row = None
    if len(plan.universal) == len(keys.codes):
        code, first = combine_codes(keys.codes, [len(values) for values in keys.values])
        of_sub = [column[first] for column in keys.codes]
        if not plan.every_row:
            code = np.where(mask == 0, code.dtype.type(-1), code)
    else:
        code, of_row, mask, of_sub = spread_rows(plan, keys, mask, typed)
    rows, bounds = sort.by_code(read_only(code), len(of_sub[0]) if of_sub else 0)
    if pruned and plan.needed_labels:
        kept, bounds = keep_rows(take_rows(mask, rows, threads), bounds, plan.needed_labels)
        rows = rows[kept] if kept.size < rows.size else rows
    spread = tick if of_row is None else read_only(tick[of_row])
    ordered = take_rows(spread, rows, threads)
    sort.sort_segments(ordered, rows, bounds, interrupts.stop_flag())
    interrupts.check()
    ordered = read_only(ordered)
    of_table = rows if of_row is None else of_row[rows]
    times = ordered if tick is clock else read_only(take_rows(clock, of_table, threads))
    masks = read_only(take_rows(mask, rows, threads))
    made = SubStreams(of_table, bounds, ordered, times, masks, *find_groups(plan, keys, of_sub))
    return replace(made, codes=tuple(of_sub), values=tuple(keys.values), per_ms=time.ticks_per_ms)


def keep_rows(masks: Array, bounds: Array, needed: Sequence[int] = ()) -> tuple[Array, Array]:
    """Return the rows that have a label, in sub-streams that have all labels of one of the `needed` sets.

    Also return where sub-streams begin and end among them.
    """
    rows, found = np.empty(masks.size, np.int64), np.zeros(bounds.size, np.int64)
    sort.choose(read_only(masks), bounds, np.array(needed, np.uint64), rows, found)
    return rows[: found[-1]], found


def read_only(array: Array) -> Array:
    """Return a read-only view: Arrow's columns are that, and numba compiles a kernel for each kind of array."""
    view = array.view()
    view.flags.writeable = False
    return view


def instants(time: Array) -> Array:
    """Return int64 numbers that order times, whatever the table; those of integers are themselves."""
    if time.dtype == np.int64:
        return time
    bits = (time + 0.0).view(np.int64)  # the bits of a double, made to order as integers
    return read_only(bits ^ ((bits >> 63) & np.int64(2**63 - 1)))


def take_rows(column: Array, rows: Array, threads: int) -> Array:
    """Return the column's values at some rows."""
    out = np.empty(len(rows), column.dtype)
    edges = np.linspace(0, len(rows), threads + 1).astype(np.int64).tolist()
    parts = [slice(a, b) for a, b in pairwise(edges)]
    kind = f"u{column.itemsize}"  # so that there are few forms of the kernel
    given, taken = read_only(column).view(kind), out.view(kind)
    Pool(threads).map(lambda part: sort.take(given, rows[part], taken[part]), parts)
    return out


def translate_masks(table: Array, mask: Array, threads: int) -> Array:
    """Return for each mask of one byte what a table has for it."""
    out = np.empty(len(mask), table.dtype)
    edges = np.linspace(0, len(mask), threads + 1).astype(np.int64).tolist()
    given = read_only(mask)
    Pool(threads).map(
        lambda part: translate(table, given[part], out[part]), [slice(*edge) for edge in pairwise(edges)]
    )
    return out


def _order_whole(
    count: int, tick: Array, clock: Array, mask: Array, threads: int, per_ms: Fraction | None
) -> SubStreams:
    """Put the rows of a table without keys in order: one sub-stream and one group."""
    bounds, group = np.array([0, count], np.int64), np.zeros(1, np.int64)
    falls, ties = _survey(tick, threads)
    whole = SubStreams(None, bounds, tick, clock, mask, group, _no_attributes(), per_ms=per_ms)
    if not falls:
        return replace(whole, known_ties=ties)
    rows = np.argsort(tick, kind="stable")
    ordered = read_only(take_rows(tick, rows, threads))
    times = ordered if tick is clock else read_only(take_rows(clock, rows, threads))
    return replace(whole, rows=rows, tick=ordered, time=times, mask=read_only(take_rows(mask, rows, threads)))


def _survey(tick: Array, threads: int) -> tuple[bool, bool]:
    """Tell whether some row comes before its predecessor, and whether some row comes with it."""
    edges = np.linspace(0, tick.size, threads + 1).astype(np.int64).tolist()
    parts = [slice(max(0, a - 1), b) for a, b in pairwise(edges)]
    falls, ties = zip(*Pool(threads).map(lambda part: sort.survey(tick[part]), parts), strict=True)
    return any(falls), any(ties)


def _masks(plan: Plan, table: pa.Table, options: EngineOptions, threads: int, place: Place) -> tuple[Array, Array]:
    """Return the labels that rows can have, and those by their types, whatever the local predicates say."""
    bound = plan.bound
    if options.masks:
        mask, typed = (read_masks(bound, table, options.masks[n]) for n in (0, -1))
    else:
        typed = type_masks(bound, table, options.type, place, threads)
        mask = apply_local(bound, table, typed, place)
    return read_only(mask), typed


def _ticks(time: Array, table: pa.Table, tiebreak: str | None, place: Place) -> Array:
    """Return int64 numbers that order the rows, equal where rows are simultaneous."""
    tick = instants(time)
    if tiebreak is None:
        return tick
    column = evaluate(Field((tiebreak,)), table, place)
    if fields.kind(column.type) == "other":
        message = f"rows cannot be ordered: {fields.describe_column((tiebreak,), column)}"
        raise place.error("wrong-type", message)
    if column.null_count:
        message = f"the tie-break column '{tiebreak}' has NULL or NaN values"
        raise place.error("null-tiebreak", message, help="fill them, or choose a column without")
    finer, _ = dense_ranks(column)
    by_both = np.lexsort((finer, tick))
    change = np.ones(len(tick), np.int64)
    change[1:] = (np.diff(tick[by_both]) != 0) | (np.diff(finer[by_both]) != 0)
    out = np.empty(len(tick), np.int64)
    out[by_both] = np.cumsum(change)
    return read_only(out)


def find_groups(plan: Plan, keys: KeyCodes, of_sub: list[Array]) -> tuple[Array, pa.Table]:
    """Return the group of each sub-stream and the groups' attributes."""
    bound = plan.bound
    subs = len(of_sub[0])
    named = list(zip(bound.group_names, bound.group, strict=True))
    if not bound.group:
        return np.zeros(subs, np.int64), _no_attributes()
    if not subs:
        return np.zeros(0, np.int64), pa.table({name: keys.values[k].slice(0, 0) for name, k in named})
    group, first = combine_codes([of_sub[k] for k in bound.group], [len(keys.values[k]) for k in bound.group])
    columns = {name: keys.values[k].take(make_array(of_sub[k][first])) for name, k in named}
    return group.astype(np.int64), pa.table(columns)


def _no_attributes() -> pa.Table:
    """Return a table of one row without columns."""
    return pa.table({"": pa.nulls(1)}).select([])
