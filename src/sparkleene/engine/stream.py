"""The rows of a table as sub-streams in order: what the kernels run over, and which group a sub-stream is of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns import fields
from sparkleene.columns.compare import dense_ranks
from sparkleene.columns.expressions import evaluate
from sparkleene.columns.keys import codes, combine_codes
from sparkleene.columns.labels import label_masks, read_masks
from sparkleene.columns.times import Time
from sparkleene.errors import DataError, Diagnostic, Place
from sparkleene.kernels import order
from sparkleene.language.bound import Field
from sparkleene.plan.plan import Plan
from sparkleene.threads import Pool

Array = np.ndarray[Any, Any]
MANY = 1 << 29  # entries of rows in sub-streams that memory can be asked to hold


@dataclass(frozen=True)
class Stream:
    """Rows by sub-stream and tick. Sub-stream g is the rows bounds[g]:bounds[g+1] of the arrays."""

    rows: Array | None  # the table's row of each, None where the table is in order as it is
    bounds: Array
    tick: Array  # int64; equal ticks are simultaneous
    time: Array  # int64 or float64, for windows
    mask: Array  # the labels that a row can have here
    group: Array  # the group of each sub-stream
    groups: pa.Table  # the groups' attributes, a row each
    known_ties: bool | None = None

    @cached_property
    def tied(self) -> bool:
        """Whether some tick has several rows."""
        if self.known_ties is not None:
            return self.known_ties
        return bool(order.ties(self.tick, self.bounds))

    def take(self, column: Array) -> Array:
        """Bring a column of the table into the stream's order."""
        return column if self.rows is None else column[self.rows]


@dataclass(frozen=True)
class _Keys:
    """Dictionary codes of each key and its distinct values."""

    codes: list[Array]
    values: list[Any]


def stream(
    plan: Plan,
    table: pa.Table,
    time: Time,
    type_column: str | None,
    tiebreak: str | None,
    threads: int,
    place: Place,
    masks: tuple[str, ...] = (),
) -> Stream:
    """Partition a table into sub-streams and put their rows in order.

    `masks` name columns of label masks, where the table has them: by types and local predicates, and by types
    alone where that is another.
    """
    bound = plan.bound
    if masks:
        mask = read_masks(bound, table, masks[0])
    else:
        mask, _ = label_masks(bound, table, type_column, place, threads)
    mask = frozen(mask)
    clock = frozen(time.values)
    tick = _ticks(clock, table, tiebreak, place)
    if not bound.keys:
        groups = pa.table({"": pa.nulls(1)}).select([])
        falls, tied = _survey(tick, threads)
        rows = np.argsort(tick, kind="stable") if falls else None
        bounds = np.array([0, table.num_rows], np.int64)
        ordered = tick if rows is None else frozen(_take(tick, rows, threads))
        group = np.zeros(1, np.int64)
        whole = _ordered(rows, bounds, ordered, tick is clock, clock, mask, None, group, groups, threads)
        return whole if falls else replace(whole, known_ties=tied)

    found = [codes(table, key.path, place) for key in bound.keys]
    keys = _Keys([code for code, _ in found], [values for _, values in found])
    every_row, universal = plan.every_row, list(plan.universal)
    if len(universal) == len(keys.codes):
        code, first = combine_codes(keys.codes, [len(values) for values in keys.values])
        of_sub = [column[first] for column in keys.codes]
        if not every_row:
            code = np.where(mask == 0, code.dtype.type(-1), code)
        rows, bounds = order.by_code(frozen(code), len(first))
        entry = None
    else:
        typed = mask
        if masks:
            typed = read_masks(bound, table, masks[-1])
        elif every_row or any(bound.local):
            bare = replace(bound, local=tuple(() for _ in bound.labels))
            typed, _ = label_masks(bare, table, type_column, place)
        sub, entry, mask, of_sub = _spread(plan, keys, universal, mask, typed, every_row)
        rows, bounds = order.by_code(frozen(sub), len(of_sub[0]) if of_sub else 0)
        tick = frozen(tick[entry])
    ordered = _take(tick, rows, threads)
    order.sort_segments(ordered, rows, bounds)
    group, groups = _groups(plan, keys, of_sub)
    same = tick is clock and entry is None
    return _ordered(rows, bounds, frozen(ordered), same, clock, mask, entry, group, groups, threads)


def frozen(array: Array) -> Array:
    """Return a read-only view: Arrow's columns are that, and numba compiles a kernel for each kind of array."""
    view = array.view()
    view.flags.writeable = False
    return view


