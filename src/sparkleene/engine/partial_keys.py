"""Keys that bind some labels only: an event of another label is in the sub-streams of all values of the key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparkleene.columns.arrow import Array
from sparkleene.columns.keys import combine_codes
from sparkleene.errors import DataError, Diagnostic
from sparkleene.plan.plan import Plan

MANY = 1 << 29  # entries of rows in sub-streams that memory can be asked to hold
EVERY_ROW = -1  # stands for the keys that bind every row, all together


@dataclass(frozen=True)
class KeyCodes:
    """The keys of rows as numbers, -1 for NULL: for each key the code of every row, and the value of each code."""

    codes: list[Array]
    values: list[Any]


@dataclass(frozen=True)
class _Rows:
    """What decides about the sub-streams of a row."""

    plan: Plan
    keys: KeyCodes
    base: Array  # by the keys that bind every row, -1 where one is NULL
    mask: Array  # the labels that a row can have
    typed: Array  # the labels that a row can have by its type alone
    bound_by: list[frozenset[int]]  # for each label the keys that bind some labels, it among them

    def bits(self, labels: Any) -> Any:
        """Return labels as a mask."""
        return self.mask.dtype.type(sum(1 << label for label in labels))


def spread_rows(plan: Plan, keys: KeyCodes, mask: Array, typed: Array) -> tuple[Array, Array, Array, list[Array]]:
    """Give each row to all sub-streams that it belongs to.

    `mask` has the labels of each row, `typed` those by types alone. Return per entry the sub-stream, the row and
    its labels there, and per key the codes of the sub-streams.
    """
    universal, count = plan.universal, len(plan.bound.keys)
    if universal:
        base, _ = combine_codes([keys.codes[k] for k in universal], [len(keys.values[k]) for k in universal])
    else:
        base = np.zeros(len(mask), np.int32)
    restricted = [k for k in range(count) if k not in universal]
    bound_by = [
        frozenset(k for k in restricted if label in (plan.bound.keys[k].labels or ()))
        for label in range(len(plan.bound.labels))
    ]
    rows = _Rows(plan, keys, base, mask, typed, bound_by)
    subs = _find_sub_streams(rows, restricted)
    row, sub, allowed = _find_entries(rows, subs)
    first_base = np.full(int(base.max(initial=0)) + 1, 0, np.int64)
    present = base >= 0
    first_base[base[present]] = np.flatnonzero(present)
    of_key = [keys.codes[k][first_base[subs[EVERY_ROW]]] if k in universal else subs[k] for k in range(count)]
    return sub, row, mask[row] & allowed, of_key


def _find_sub_streams(rows: _Rows, restricted: list[int]) -> dict[int, Array]:
    """Return the codes of all sub-streams worth having, by key.

    Sub-streams are all combinations of values that exist beside each other. Labels of which every trend has one
    narrow them to the combinations that their events have.
    """
    plan, keys, base, mask = rows.plan, rows.keys, rows.base, rows.mask
    seeds = [max(labels, key=lambda label: len(rows.bound_by[label]), default=-1)
             for labels in plan.mandatory_by_operand]  # fmt: skip
    known = sorted(frozenset.intersection(*(rows.bound_by[seed] for seed in seeds))) if min(seeds) >= 0 else []
    here = base >= 0
    if known:
        here &= mask & rows.bits(set(seeds)) != 0
        for k in known:
            here &= keys.codes[k] >= 0
    index = np.flatnonzero(here)
    columns = [base[index], *(keys.codes[k][index] for k in known)]
    if len(index):
        _, first = combine_codes(columns, [int(column.max()) + 1 for column in columns])
        columns = [column[first] for column in columns]
    out = dict(zip([EVERY_ROW, *known], columns, strict=True))
    for k in restricted:
        if k in known:
            continue
        labels = plan.bound.keys[k].labels or frozenset()
        has = (rows.typed & rows.bits(labels) != 0) & (keys.codes[k] >= 0) & (base >= 0)
        size = len(keys.values[k])
        distinct = np.unique(base[has].astype(np.int64) * size + keys.codes[k][has].astype(np.int64))
        of_base, value = distinct // max(1, size), distinct % max(1, size)
        index, match = _match(out[EVERY_ROW].astype(np.int64), of_base)
        out = {key: column[index] for key, column in out.items()}
        out[k] = value[match]
    return out


def _find_entries(rows: _Rows, subs: dict[int, Array]) -> tuple[Array, Array, Array]:
    """Pair rows with sub-streams: return the row, the sub-stream, and the labels that the row may have there."""
    every_row = rows.plan.every_row
    entries = []
    seen, several = np.zeros(len(rows.mask), bool), False
    for kind in dict.fromkeys(rows.bound_by):
        bits = rows.bits(label for label, by in enumerate(rows.bound_by) if by == kind)
        here = (rows.typed if every_row else rows.mask) & bits != 0
        several = several or bool((seen & here).any())
        seen |= here
        entries.append(_join(rows, subs, here, sorted(kind), bits))
    if every_row:
        entries.append(_join(rows, subs, rows.typed == 0, [], rows.bits([])))
    row, sub, allowed = (np.concatenate(column) for column in zip(*entries, strict=True))
    by_row = np.lexsort((sub, row)) if several else np.argsort(row, kind="stable")  # the parts are in this order
    row, sub, allowed = row[by_row], sub[by_row], allowed[by_row]
    if several and len(row):
        starts = np.flatnonzero(np.r_[True, (np.diff(row) != 0) | (np.diff(sub) != 0)])
        allowed = np.bitwise_or.reduceat(allowed, starts)
        row, sub = row[starts], sub[starts]
    return row, sub, allowed


def _match(left: Array, right: Array) -> tuple[Array, Array]:
    """Join two columns of small numbers on equality: the indices of all matching pairs; `right` is ascending."""
    each = np.bincount(right, minlength=int(left.max(initial=-1)) + 1)
    count = each[left]
    begin = (np.cumsum(each) - each)[left]
    if int(count.sum()) > MANY:
        message = f"rows belong to {int(count.sum()):.3g} sub-streams in all, too many to spread them out"
        note = "an event that no key binds is in the sub-stream of every value beside it"
        help = "bind more labels with a key that all events have, such as [user], so that rows stay apart"
        raise DataError(Diagnostic("too-many-sub-streams", message, notes=(note,), help=help))
    index = np.repeat(np.arange(len(left)), count)
    offset = np.arange(len(index)) - np.repeat(np.cumsum(count) - count, count)
    return index, np.repeat(begin, count) + offset


def _join(
    rows: _Rows, subs: dict[int, Array], here: Array, kind: list[int], bits: Any
) -> tuple[Array, Array, Array]:
    """Pair the rows that `here` marks with the sub-streams that agree with them on the keys of `kind`."""
    keys, base = rows.keys, rows.base
    here = here & (base >= 0)
    for k in kind:
        here &= keys.codes[k] >= 0
    index = np.flatnonzero(here)
    columns = [np.concatenate([subs[EVERY_ROW], base[index]])]
    columns += [np.concatenate([subs[k], keys.codes[k][index]]) for k in kind]
    if not len(columns[0]):
        code = np.zeros(0, np.int64)
    else:
        code, _ = combine_codes(columns, [int(column.max()) + 1 for column in columns])
    count = len(subs[EVERY_ROW])
    by_code = np.argsort(code[:count], kind="stable")
    found, match = _match(code[count:], code[:count][by_code])
    return index[found], by_code[match], np.full(len(found), bits)
