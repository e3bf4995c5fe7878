"""Rows put in order once for several runs: sub-streams of all, of which each run takes the rows that it reads."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array, as_numpy, make_array
from sparkleene.columns.labels import read_masks
from sparkleene.columns.reading import EngineOptions
from sparkleene.columns.times import Time
from sparkleene.engine.memo import Memo
from sparkleene.engine.partial_keys import KeyCodes
from sparkleene.engine.substreams import (
    SubStreams,
    find_groups,
    keep_rows,
    order_rows,
    read_only,
    take_rows,
    translate_masks,
)
from sparkleene.errors import Place, SparkleeneError
from sparkleene.language.bound import Bound, Key, Label, Term
from sparkleene.plan.plan import Plan

MOST_LABELS = 62
COLUMNS = ("sparkleene all labels", "sparkleene all types")


def order_kind(plan: Plan, options: EngineOptions) -> Hashable | None:
    """Return what plans must have in common for one order of rows, None for a plan that needs its own."""
    bound = plan.bound
    paths = {key.path for key in bound.keys}
    if not paths or len(paths) < len(bound.keys) or plan.every_row or len(bound.keys) - len(plan.universal) > 1:
        return None
    keys = frozenset(
        (key.path, None if key.labels is None else frozenset(bound.labels[i].type for i in key.labels))
        for key in bound.keys
    )
    return keys, bound.derived, bound.types, replace(options, masks=(), forced_bursts=None), len(options.masks)


class SharedOrder:
    """The rows of one table in order, for plans of one kind."""

    def __init__(self, plans: Sequence[Plan], options: Sequence[EngineOptions]) -> None:
        """Take the plans, each with how its tables are read."""
        self._plans, self._options = plans, options
        self._made: tuple[pa.Table, Time, _Whole | None] | None = None
        self._places: list[list[int]] = []
        self._mark = object()  # that its rows are known by

    def find(
        self, plan: Plan, table: pa.Table, time: Time, threads: int, memo: Memo, pruned: bool
    ) -> SubStreams | None:
        """Return the rows of one of the plans in order, None where it has to put them in order by itself."""
        if self._made is None:
            found = self._order(table, time, threads, memo)
            self._made = table, time, None if found is None else _Whole(self._merged.bound, found)
        of, clock, whole = self._made
        if whole is None or of is not table or clock.values.dtype != time.values.dtype:
            return None
        if clock.values is not time.values and not np.array_equal(clock.values, time.values):
            return None
        which = next(i for i, other in enumerate(self._plans) if other is plan)
        own = whole.take_own(plan, self._places[which], threads, pruned)
        return replace(own, order=self._mark)

    def _order(self, table: pa.Table, time: Time, threads: int, memo: Memo) -> SubStreams | None:
        """Put the rows of all plans in order; an error in the data is told by the plan that it concerns."""
        options = self._options[0]
        try:
            if options.masks:
                self._merged, table = self._shift_masks(table)
                options = replace(options, masks=COLUMNS[: len(options.masks)])
            else:
                self._merged = self._merge_labels()
            return order_rows(self._merged, table, time, options, threads, Place(), memo)
        except SparkleeneError:
            return None

    def _merge_labels(self) -> Plan:
        """Return a plan with the labels of all, those that are alike once."""
        found: dict[Hashable, int] = {}
        labels: list[Label] = []
        local: list[tuple[Term, ...]] = []
        for plan in self._plans:
            bound, places = plan.bound, []
            for label, terms, kind in zip(bound.labels, bound.local, _kinds_of_labels(bound), strict=True):
                if kind not in found:
                    found[kind] = len(labels)
                    labels.append(replace(label, name=f"{label.type}{len(labels)}"))
                    local.append(terms)
                places.append(found[kind])
            self._places.append(places)
        return self._plan(labels, local)

    def _shift_masks(self, table: pa.Table) -> tuple[Plan, pa.Table]:
        """Return a plan with the labels of all side by side, and the table with such masks."""
        first = np.cumsum([0, *(len(plan.bound.labels) for plan in self._plans)]).tolist()
        self._places = [list(range(begin, end)) for begin, end in pairwise(first)]
        for n, name in enumerate(COLUMNS[: len(self._options[0].masks)]):
            masks = np.zeros(table.num_rows, np.uint64)
            for plan, options, begin in zip(self._plans, self._options, first[:-1], strict=True):
                masks |= read_masks(plan.bound, table, options.masks[n]).astype(np.uint64) << np.uint64(begin)
            table = table.append_column(name, make_array(masks))
        labels = [label for plan in self._plans for label in plan.bound.labels]
        return self._plan(labels, [() for _ in labels]), table

    def _plan(self, labels: Sequence[Label], local: Sequence[tuple[Term, ...]]) -> Plan:
        """Return a plan that orders rows of these labels by the keys of all."""
        bounds = [plan.bound for plan in self._plans]
        keys = []
        for key in bounds[0].keys:
            bound_labels = frozenset(
                places[i]
                for bound, places in zip(bounds, self._places, strict=True)
                for other in bound.keys
                if other.path == key.path
                for i in other.labels or ()
            )
            keys.append(Key(key.path, None if key.labels is None else bound_labels))
        merged = replace(bounds[0], labels=tuple(labels), local=tuple(local), keys=tuple(keys))
        operands = tuple(
            replace(one, labels=tuple(places[label] for label in one.labels))
            for plan, places in zip(self._plans, self._places, strict=True)
            for one in plan.machine.operands
        )
        return Plan(merged, replace(self._plans[0].machine, operands=operands), ())


class _Whole:
    """Sub-streams of several plans, from which each takes its own rows."""

    def __init__(self, bound: Bound, streams: SubStreams) -> None:
        """Take the sub-streams, and what names their labels and keys."""
        self.bound, self.streams = bound, streams
        self._code, self._masks = streams.mask, np.arange(256, dtype=np.uint64)
        if streams.mask.dtype != np.uint8:
            encoded = make_array(streams.mask).dictionary_encode()
            self._code, self._masks = as_numpy(encoded.indices), as_numpy(encoded.dictionary)

    def take_own(self, plan: Plan, places: Sequence[int], threads: int, pruned: bool) -> SubStreams:
        """Return the rows that have a label of a plan, with its own masks and groups; see `order_rows`."""
        whole, code = self.streams, self._code
        bits = np.zeros(self._masks.size, np.uint64)
        for i, place in enumerate(places):
            bits |= (self._masks >> np.uint64(place) & np.uint64(1)) << np.uint64(i)
        own: Array = bits.astype(np.uint8 if len(places) <= 8 else np.uint64)
        mask = translate_masks(own, code, threads) if code.dtype == np.uint8 else own[code]
        order = [[key.path for key in self.bound.keys].index(key.path) for key in plan.bound.keys]
        values, of_sub = [whole.values[k] for k in order], [whole.codes[k] for k in order]
        group, groups = find_groups(plan, KeyCodes([], values), of_sub)
        rows, tick, time = whole.rows, whole.tick, whole.time
        kept, bounds = keep_rows(mask, whole.bounds, plan.needed_labels if pruned else ())
        if kept.size < mask.size:
            assert rows is not None
            rows, mask = rows[kept], take_rows(mask, kept, threads)
            tick = read_only(take_rows(whole.tick, kept, threads))
            time = tick if whole.time is whole.tick else read_only(take_rows(whole.time, kept, threads))
        made = SubStreams(rows, bounds, tick, time, read_only(mask), group, groups)
        return replace(made, codes=tuple(of_sub), values=tuple(values), per_ms=whole.per_ms)


def share_orders(plans: Sequence[tuple[Plan, EngineOptions]]) -> list[SharedOrder | None]:
    """Return for each plan the order that it shares with others, None for its own."""
    found: list[SharedOrder | None] = [None] * len(plans)
    kinds: dict[Hashable, list[int]] = {}
    for i, (plan, options) in enumerate(plans):
        if (kind := order_kind(plan, options)) is not None:
            kinds.setdefault(kind, []).append(i)
    for members in kinds.values():
        alike = not plans[members[0]][1].masks  # masks that were read have a bit for each label of each plan
        for some in _divide_by_labels([plans[i][0] for i in members], alike):
            chosen = [members[i] for i in some]
            if len(chosen) > 1:
                shared = SharedOrder([plans[i][0] for i in chosen], [plans[i][1] for i in chosen])
                for i in chosen:
                    found[i] = shared
    return found


def _divide_by_labels(plans: Sequence[Plan], alike: bool) -> list[list[int]]:
    """Divide plans so that the labels of some together have a bit each, those that are `alike` one for all."""
    out: list[list[int]] = []
    seen: set[Hashable] = set()
    for i, plan in enumerate(plans):
        labels = {kind if alike else (i, n) for n, kind in enumerate(_kinds_of_labels(plan.bound))}
        if not out or len(seen | labels) > MOST_LABELS:
            out.append([])
            seen = set()
        seen |= labels
        out[-1].append(i)
    return out


def _kinds_of_labels(bound: Bound) -> list[Hashable]:
    """Return what makes labels of plans alike."""
    return [
        (label.type, bound.local[i], frozenset(key.path for key in bound.keys if i in (key.labels or ())))
        for i, label in enumerate(bound.labels)
    ]