def _ordered(
    rows: Array | None,
    bounds: Array,
    tick: Array,
    same: bool,
    time: Array,
    mask: Array,
    entry: Array | None,
    group: Array,
    groups: pa.Table,
    threads: int,
) -> Stream:
    """Bring the other columns into the order of `tick`; where they are the `same`, the times are the ticks.

    `entry` maps the entries that `rows` number to the table's rows.
    """
    if rows is None:
        return Stream(None, bounds, tick, time, mask, group, groups)
    final = rows if entry is None else entry[rows]
    time = tick if same else frozen(_take(time, final, threads))
    return Stream(final, bounds, tick, time, frozen(_take(mask, rows, threads)), group, groups)


def _take(column: Array, rows: Array, threads: int) -> Array:
    """Return the column's values at some rows."""
    out = np.empty(len(rows), column.dtype)
    edges = np.linspace(0, len(rows), threads + 1).astype(np.int64).tolist()
    parts = [slice(a, b) for a, b in pairwise(edges)]
    Pool(threads).map(lambda part: order.take(column, rows[part], out[part]), parts)
    return out


def _survey(tick: Array, threads: int) -> tuple[bool, bool]:
    """Tell whether some row comes before its predecessor, and whether some row comes with it."""
    edges = np.linspace(0, tick.size, threads + 1).astype(np.int64).tolist()
    parts = [slice(max(0, a - 1), b) for a, b in pairwise(edges)]
    falls, ties = zip(*Pool(threads).map(lambda part: order.survey(tick[part]), parts), strict=True)
    return any(falls), any(ties)


def _ticks(time: Array, table: pa.Table, tiebreak: str | None, place: Place) -> Array:
    """Return int64 numbers that order the rows, equal where rows are simultaneous."""
    if time.dtype == np.int64:
        tick = time
    else:  # the bits of a double, made to order as integers
        bits = (time + 0.0).view(np.int64)
        tick = frozen(bits ^ ((bits >> 63) & np.int64(2**63 - 1)))
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
    return frozen(out)


def _groups(plan: Plan, keys: _Keys, of_sub: list[Array]) -> tuple[Array, pa.Table]:
    """Return the group of each sub-stream and the groups' attributes."""
    bound = plan.bound
    subs = len(of_sub[0])
    if not bound.group or not subs:
        columns = {
            name: keys.values[k].slice(0, 0) for name, k in zip(bound.group_names, bound.group, strict=True)
        }
        groups = pa.table(columns) if columns else pa.table({"": pa.nulls(1)}).select([])
        return np.zeros(subs, np.int64), groups
    chosen = [of_sub[k] for k in bound.group]
    group, first = combine_codes(chosen, [len(keys.values[k]) for k in bound.group])
    columns = {
        name: keys.values[k].take(pa.array(of_sub[k][first]))
        for name, k in zip(bound.group_names, bound.group, strict=True)
    }
    return group.astype(np.int64), pa.table(columns)


# ---- keys that bind some labels only


def _spread(
    plan: Plan, keys: _Keys, universal: list[int], mask: Array, typed: Array, every_row: bool
) -> tuple[Array, Array, Array, list[Array]]:
    """Give each row to all sub-streams that it belongs to.

    Return per entry the sub-stream, the row and its labels there, and per key the codes of the sub-streams.
    """
    bound = plan.bound
    total = len(mask)
    if universal:
        base, _ = combine_codes([keys.codes[k] for k in universal], [len(keys.values[k]) for k in universal])
    else:
        base = np.zeros(total, np.int32)
    restricted = [k for k in range(len(bound.keys)) if k not in universal]
    bound_by = [
        frozenset(k for k in restricted if label in (bound.keys[k].labels or ()))
        for label in range(len(bound.labels))
    ]

    subs = _universe(plan, keys, restricted, bound_by, base, mask, typed)
    entries: list[tuple[Array, Array, Array]] = []
    kinds = dict.fromkeys(bound_by)
    for kind in kinds:
        bits = sum(1 << label for label, by in enumerate(bound_by) if by == kind)
        here = (typed if every_row else mask) & mask.dtype.type(bits) != 0
        entries.append(_join(keys, subs, base, here, sorted(kind), mask.dtype.type(bits)))
    if every_row:
        entries.append(_join(keys, subs, base, typed == 0, [], mask.dtype.type(0)))
    row = np.concatenate([rows for rows, _, _ in entries])
    sub = np.concatenate([of for _, of, _ in entries])
    allowed = np.concatenate([bits for _, _, bits in entries])
    by_row = np.lexsort((sub, row))
    row, sub, allowed = row[by_row], sub[by_row], allowed[by_row]
    if len(row):
        starts = np.flatnonzero(np.r_[True, (np.diff(row) != 0) | (np.diff(sub) != 0)])
        allowed = np.bitwise_or.reduceat(allowed, starts)
        row, sub = row[starts], sub[starts]
    of_key: list[Array] = []
    first_base = np.full(int(base.max(initial=0)) + 1, 0, np.int64)
    present = base >= 0
    first_base[base[present]] = np.flatnonzero(present)
    for k in range(len(bound.keys)):
        of_key.append(keys.codes[k][first_base[subs[-1]]] if k in universal else subs[k])
    return sub, row, mask[row] & allowed, of_key


def _universe(
    plan: Plan,
    keys: _Keys,
    restricted: list[int],
    bound_by: list[frozenset[int]],
    base: Array,
    mask: Array,
    typed: Array,
) -> dict[int, Array]:
    """Return the codes of all sub-streams worth having, by key; -1 stands for the keys that bind every row.

    Sub-streams are all combinations of values that exist beside each other. A label that every trend has
    narrows them to the combinations that its events have.
    """
    bound = plan.bound
    seed = max(plan.mandatory, key=lambda label: len(bound_by[label]), default=-1)
    known = sorted(bound_by[seed]) if seed >= 0 else []
    here = base >= 0
    if known:
        here &= (mask >> mask.dtype.type(seed)) & mask.dtype.type(1) != 0
        for k in known:
            here &= keys.codes[k] >= 0
    rows = np.flatnonzero(here)
    columns = [base[rows], *(keys.codes[k][rows] for k in known)]
    if len(rows):
        _, first = combine_codes(columns, [int(column.max()) + 1 for column in columns])
        columns = [column[first] for column in columns]
    out = dict(zip([-1, *known], columns, strict=True))
    for k in restricted:
        if k in known:
            continue
        labels = bound.keys[k].labels or frozenset()
        bits = sum(1 << label for label in labels)
        has = (typed & mask.dtype.type(bits) != 0) & (keys.codes[k] >= 0) & (base >= 0)
        of_base, value = base[has].astype(np.int64), keys.codes[k][has].astype(np.int64)
        distinct = np.unique(of_base * len(keys.values[k]) + value)
        of_base, value = distinct // max(1, len(keys.values[k])), distinct % max(1, len(keys.values[k]))
        index, match = _expand(out[-1], of_base)
        out = {key: column[index] for key, column in out.items()}
        out[k] = value[match]
    return out


def _expand(left: Array, right: Array) -> tuple[Array, Array]:
    """Join two columns on equality: return the indices of all matching pairs; `right` is ascending."""
    begin = np.searchsorted(right, left, "left")
    count = np.searchsorted(right, left, "right") - begin
    if int(count.sum()) > MANY:
        message = f"rows belong to {int(count.sum()):.3g} sub-streams in all, too many to spread them out"
        note = "an event that no key binds is in the sub-stream of every value beside it"
        help = "bind more labels with a key that all events have, such as [user], so that rows stay apart"
        raise DataError(Diagnostic("too-many-sub-streams", message, notes=(note,), help=help))
    index = np.repeat(np.arange(len(left)), count)
    offset = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    return index, np.repeat(begin, count) + offset


def _join(
    keys: _Keys, subs: dict[int, Array], base: Array, here: Array, kind: list[int], bits: Any
) -> tuple[Array, Array, Array]:
    """Pair the rows that `here` marks with the sub-streams that agree with them on the keys of `kind`."""
    here = here & (base >= 0)
    for k in kind:
        here &= keys.codes[k] >= 0
    rows = np.flatnonzero(here)
    columns = [np.concatenate([subs[-1], base[rows]])]
    columns += [np.concatenate([subs[k], keys.codes[k][rows]]) for k in kind]
    if not len(columns[0]):
        code = np.zeros(0, np.int64)
    else:
        code, _ = combine_codes(columns, [int(column.max()) + 1 for column in columns])
    count = len(subs[-1])
    by_code = np.argsort(code[:count], kind="stable")
    index, match = _expand(code[count:], code[:count][by_code])
    return rows[index], by_code[match], np.full(len(index), bits)
